import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { Zstd } from '@hpcc-js/wasm-zstd'
import { decompress } from 'fzstd'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { decodeFooter } from '../../src/af/format/footer.ts'
import { FOOTER_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { nativeEncoder } from '../../src/codec/zstd-encode.ts'
import { continued, type Frame, parseFrames, toFrame } from '../../src/codec/zstd-frames.ts'
import { decodeFrame } from '../../src/codec/zstd-wasm.ts'
import type { Kernels } from '../../src/kernels/instance.ts'
import { fixture } from '../af/rkyv/support.ts'
import { KINDS } from '../kernels/lz4-data.ts'
import { expectSameBytes, noise, randoms } from '../kernels/support.ts'
import { isQuick } from '../support/budget.ts'
import { partsOf, samples } from './zstd-samples.ts'

declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object, imports?: object) => { readonly exports: unknown }
  CompileError: new (text: string) => Error
  RuntimeError: new (text: string) => Error
}

const built = (name: string) => readFileSync(new URL(`../../build/${name}.wasm`, import.meta.url))
const wasm = built('zstd')
const raw = new WebAssembly.Instance(new WebAssembly.Module(built('reading'))).exports as Kernels
const { zstdDecode, zstdTables, zstdEnd } = new WebAssembly.Instance(new WebAssembly.Module(wasm), {
  env: { memory: raw.memory },
}).exports as {
  zstdDecode(src: number, srcBytes: number, dst: number, dstBytes: number, literals: number): number
  readonly zstdTables: { readonly value: number }
  readonly zstdEnd: { readonly value: number }
}
const reference = await Zstd.load()
const LITERALS = (128 + 64) * 1024
const BAD_LITERALS = -3
const GUARD = 0xa5
const GUARDS = 64

/**
 * Static data, that of the kernels, too, lies in front of the tables, the arena behind them:
 * assembly/zstd/layout.ts.
 */
const [TABLES_START, TABLES_END, ARENA] = [zstdTables.value, zstdEnd.value, raw.arenaMark()]
const guards = new Uint8Array(ARENA).fill(GUARD)
const staticData = new Uint8Array(raw.memory.buffer, 0, TABLES_START).slice()

/**
 * Decodes with guards around the output and behind the literals; fails when anything is written that should
 * not.
 */
function guardedDecode(blocks: Uint8Array, size: number): Uint8Array | number {
  const mark = raw.arenaMark()
  const src = raw.arenaAlloc(blocks.length)
  const dst = raw.arenaAlloc(size + 2 * GUARDS) + GUARDS
  const literals = raw.arenaAlloc(LITERALS)
  const literalsEnd = raw.arenaAlloc(GUARDS)
  const memory = new Uint8Array(raw.memory.buffer)
  memory.set(blocks, src)
  // Bytes behind the input must not matter.
  memory.fill(GUARD, src + blocks.length, literalsEnd + GUARDS)
  memory.fill(GUARD, TABLES_END, ARENA)
  const code = zstdDecode(src, blocks.length, dst, size, literals)
  const untouched = (from: number, to: number) => Buffer.compare(memory.subarray(from, to), guards.subarray(0, to - from)) === 0
  expect(untouched(TABLES_END, ARENA), 'behind the tables').toBe(true)
  expect(untouched(src + blocks.length, dst), 'between the input and the output').toBe(true)
  expect(untouched(dst + size, literals), 'behind the output').toBe(true)
  expect(untouched(literals + 128 * 1024 + 64, literalsEnd + GUARDS), 'behind the literals').toBe(true)
  expectSameBytes(memory.subarray(src, src + blocks.length), blocks)
  expectSameBytes(memory.subarray(0, TABLES_START), staticData)
  raw.arenaReset(mark)
  expect(code).toBeLessThanOrEqual(0)
  expect(code).toBeGreaterThanOrEqual(-10)
  return code < 0 ? code : memory.slice(dst, dst + size)
}

const MARK = Uint8Array.of(0x9d, 0x1c, 0xe3, 0x57, 0x42, 0xb8, 0x06, 0x7f)

/** Decodes a frame with fzstd; returns undefined for an error or another size. */
function byFzstd(frame: Frame, size: number): Uint8Array | undefined {
  try {
    const out = decompress(toFrame(continued(frame, MARK), size + MARK.length))
    return MARK.every((byte, i) => byte === out[size + i]) ? out.subarray(0, size) : undefined
  } catch {
    return undefined
  }
}

