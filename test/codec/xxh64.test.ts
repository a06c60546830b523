import { readFileSync } from 'node:fs'
import { Zstd } from '@hpcc-js/wasm-zstd'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { contentChecksum } from '../../src/codec/xxh64.ts'
import { loadZstdStreams } from '../../src/codec/zstd.ts'
import { parseFrames, toFrame, toUnsizedFrame } from '../../src/codec/zstd-frames.ts'
import { withArena } from '../../src/kernels/arena.ts'
import type { Kernels } from '../../src/kernels/instance.ts'
import { KINDS } from '../kernels/lz4-data.ts'
import { expectSameBytes, noise, randoms } from '../kernels/support.ts'
import { skipZstd, zstdProgram } from './support.ts'

declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports?: object) => { readonly exports: unknown }
}

const built = (name: string) => new WebAssembly.Module(readFileSync(new URL(`../../build/${name}.wasm`, import.meta.url)))
const raw = new WebAssembly.Instance(built('reading')).exports as Kernels
const { zstdChecksum } = new WebAssembly.Instance(built('zstd'), { env: { memory: raw.memory } }).exports as {
  zstdChecksum(src: number, bytes: number): number
}

/** The checksum by the kernel, of a copy `shift` bytes behind a multiple of 16. */
function byKernel(bytes: Uint8Array, shift = 0): number {
  const mark = raw.arenaMark()
  const src = raw.arenaAlloc(bytes.length + shift) + shift
  new Uint8Array(raw.memory.buffer).set(bytes, src)
  const sum = zstdChecksum(src, bytes.length) >>> 0
  raw.arenaReset(mark)
  return sum
}

const reference = await Zstd.load()
const withChecksum = (encoded: Uint8Array, sum: number) => ({
  ...parseFrames(encoded)[0]!,
  checksum: new Uint8Array(Uint32Array.of(sum).buffer),
})

afterEach(() => vi.restoreAllMocks())

test('the checksum of known texts is the low half of their published XXH64', () => {
  for (const [text, low] of [
    ['', 0x51d8e999],
    ['a', 0xa98c6e5b],
    ['abc', 0xad770999],
    ['Nobody inspects the spammish repetition', 0x8a378bf1],
  ] as const) {
    const bytes = new TextEncoder().encode(text)
    expect([text, contentChecksum(bytes), byKernel(bytes)]).toEqual([text, low, low])
  }
})

test('the kernel, plain JavaScript and the reference implementation agree on every length and alignment', () => {
  for (let size = 0; size < 200; size++) {
    const bytes = noise(size, size)
    const sum = contentChecksum(bytes)
    for (const shift of [0, 1, 7, 13]) expect(byKernel(bytes, shift)).toBe(sum)
    expect(contentChecksum(new Uint8Array([0, ...bytes]).subarray(1))).toBe(sum)
    const encoded = reference.compress(bytes, 1)
    expectSameBytes(reference.decompress(toFrame(withChecksum(encoded, sum), size)), bytes)
    expect(() => reference.decompress(toFrame(withChecksum(encoded, sum ^ 1), size))).toThrow()
  }
  for (const size of [4096, 65_537, 1_000_003])
    for (const make of Object.values(KINDS)) expect(byKernel(make(size))).toBe(contentChecksum(make(size)))
})

test.skipIf(skipZstd)('it is the checksum that the program zstd writes', () => {
  for (const [, make] of Object.entries(KINDS))
    for (const size of [0, 1, 31, 32, 33, 5000]) {
      const [frame] = parseFrames(zstdProgram(['-3'], make(size)))
      expect(new Uint8Array(Uint32Array.of(contentChecksum(make(size))).buffer)).toEqual(frame!.checksum)
    }
})

describe('in kernel memory, as within frames of Blosc', () => {
  /** Decodes by the module, in kernel memory. */
  async function decodeIn(encoded: Uint8Array, size: number): Promise<Uint8Array> {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    const streams = await loadZstdStreams()
    return withArena((arena) => {
      const decode = streams(arena)
      const src = arena.put(encoded)
      const dst = arena.alloc(size)
      decode(src, encoded.length, dst, size)
      return arena.bytes(dst, size).slice()
    })
  }

  test('a flipped bit of a frame with a checksum has the verdict of the reference implementation', async () => {
    const next = randoms(17)
    const verdicts = { decoded: 0, refused: 0 }
    for (const [name, make] of Object.entries(KINDS))
      for (const level of [1, 19]) {
        const bytes = make(3000)
        const encoded = toFrame(withChecksum(reference.compress(bytes, level), contentChecksum(bytes)), bytes.length)
        expectSameBytes(await decodeIn(encoded, bytes.length), bytes)
        for (let i = 0; i < 40; i++) {
          const damaged = encoded.slice()
          // The header is that of this package.
          const at = 9 + (next() % (damaged.length - 9))
          damaged[at]! ^= 1 << (next() % 8)
          const ours = await decodeIn(damaged, bytes.length).catch((error) => error)
          let theirs: Uint8Array | undefined
          try {
            theirs = reference.decompress(damaged)
          } catch {
            theirs = undefined
          }
          if (ours instanceof Uint8Array) {
            expectSameBytes(ours, bytes)
            expectSameBytes(theirs!, bytes)
            verdicts.decoded++
          } else {
            expect(ours).toMatchObject({ tag: 'CodecError' })
            // The reference does not look whether streams of literals are used up.
            if (theirs !== undefined) expect([name, at, ours.message]).toEqual([name, at, expect.stringContaining('literals')])
            verdicts.refused++
          }
        }
      }
    expect(verdicts.refused).toBeGreaterThan(100)
  })

  test('frames without sizes keep their checksums while memory is short', async () => {
    const parts = [KINDS['text']!(100_000), KINDS['text']!(70_000), KINDS['text']!(300)]
    const frames = parts.map((part) =>
      toUnsizedFrame(withChecksum(reference.compress(part, 1), contentChecksum(part)), part.length),
    )
    const whole = new Uint8Array(Buffer.concat(parts))
    expectSameBytes(await decodeIn(new Uint8Array(Buffer.concat(frames)), whole.length), whole)
    for (const [i, frame] of frames.entries()) {
      const damaged = frames.with(i, frame.with(-1, frame.at(-1)! ^ 1))
      await expect(decodeIn(new Uint8Array(Buffer.concat(damaged)), whole.length)).rejects.toThrow('has the checksum')
    }
  })
})
