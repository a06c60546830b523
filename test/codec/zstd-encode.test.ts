import { readFileSync } from 'node:fs'
import { Zstd } from '@hpcc-js/wasm-zstd'
import fc from 'fast-check'
import { decompress } from 'fzstd'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { decode } from '../../src/codec/zstd.ts'
import { encodeFrame } from '../../src/codec/zstd-encode.ts'
import { parseFrames } from '../../src/codec/zstd-frames.ts'
import { decodeFrame } from '../../src/codec/zstd-wasm.ts'
import type { Kernels } from '../../src/kernels/instance.ts'
import { KINDS } from '../kernels/lz4-data.ts'
import { expectSameBytes, noise, randoms } from '../kernels/support.ts'
import { runs } from '../support/budget.ts'
import { contents } from './support.ts'
import { partsOf } from './zstd-samples.ts'

declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports?: object) => { readonly exports: unknown }
  CompileError: new (text: string) => Error
  RuntimeError: new (text: string) => Error
}

/** Number of generated inputs. Time grows with it. */
const INPUTS = runs(2000)

const built = (name: string) => readFileSync(new URL(`../../build/${name}.wasm`, import.meta.url))
const raw = new WebAssembly.Instance(new WebAssembly.Module(built('reading'))).exports as Kernels
const kernel = new WebAssembly.Instance(new WebAssembly.Module(built('zstd-encode')), { env: { memory: raw.memory } })
  .exports as {
  zstdEncode(src: number, srcBytes: number, dst: number, work: number): number
} & Readonly<Record<'zstdWorkBytes' | 'zstdEncodeTables' | 'zstdEncodeEnd', { readonly value: number }>>
const reference = await Zstd.load()

const GUARD = 0xa5
const GUARDS = 64
const [TABLES_START, TABLES_END, ARENA] = [kernel.zstdEncodeTables.value, kernel.zstdEncodeEnd.value, raw.arenaMark()]
const before = new Uint8Array(raw.memory.buffer).slice(0, ARENA)

/** Encodes with guards around all it may write; fails when anything else is written. */
function guardedEncode(bytes: Uint8Array): Uint8Array {
  const mark = raw.arenaMark()
  const room = bytes.length + 3 * (Math.floor(bytes.length / 131_072) + 1) + 2048
  const src = raw.arenaAlloc(bytes.length + GUARDS)
  const dst = raw.arenaAlloc(room + 2 * GUARDS) + GUARDS
  const work = raw.arenaAlloc(kernel.zstdWorkBytes.value)
  const workEnd = raw.arenaAlloc(GUARDS)
  const memory = new Uint8Array(raw.memory.buffer)
  // Earlier contents of the memory, and bytes behind the input, must not matter.
  memory.fill(GUARD, src, workEnd + GUARDS)
  memory.set(bytes, src)
  const written = kernel.zstdEncode(src, bytes.length, dst, work)
  const guards = Buffer.alloc(room + 2 * GUARDS, GUARD)
  const untouched = (from: number, to: number) => guards.compare(memory, from, to, 0, to - from) === 0
  expect(untouched(src + bytes.length, dst), 'between the input and the output').toBe(true)
  expect(untouched(dst + room, work), 'behind the output').toBe(true)
  expect(untouched(work + kernel.zstdWorkBytes.value, workEnd + GUARDS), 'behind the working space').toBe(true)
  expectSameBytes(memory.subarray(src, src + bytes.length), bytes)
  for (const [from, to] of [[0, TABLES_START], [TABLES_END, ARENA]] as const) // biome-ignore format: one line
    expectSameBytes(memory.subarray(from, to), before.subarray(from, to))
  raw.arenaReset(mark)
  return memory.slice(dst, dst + written)
}

/**
 * Fails unless the reference implementation, fzstd and our own module decode what the kernel makes; returns
 * that.
 */
function expectEncodes(bytes: Uint8Array): Uint8Array {
  const encoded = guardedEncode(bytes)
  const [frame, ...others] = parseFrames(encoded)
  expect([frame!.contentBytes, others]).toEqual([bytes.length, []])
  expect(encoded.length).toBeLessThanOrEqual(bytes.length + 10 + 3 * (Math.floor(bytes.length / 131_072) + 1))
  expectSameBytes(decodeFrame(frame!, bytes.length), bytes)
  // It does not decode to nothing.
  if (bytes.length > 0) expectSameBytes(reference.decompress(encoded), bytes)
  expectSameBytes(decompress(encoded, new Uint8Array(bytes.length)), bytes)
  return encoded
}

const steps = (bytes: number, seed: number): Uint8Array => {
  const next = randoms(seed)
  let value = next() % 4000
  const values = Int16Array.from({ length: (bytes + 1) >> 1 }, () => (value += (next() % 9) - 4))
  return new Uint8Array(values.buffer, 0, bytes)
}

