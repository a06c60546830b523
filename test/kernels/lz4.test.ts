import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeLz4 } from '../../src/codec/lz4-encode.ts'
import { withArena } from '../../src/kernels/arena.ts'
import { compute } from '../../src/kernels/compute.ts'
import { lz4Position, lz4Resume, lz4State } from '../../src/kernels/lz4.ts'
import { runs } from '../support/budget.ts'
import { decode, decodeInSteps, encode, parse, type Sequence, write } from './lz4-blocks.ts'
import { KINDS } from './lz4-data.ts'
import { expectSameBytes, guarded, noise, randoms } from './support.ts'

/** Positions in the output at which a sequence ends, 0 included. */
function boundariesOf(block: Uint8Array): number[] {
  const ends = [0]
  for (const { literals, match } of parse(block)!) ends.push(ends.at(-1)! + literals.length + (match?.length ?? 0))
  return ends
}

/** Decodes byte by byte; undefined for a malformed block or one of another size. */
function naiveDecode(block: Uint8Array, bytes: number): Uint8Array | undefined {
  const out = new Uint8Array(bytes)
  let at = 0
  for (const { literals, match } of parse(block) ?? []) {
    if (at + literals.length > bytes) return undefined
    out.set(literals, at)
    at += literals.length
    if (match === undefined) return at === bytes ? out : undefined
    if (match.offset === 0 || match.offset > at || at + match.length > bytes) return undefined
    for (const end = at + match.length; at < end; at++) out[at] = out[at - match.offset]!
  }
  return undefined
}

const SIZES = [
  ...Array(66).keys(),
  79,
  80,
  81,
  95,
  96,
  97,
  127,
  128,
  255,
  256,
  270,
  300,
  1000,
  4096,
  4099,
  20_000,
  65_535,
  65_536,
  65_549,
  100_000,
]

describe.each(Object.entries(KINDS))('%s', (_, make) => {
  test('comes back from a conforming block that an independent decoder reads too', () => {
    for (const size of SIZES) {
      withArena((arena) => {
        const data = make(size)
        const block = encode(arena, data)
        expectSameBytes(decode(arena, block, size) as Uint8Array, data)
        expectSameBytes(naiveDecode(block, size)!, data)
        const sequences = parse(block)!
        const last = sequences.at(-1)!
        if (sequences.length > 1) {
          const match = sequences.at(-2)!.match!
          expect(last.literals.length).toBeGreaterThanOrEqual(5)
          expect(last.literals.length + match.length).toBeGreaterThanOrEqual(12)
        }
      })
    }
  })

  test('comes back from 8 MiB', () => {
    withArena((arena) => {
      const data = make(8 << 20)
      expectSameBytes(decode(arena, encode(arena, data), data.length) as Uint8Array, data)
    })
  })

  test('decodes the same in steps as at once', () => {
    for (const size of [1, 13, 300, 4099, 100_000]) {
      withArena((arena) => {
        const data = make(size)
        const block = encode(arena, data)
        const src = arena.put(block)
        const dst = guarded(arena, size)
        const next = randoms(size)
        const boundaries = boundariesOf(block)
        let state = lz4State(arena)
        for (let wanted = 0; ; wanted = Math.min(wanted + 1 + (next() % Math.ceil(size / 5)), size)) {
          const written = lz4Resume(arena, src, block.length, dst.pointer, size, state, wanted)
          expect(written).toBe(wanted === size ? size : boundaries.find((boundary) => boundary >= wanted))
          expectSameBytes(arena.bytes(dst.pointer, written), data.subarray(0, written))
          // what is behind must be of no consequence
          arena.bytes(dst.pointer + written, size - written).fill(wanted)
          state = lz4State(arena, lz4Position(arena, state))
          if (wanted === size) break
        }
        expect(lz4Position(arena, state)).toEqual({ read: block.length, written: size })
        expect(lz4Resume(arena, src, block.length, dst.pointer, size, state, size)).toBe(size)
        dst.check()
      })
    }
  })

  test('takes no more than the bound, and nothing is written behind it', () => {
    for (const size of SIZES) {
      withArena((arena) => {
        const src = arena.put(make(size))
        const bound = compute(arena).lz4Bound(size)
        const dst = guarded(arena, bound)
        expect(compute(arena).lz4Encode(src, size, dst.pointer)).toBeLessThanOrEqual(bound)
        dst.check()
      })
    }
  })

  test('never decodes from a shortened block, nor to another size', () => {
    for (const size of [1, 20, 100, 700]) {
      withArena((arena) => {
        const block = encode(arena, make(size))
        for (let length = 0; length < block.length; length++)
          expect(decode(arena, block.subarray(0, length), size)).toBeTypeOf('string')
        expect(decode(arena, block, size - 1)).toBeTypeOf('string')
        expect(decode(arena, block, size + 1)).toBeTypeOf('string')
        expect(decode(arena, block, size + 1000)).toBeTypeOf('string')
        expect(decode(arena, Uint8Array.of(...block, 0), size)).toBeTypeOf('string')
      })
    }
  })
})