/** Decodes a frame with the reference implementation; returns undefined for an error or another size. */
function byReference(frame: Frame, size: number): Uint8Array | undefined {
  try {
    const out = reference.decompress(toFrame({ ...frame, checksum: new Uint8Array(0) }, size))
    return out.length === size ? out : undefined
  } catch {
    return undefined
  }
}

function expectDecodes(encoded: Uint8Array, bytes: Uint8Array): void {
  const [frame, ...others] = parseFrames(encoded)
  expect(others).toEqual([])
  expectSameBytes(guardedDecode(frame!.blocks, bytes.length) as Uint8Array, bytes)
}

afterEach(() => vi.restoreAllMocks())

const LEVELS = isQuick ? [1, 3, 19] : [1, 2, 3, 5, 7, 9, 12, 15, 19]

describe.each(Object.entries(KINDS))('%s', (_, make) => {
  test('of 0 to 300 bytes', () => {
    for (let size = 0; size <= 300; size++) {
      const bytes = make(size)
      const encoded = reference.compress(bytes, 1 + (size % 19))
      expectDecodes(encoded, bytes)
      const [frame] = parseFrames(encoded)
      expect(guardedDecode(frame!.blocks, size + 1)).toBeTypeOf('number')
      if (size > 0) expect(guardedDecode(frame!.blocks, size - 1)).toBeTypeOf('number')
    }
  })

  test('of 4 KiB to 2 MiB, levels 1 to 19', () => {
    for (const size of [4096, 4099, 20_000, 65_536, 131_071, 131_072, 131_073, 300_001]) {
      const bytes = make(size)
      for (const level of LEVELS) expectDecodes(reference.compress(bytes, level), bytes)
    }
    const bytes = make(2 << 20)
    for (const level of isQuick ? [3] : [1, 3, 9, 19]) {
      const encoded = reference.compress(bytes, level)
      expectDecodes(encoded, bytes)
      const [frame] = parseFrames(encoded)
      if (level === 3) expectSameBytes(byFzstd(frame!, bytes.length)!, bytes)
    }
  })

  // Node has zstd from 22.15 on. Runtimes without it cannot install it.
  const native = nativeEncoder()
  if (native !== undefined)
    test('as the platform encodes it', async () => {
      for (const size of [1, 300, 20_000, 300_001])
        for (const level of [1, 3, 12]) expectDecodes(await native(make(size), level), make(size))
    })
})

test.each(samples(reference))('%s', (_, frame, size) => {
  const bytes = byReference(frame, size)!
  expectSameBytes(guardedDecode(frame.blocks, size) as Uint8Array, bytes)
  expectSameBytes(byFzstd(frame, size)!, bytes)
})

/** Fails unless it decodes as by the reference implementation, or by fzstd where that refuses it. */
function expectSameVerdict(what: string, blocks: Uint8Array, last: number, size: number): boolean {
  const ours = guardedDecode(blocks, size)
  const frame: Frame = { contentBytes: size, blocks, last, checksum: new Uint8Array(0) }
  const theirs = byReference(frame, size)
  if (typeof ours === 'number') {
    // The reference does not look whether streams of literals are used up.
    if (theirs !== undefined && ours !== BAD_LITERALS) expect.fail(`${what}: error ${ours}, but the reference decodes it`)
    return false
  }
  const others = theirs ?? byFzstd(frame, size)
  if (others === undefined) expect.fail(`${what}: decoded, but by no other decoder`)
  expectSameBytes(ours, others)
  return true
}

test('the samples hold every kind of literals and of tables', () => {
  const seen = new Set<string>()
  for (const [, frame] of samples(reference)) partsOf(frame, seen)
  for (const [, make] of Object.entries(KINDS))
    for (const level of [1, 3, 19]) partsOf(parseFrames(reference.compress(make(300_001), level))[0]!, seen)
  const wanted = [0, 1, 2].map((type) => `block ${type}`)
  for (let i = 0; i < 4; i++) wanted.push(`literals ${i}`, `count ${i}`, `table 6 ${i}`, `table 4 ${i}`, `table 2 ${i}`)
  expect(wanted.concat('weights coded', 'weights direct', '1 stream', '4 streams').filter((each) => !seen.has(each))).toEqual([])
})

test('every byte of a frame damaged', () => {
  const next = randoms(5)
  let decoded = 0
  let refused = 0
  for (const [name, { blocks, last }, size] of samples(reference))
    for (let at = 0; at < Math.min(blocks.length, 300); at++) {
      const flip = next() % 2 === 0 ? 1 << (next() % 8) : 1 + (next() % 255)
      const damaged = blocks.slice()
      damaged[at]! ^= flip
      if (expectSameVerdict(`${name}, byte ${at} ^ ${flip}`, damaged, last, size)) decoded++
      else refused++
    }
  expect(decoded).toBeGreaterThan(500)
  expect(refused).toBeGreaterThan(500)
})