/** Few values, each half as often as the one before: the longest codes are limited. */
const skewed = (bytes: number, seed: number): Uint8Array => noise(2 * bytes, seed).reduce((out, _, i, all) => {
  if (i < bytes) out[i] = Math.clz32((all[2 * i]! << 8) | all[2 * i + 1]!)
  return out
}, new Uint8Array(bytes)) // biome-ignore format: one thought

/** The bytes of elements, all first bytes first. */
const shuffled = (bytes: Uint8Array, width: number): Uint8Array => {
  const count = Math.floor(bytes.length / width)
  return bytes.map((byte, i) => (i < count * width ? bytes[(i % count) * width + Math.floor(i / count)]! : byte))
}

const MAKERS: Record<string, (bytes: number, seed: number) => Uint8Array> = {
  ...KINDS,
  steps,
  skewed,
  noise,
  'shuffled steps': (bytes, seed) => shuffled(steps(bytes, seed), 2),
  'shuffled field': (bytes) => shuffled(KINDS['field']!(bytes), 4),
  'few values': (bytes, seed) => noise(bytes, seed).map((byte) => byte % (2 + (seed % 7))),
}

afterEach(() => vi.restoreAllMocks())

describe.each(Object.entries(MAKERS))('%s', (_, make) => {
  test('of 0 to 300 bytes', () => {
    for (let size = 0; size <= 300; size++) expectEncodes(make(size, size))
  })

  test('of 1000 bytes to 512 KiB', () => {
    for (const size of [1023, 1024, 16_383, 16_384, 65_791, 65_792, 262_143, 262_144, 262_145, 1 << 19])
      expectEncodes(make(size, size))
    for (const more of [-9, -8, -1, 0, 1, 2, 8, 9]) expectEncodes(make(131_072 + more, more + 9))
  })
})

test('pieces of all kinds, one after another', () => {
  const sizes = fc.oneof({ weight: 6, arbitrary: fc.nat(400) }, { weight: 3, arbitrary: fc.nat(6000) }, fc.nat(150_000))
  const piece = fc.record({ kind: fc.constantFrom(...Object.keys(MAKERS)), size: sizes, seed: fc.nat(10_000) })
  const again = fc.record({ from: fc.nat(100_000), size: sizes })
  fc.assert(
    fc.property(fc.array(fc.oneof({ weight: 2, arbitrary: piece }, again), { maxLength: 6 }), (pieces) => {
      let bytes = new Uint8Array(0)
      for (const each of pieces) {
        const { size } = each
        const at = 'from' in each && bytes.length > 0 ? each.from % bytes.length : 0
        const more = 'kind' in each ? MAKERS[each.kind]!(size, each.seed) : bytes.subarray(at, at + size)
        bytes = new Uint8Array(Buffer.concat([bytes, more]))
      }
      expectEncodes(bytes)
    }),
    { numRuns: INPUTS },
  )
}, 600_000)

test.each(contents())('%s, as the platform decodes it', async (_, bytes) => {
  expectSameBytes(await decode(guardedEncode(bytes), bytes.length), bytes)
})

test('matches reach back by 8 MiB at most, and frames of more say so', () => {
  const far = noise(300_000, 1)
  // A block more, so that no match is near enough.
  const apart = (8 << 20) + 131_072
  const bytes = new Uint8Array(apart + far.length)
  for (let at = 0; at < bytes.length; at += 4) bytes[at] = at >> 15
  bytes.set(far)
  bytes.set(far, apart)
  const frame = expectEncodes(bytes)
  // Not a single segment, and a window of 8 MiB.
  expect([frame[4]! & 0x20, frame[5]]).toEqual([0, 13 << 3])
  // Decoders of whole frames do not check the distance of matches. The length shows that none reaches beyond
  // the window.
  expect(frame.length).toBeGreaterThan(2 * far.length)
  const near = new Uint8Array(8 << 20)
  near.set(far)
  near.set(far, near.length - far.length)
  const encoded = expectEncodes(near)
  expect(encoded[4]! & 0x20).toBe(0x20)
  expect(encoded.length).toBeLessThan(1.2 * far.length)
})

test('what a block that is written as it is has found is forgotten', () => {
  const bytes = noise(262_144, 4)
  bytes.copyWithin(50, 10, 22)
  for (let at = 131_072 + 10; at < 140_000; at++) bytes[at] = bytes[at - 40]!
  const seen = new Set<string>()
  partsOf(parseFrames(expectEncodes(bytes))[0]!, seen)
  expect([...seen]).toEqual(expect.arrayContaining(['block 0', 'block 2']))
})

/** Values in a fixed place of each record of 8 bytes: all sequences are the same. */
const records = noise(262_144, 3).map((byte, i) => (i % 8 < 3 ? byte : i % 8))
/** Too few values for a whole byte, and too many for matches. */
const nibbles = noise(300, 2).map((byte) => byte & 15)
/**
 * The second block has the words of the first in another order, and one byte between them that is another one
 * there.
 */