test('a block that is larger than its destination never writes behind it', () => {
  for (const make of [KINDS['text']!, KINDS['field']!, KINDS['structured']!]) {
    withArena((arena) => {
      const block = encode(arena, make(900))
      for (let bytes = 0; bytes < 900; bytes++) expect(decode(arena, block, bytes)).toBeTypeOf('string')
    })
  }
})

test('matches reach back 65535 bytes and no further', () => {
  for (const distance of [65_534, 65_535, 65_536, 65_537]) {
    withArena((arena) => {
      const data = new Uint8Array(distance + 300)
      data.set(noise(40, distance))
      data.copyWithin(distance, 0, 40)
      const block = encode(arena, data)
      expectSameBytes(decode(arena, block, data.length) as Uint8Array, data)
      expect(parse(block)!.some(({ match }) => match?.offset === distance)).toBe(distance <= 65_535)
    })
  }
})

/** The kernel agrees with the naive decoder, but may refuse matches near the end. */
function expectAgreement(block: Uint8Array, bytes: number): void {
  withArena((arena) => {
    const expected = naiveDecode(block, bytes)
    const actual = decode(arena, block, bytes)
    if (typeof actual === 'string') {
      if (expected !== undefined && !actual.includes('too close to the end')) expect.fail(`refused a good block: ${actual}`)
    } else if (expected === undefined) {
      expect.fail('accepted a malformed block')
    } else {
      expectSameBytes(actual, expected)
    }
  })
}

test('blocks with any byte changed are refused, or decode as the format says', () => {
  const makers = Object.values(KINDS)
  fc.assert(
    fc.property(
      fc.nat(makers.length - 1),
      fc.oneof(fc.nat(60), fc.nat(2000)),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }),
      fc.integer({ min: -3, max: 3 }),
      (kind, size, changes, more) => {
        const block = withArena((arena) => encode(arena, makers[kind]!(size)))
        for (const [at, value] of changes) block[at % block.length] = value
        expectAgreement(block, Math.max(size + more, 0))
      },
    ),
    { numRuns: runs(3000) },
  )
})

const stepSizes = fc.array(fc.oneof(fc.nat(40), fc.nat(3000)), { maxLength: 12 })

test('in random steps the same comes out as at once', () => {
  const makers = Object.values(KINDS)
  fc.assert(
    fc.property(fc.nat(makers.length - 1), fc.oneof(fc.nat(3000), fc.nat(200_000)), stepSizes, (kind, size, steps) => {
      withArena((arena) => {
        const data = makers[kind]!(size)
        expectSameBytes(decodeInSteps(arena, encode(arena, data), size, steps) as Uint8Array, data)
      })
    }),
    { numRuns: runs(300) },
  )
})

test('damaged blocks and noise meet the same fate in random steps as at once', () => {
  const makers = Object.values(KINDS)
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 })
  const damaged = fc.tuple(fc.nat(makers.length - 1), fc.nat(2000), changes).map(([kind, size, changed]) => {
    const block = withArena((arena) => encode(arena, makers[kind]!(size)))
    for (const [at, value] of changed) block[at % block.length] = value
    return { block, size }
  })
  const noisy = fc.record({ block: fc.uint8Array({ maxLength: 300 }), size: fc.nat(400) })
  fc.assert(
    fc.property(fc.oneof(damaged, noisy), fc.integer({ min: -3, max: 3 }), stepSizes, ({ block, size }, more, steps) => {
      const bytes = Math.max(size + more, 0)
      withArena((arena) => expect(decodeInSteps(arena, block, bytes, steps)).toEqual(decode(arena, block, bytes)))
    }),
    { numRuns: runs(3000) },
  )
})

test('noise is no block, or decodes as the format says', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(400), (block, bytes) => expectAgreement(block, bytes)),
    { numRuns: runs(3000) },
  )
})

test('any sequences, with every offset and length', () => {
  const literals = fc.oneof({ weight: 5, arbitrary: fc.nat(20) }, { weight: 1, arbitrary: fc.nat(600) })
  const length = fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 4, max: 40 }) },
    { weight: 1, arbitrary: fc.integer({ min: 4, max: 900 }) },
  )
  const offset = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 34 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 70_000 }) },
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(literals, length, offset), { maxLength: 30 }), fc.nat(200), (plan, rest) => {
      let written = 0
      const sequences: Sequence[] = plan.map(([count, length, offset], i) => {
        const data = noise(Math.max(count, i === 0 ? 1 : 0), i + count)
        written += data.length
        const match = { offset: 1 + ((offset - 1) % written), length }
        written += length
        return { literals: data, match }
      })
      sequences.push({ literals: noise(rest, rest) })
      expectAgreement(write(sequences), written + rest)
    }),
    { numRuns: runs(1000) },
  )
})

