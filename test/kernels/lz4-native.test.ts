import { describe, expect, test } from 'vitest'
import { isHyperslabError } from '../../src/core/errors.ts'
import { type Arena, withArena } from '../../src/kernels/arena.ts'
import { type Lz4State, lz4Position, lz4Resume, lz4State } from '../../src/kernels/lz4.ts'
import { byBudget } from '../support/budget.ts'
import { Liblz4 } from '../support/liblz4.ts'
import { decode, decodeInSteps, encode, parse, type Sequence, write } from './lz4-blocks.ts'
import { KINDS } from './lz4-data.ts'
import { expectSameBytes, guarded, noise, putAt, randoms } from './support.ts'

/** Each has its seed, from 1 on: a failure names it. */
const STREAMS = byBudget({ quick: 2000, full: 8000, soak: 1_000_000 })
const SIZES = [0, 1, 12, 13, 64, 300, 4099, 65_536, 100_000, 300_000]

/**
 * Lies behind a block and must be of no consequence: sequences without literals that repeat the last byte.
 */
const BEHIND = Uint8Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? 1 : 0))

const native = Liblz4.provide()

describe.skipIf(native === undefined)('with the native liblz4', () => {
  const liblz4 = native!

  describe.each(Object.entries(KINDS))('%s', (_, make) => {
    test('our blocks are decoded by it', () => {
      for (const size of SIZES) {
        const data = make(size)
        const block = withArena((arena) => encode(arena, data))
        const decoded = liblz4.decode(block, size)
        if (decoded === undefined) expect.fail(`it refuses our block of ${size} bytes`)
        expectSameBytes(decoded, data)
      }
    })

    test.each([undefined, 4, 9, 12])('its blocks, at level %s, are decoded by ours, at once and in steps', (level) => {
      for (const size of SIZES) {
        const data = make(size)
        const block = liblz4.encode(data, level)
        const next = randoms(size)
        const steps = Array.from({ length: 5 }, () => next() % Math.ceil((size + 1) / 3))
        withArena((arena) => {
          expectSameBytes(decode(arena, block, size) as Uint8Array, data)
          expectSameBytes(decodeInSteps(arena, block, size, steps) as Uint8Array, data)
        })
      }
    })
  })

  test(`${STREAMS} streams of sequences, good and damaged, meet the same verdict`, () => {
    const counts = { accepted: 0, refused: 0, strict: 0 }
    for (let seed = 1; seed <= STREAMS; seed++) {
      try {
        counts[verdictOn(liblz4, seed)]++
      } catch (error) {
        throw new Error(`stream ${seed}`, { cause: error })
      }
    }
    // Else the generator does not make what it is for.
    expect(counts.accepted).toBeGreaterThan(0.4 * STREAMS)
    expect(counts.refused).toBeGreaterThan(0.2 * STREAMS)
    expect(counts.strict).toBeGreaterThan(0)
  })
})

/**
 * Decodes a stream on both sides and fails where they differ, but for an offset of 0, which ours alone
 * refuses.
 */
function verdictOn(liblz4: Liblz4, seed: number): 'accepted' | 'refused' | 'strict' {
  const { block, bytes, first } = streamOf(seed)
  const expected = liblz4.decode(block, bytes)
  return withArena((arena) => {
    const source = putAt(arena, Buffer.concat([block, BEHIND]), seed % 5)
    const target = guarded(arena, bytes, seed % 17)
    const resume = (state: Lz4State, wanted: number) => resumed(arena, source, block.length, target.pointer, bytes, state, wanted)
    const writtenOf = (state: Lz4State) => lz4Position(arena, state).written
    const refusal = resume(lz4State(arena), bytes)
    target.check()
    if (refusal === undefined) {
      if (expected === undefined) expect.fail('liblz4 refuses what we accept')
      expectSameBytes(arena.bytes(target.pointer, bytes), expected)
      expectSameBytes(decodeInSteps(arena, block, bytes, [first, seed % 50, first >> 2]) as Uint8Array, expected)
      return 'accepted'
    }
    // The state machine, resumed for one sequence at a time, ends at the same place.
    const state = lz4State(arena)
    let met: string | undefined
    for (let i = 0; met === undefined && i <= block.length; i++) met = resume(state, Math.min(writtenOf(state) + 1, bytes))
    expect(met).toBe(refusal)
    target.check()
    if (expected === undefined) return 'refused'
    expect(refusal).toContain('before the start')
    expect(parse(block)!.some(({ match }) => match?.offset === 0)).toBe(true)
    return 'strict'
  })
}

/** The message of the error, if there is one, which has to leave the state as it was. */
function resumed(
  arena: Arena,
  source: number,
  sourceBytes: number,
  target: number,
  targetBytes: number,
  state: Lz4State,
  wanted: number,
): string | undefined {
  const before = lz4Position(arena, state)
  try {
    lz4Resume(arena, source, sourceBytes, target, targetBytes, state, wanted)
    expect(lz4Position(arena, state).read).toBeLessThanOrEqual(sourceBytes)
    return undefined
  } catch (error) {
    if (!isHyperslabError(error, 'CodecError')) throw error
    expect(lz4Position(arena, state)).toEqual(before)
    return error.message
  }
}

/**
 * Runs of up to 5000 literals and matches of 4 to 6000 bytes, most of them short, with any offset. Of eight
 * streams four are damaged: they have offsets of 0 or to before the output, changed bytes, another size than
 * they are said to have, or another end.
 * @returns the block, the size it is said to have and how much of it to ask for first
 */
function streamOf(seed: number): { block: Uint8Array; bytes: number; first: number } {
  const next = randoms(seed)
  const below = (end: number) => next() % end
  const often = (share: number) => next() < share * 2 ** 32
  const length = (most: number) => below(often(0.02) ? most + 1 : often(0.2) ? 50 : 17)
  const damage = below(8)
  const far = often(0.3)
  const count = below(often(0.3) ? 200 : 20)

  const sequences: Sequence[] = []
  let written = 0
  for (let i = 0; i < count; i++) {
    const literals = noise(Math.max(length(5000), i === 0 ? 1 : 0), next())
    written += literals.length
    let offset = Math.min(1 + below(often(0.4) ? 17 : far ? 65_535 : 70), written)
    if (damage === 0 && often(1 / count)) offset = often(0.5) ? 0 : Math.min(written + 1 + below(often(0.5) ? 1 : 20), 65_535)
    const match = { offset, length: 4 + length(5996) }
    written += match.length
    sequences.push({ literals, match })
  }
  const last = noise(length(5000) + (often(0.9) ? 12 : 0), next())
  written += last.length
  let block = write([...sequences, { literals: last }])

  if (damage === 1) for (let i = below(3); i >= 0; i--) block[below(block.length)]! += often(0.5) ? 1 : next()
  if (damage === 2) written = Math.max(written + below(40) - 20, 0)
  if (damage === 3) {
    const cut = block.subarray(0, block.length - below(often(0.5) ? 20 : block.length))
    block = often(0.5) ? cut : Uint8Array.of(...block, ...noise(1 + below(20), next()))
  }
  return { block, bytes: written, first: below(written + 1) }
}