const words = (() => {
  const [words, bytes] = [noise(600 * 218, 11), new Uint8Array(262_144)]
  for (let i = 0; i < 218; i++) {
    bytes.set([1, ...words.subarray(600 * i, 600 * i + 600)], 601 * i)
    bytes.set([2, ...words.subarray(600 * i, 600 * i + 600)], 131_072 + 601 * ((i * 5) % 218))
  }
  return bytes.subarray(0, 131_072 + 601 * 218)
})()

test('every kind of blocks, literals and tables is written', () => {
  const seen = new Set<string>()
  for (const bytes of [records, nibbles, words]) partsOf(parseFrames(expectEncodes(bytes))[0]!, seen)
  for (const make of Object.values(MAKERS))
    for (const size of [60, 200, 500, 3000, 20_000, 300_001]) partsOf(parseFrames(guardedEncode(make(size, size)))[0]!, seen)
  const wanted = ['block 0', 'block 1', 'block 2', 'literals 0', 'literals 1', 'literals 2', 'weights coded', 'weights direct']
  for (let i = 0; i < 3; i++) wanted.push(`count ${i}`, `table 6 ${i}`, `table 4 ${i}`, `table 2 ${i}`)
  expect(wanted.concat('1 stream', '4 streams').filter((each) => !seen.has(each))).toEqual([])
})

test('as many sequences as a block can have', () => {
  // 4 bytes each from one of two places: offsets alternate.
  const next = randoms(9)
  const words = noise(4 * 300, 7)
  const bytes = new Uint8Array(262_144)
  for (let at = 0; at < bytes.length; at += 4) bytes.set(words.subarray(4 * (next() % 300)).subarray(0, 4), at)
  const seen = new Set<string>()
  partsOf(parseFrames(expectEncodes(bytes))[0]!, seen)
  expect([...seen]).toContain('count 2')
})

test('about as small as the reference implementation makes it at level 1', () => {
  for (const kind of ['text', 'field', 'structured', 'steps', 'shuffled steps', 'shuffled field', 'skewed', 'few values'])
    for (const size of [2000, 20_000, 1 << 19]) {
      const bytes = MAKERS[kind]!(size, 5)
      const ratio = guardedEncode(bytes).length / reference.compress(bytes, 1).length
      expect(ratio, `${kind}, ${size} bytes`).toBeLessThan(1.1)
    }
})

describe('in the package', () => {
  const bytes = KINDS['text']!(100_000)

  test('an instance that trapped is not used again', async () => {
    vi.resetModules()
    const { encodeFrame } = await import('../../src/codec/zstd-encode.ts')
    const { Instance } = WebAssembly
    let traps = 1
    const instances = vi.spyOn(WebAssembly, 'Instance').mockImplementation(
      class {
        readonly exports: unknown
        constructor(module: object, imports?: object) {
          const exports = new Instance(module, imports).exports as object
          const zstdEncode = () => {
            throw new WebAssembly.RuntimeError('unreachable')
          }
          this.exports = 'zstdEncode' in exports && traps-- > 0 ? { ...exports, zstdEncode } : exports
        }
      },
    )
    expect(() => encodeFrame(bytes)).toThrow('unreachable')
    for (let i = 0; i < 2; i++) expectSameBytes(reference.decompress(encodeFrame(bytes)), bytes)
    // The kernels, whose memory it is, and the encoder, both twice.
    expect(instances).toHaveBeenCalledTimes(4)
  })

  test('where WebAssembly must not be compiled, and the platform has no encoder, it is said what to write instead', async () => {
    vi.resetModules()
    const { zstdEncoder } = await import('../../src/codec/zstd-encode.ts')
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    vi.spyOn(WebAssembly, 'Module').mockImplementation(
      class {
        constructor() {
          throw new WebAssembly.CompileError('code generation disallowed by embedder')
        }
      },
    )
    expect(() => zstdEncoder()).toThrow(
      expect.objectContaining({ tag: 'UnsupportedError', message: expect.stringContaining("choose the codec 'lz4'") }),
    )
  })

  test('where only the module that initKernels is given can be run, it encodes', async () => {
    vi.resetModules()
    const { initKernels } = await import('../../src/kernels/instance.ts')
    const { encodeFrame } = await import('../../src/codec/zstd-encode.ts')
    initKernels(new WebAssembly.Module(built('kernels')))
    const compile = vi.spyOn(WebAssembly, 'Module')
    expectSameBytes(reference.decompress(encodeFrame(bytes)), bytes)
    expect(compile).toHaveBeenCalledTimes(0)
  })

  test('more than kernel memory holds is refused', () => {
    const bytes = new Uint8Array(1)
    Object.defineProperty(bytes, 'byteLength', { value: 2 ** 32 })
    expect(() => encodeFrame(bytes)).toThrow(expect.objectContaining({ tag: 'OutOfMemoryError' }))
  })
})