describe('hand-made blocks', () => {
  const letters = (count: number): Uint8Array => Uint8Array.from({ length: count }, (_, i) => 97 + (i % 26))
  const decoded = (sequences: Sequence[], bytes: number) => withArena((arena) => decode(arena, write(sequences), bytes))

  test('literals alone, of any length', () => {
    for (const count of [0, 1, 4, 5, 14, 15, 16, 269, 270, 271, 525, 10_000])
      expect(decoded([{ literals: letters(count) }], count)).toEqual(letters(count))
  })

  test('every offset below 40 repeats its pattern, near the end and far from it', () => {
    for (let offset = 1; offset < 40; offset++) {
      for (const length of [4, 15, 18, 19, 33, 64, 300]) {
        for (const rest of [12, 200]) {
          const start = letters(offset)
          const expected = Uint8Array.from({ length: offset + length }, (_, i) => start[i % offset]!)
          const sequences = [{ literals: start, match: { offset, length } }, { literals: letters(rest) }]
          expect(decoded(sequences, offset + length + rest)).toEqual(Uint8Array.of(...expected, ...letters(rest)))
        }
      }
    }
  })

  test.each<[string, Uint8Array, number]>([
    ['the input ends in the middle of a sequence', Uint8Array.of(), 0],
    ['the input ends in the middle of a sequence', Uint8Array.of(0xf0, 255, 255), 1000],
    ['the input ends in the middle of a sequence', Uint8Array.of(0x50, 1, 2), 5],
    ['reaches back to before the start', Uint8Array.of(0x10, 1, 0, 0, 0x50, 1, 2, 3, 4, 5), 10],
    ['reaches back to before the start', Uint8Array.of(0x18, 1, 2, 0, 0xc0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 25],
    ['to more bytes than expected', Uint8Array.of(0x50, 1, 2, 3, 4, 5), 4],
    ['to more bytes than expected', Uint8Array.of(0x1f, 1, 1, 0, 255, 255, 0), 300],
    ['to fewer bytes than expected', Uint8Array.of(0x50, 1, 2, 3, 4, 5), 6],
    ['more input after the last byte', Uint8Array.of(0x50, 1, 2, 3, 4, 5, 0), 5],
    ['too close to the end', Uint8Array.of(0x15, 1, 1, 0, 0x10, 1), 11],
  ])('%s: %j', (reason, block, bytes) => {
    withArena((arena) => expect(decode(arena, block, bytes)).toContain(reason))
  })

  test('an offset to just before the output is refused anywhere, one to its first byte is not', () => {
    for (const before of [0, 1, 20, 300]) {
      for (const rest of [12, 500]) {
        const start: Sequence[] = [{ literals: letters(10 + before), match: { offset: 3, length: 5 } }]
        const at = 15 + before + 2
        const block = (offset: number): Sequence[] => [
          ...start,
          { literals: letters(2), match: { offset, length: 6 } },
          { literals: letters(rest) },
        ]
        expect(decoded(block(at + 1), at + 6 + rest)).toContain('reaches back')
        expect(decoded(block(at), at + 6 + rest)).toEqual(naiveDecode(write(block(at)), at + 6 + rest))
      }
    }
  })

  test('stops at the first boundary when all are multiples of 32', () => {
    const sequences: Sequence[] = Array.from({ length: 40 }, () => ({ literals: letters(14), match: { offset: 13, length: 18 } }))
    const block = write([...sequences, { literals: letters(200) }])
    for (let wanted = 0; wanted <= 1280; wanted++) {
      withArena((arena) => {
        const dst = arena.alloc(1480)
        expect(lz4Resume(arena, arena.put(block), block.length, dst, 1480, lz4State(arena), wanted)).toBe(
          Math.ceil(wanted / 32) * 32,
        )
      })
    }
  })

  test('an error leaves the state as it was', () => {
    withArena((arena) => {
      const block = write([
        { literals: letters(30), match: { offset: 5, length: 40 } },
        { literals: letters(1), match: { offset: 999, length: 4 } },
        { literals: letters(50) },
      ])
      const src = arena.put(block)
      const dst = arena.alloc(125)
      const state = lz4State(arena)
      expect(lz4Resume(arena, src, block.length, dst, 125, state, 60)).toBe(70)
      const position = lz4Position(arena, state)
      expect(() => lz4Resume(arena, src, block.length, dst, 125, state, 125)).toThrow('malformed LZ4 block: a match reaches back')
      expect(lz4Position(arena, state)).toEqual(position)
    })
  })

  test('lengths that would wrap 32 bits', () => {
    withArena((arena) => {
      const block = new Uint8Array(17_000_000).fill(255)
      block[0] = 0xf0
      expect(decode(arena, block, 1000)).toContain('more bytes than expected')
      block[0] = 0x1f
      block.set([1, 1, 0], 1)
      expect(decode(arena, block, 1000)).toContain('more bytes than expected')
    })
  })
})

test('refuses to encode what no block can hold', () => {
  withArena((arena) => {
    for (const bytes of [0x7e000001, 2 ** 32, 2 ** 40])
      expect(() => encodeLz4(arena, 1024, bytes)).toThrow(`at most 2113929216 bytes, not ${bytes}`)
  })
})