test('frames cut short', () => {
  for (const [, { blocks }, size] of samples(reference))
    for (let length = 0; length < blocks.length; length += 1 + (length >> 5))
      expect(guardedDecode(blocks.subarray(0, length), size)).toBeTypeOf('number')
})

test('noise in a block', () => {
  const next = randoms(8)
  for (let i = 0; i < 3000; i++) {
    const bytes = next() % 400
    const blocks = Uint8Array.from({ length: 3 + bytes }, () => next() >>> 24)
    blocks.set([((bytes << 3) & 255) | 5, bytes >> 5, 0])
    // Likely to come further: direct weights, few sequences of the predefined tables.
    if (i % 2 === 0) blocks.set([(i % 30) << 3, ...noise(i % 30, i), 1 + (next() % 100), 0].slice(0, bytes), 3)
    expectSameVerdict(`noise ${i}`, blocks, 0, 1 + (next() % 5000))
  }
})

test('blocks of files of another writer', () => {
  let found = 0
  for (const name of ['all.af', 'all.1.af', 'all.2.af', 'all.3.af']) {
    const file = fixture(`v4_corpus_zstd/${name}`)
    for (const block of decodeFooter(splitFile(file, FOOTER_MAGIC).payload).blocks) {
      if (block.codec !== 'zstd') continue
      for (const frame of parseFrames(file.subarray(block.fileOffset, block.fileOffset + block.compressedBytes))) {
        const size = frame.contentBytes ?? block.uncompressedBytes
        expectSameBytes(guardedDecode(frame.blocks, size) as Uint8Array, byReference(frame, size)!)
        expectSameBytes(guardedDecode(frame.blocks, size) as Uint8Array, byFzstd(frame, size)!)
        found++
      }
    }
  }
  expect(found).toBe(9)
})

/** Counts the modules that are instantiated, with other exports where told. */
function countInstances(change = (exports: object): unknown => exports) {
  const { Instance } = WebAssembly
  return vi.spyOn(WebAssembly, 'Instance').mockImplementation(
    class {
      readonly exports: unknown
      constructor(module: object, imports?: object) {
        this.exports = change(new Instance(module, imports).exports as object)
      }
    },
  )
}

describe('in the package', () => {
  const bytes = KINDS['text']!(100_000)
  const encoded = reference.compress(bytes)

  test('memory is given back after a large frame', () => {
    const large = new Uint8Array(70 << 20)
    const [frame] = parseFrames(reference.compress(large, 1))
    const { length } = decodeFrame(frame!, large.length)
    expect(length).toBe(large.length)
    const instances = countInstances()
    for (let i = 0; i < 3; i++) expectSameBytes(decodeFrame(parseFrames(encoded)[0]!, bytes.length), bytes)
    // The kernels, whose memory it is, and the decoder.
    expect(instances).toHaveBeenCalledTimes(2)
    expect(() => decodeFrame(frame!, 2 ** 32)).toThrow(expect.objectContaining({ tag: 'OutOfMemoryError' }))
  })

  test('an instance that trapped is not used again', async () => {
    vi.resetModules()
    const { decodeFrame } = await import('../../src/codec/zstd-wasm.ts')
    const trap = () => {
      throw new WebAssembly.RuntimeError('unreachable')
    }
    let traps = 1
    const instances = countInstances((exports) =>
      'zstdDecode' in exports && traps-- > 0 ? { ...exports, zstdDecode: trap } : exports,
    )
    expect(() => decodeFrame(parseFrames(encoded)[0]!, bytes.length)).toThrow('unreachable')
    for (let i = 0; i < 2; i++) expectSameBytes(decodeFrame(parseFrames(encoded)[0]!, bytes.length), bytes)
    expect(instances).toHaveBeenCalledTimes(4)
  })

  test('where WebAssembly must not be compiled, fzstd decodes', async () => {
    vi.resetModules()
    const { decode } = await import('../../src/codec/zstd.ts')
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    const compile = vi.spyOn(WebAssembly, 'Module').mockImplementation(
      class {
        constructor() {
          throw new WebAssembly.CompileError('code generation disallowed by embedder')
        }
      },
    )
    // nor is it tried again
    for (let i = 0; i < 2; i++) expectSameBytes(await decode(encoded, bytes.length), bytes)
    expect(compile).toHaveBeenCalledTimes(1)
  })

  test('the module is small', () => {
    expect(gzipSync(wasm, { level: 9 }).length).toBeLessThan(4000)
  })
})
