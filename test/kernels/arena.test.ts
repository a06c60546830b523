import { readFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { isHyperslabError } from '../../src/core/errors.ts'
import { type Arena, KEPT_BYTES, withArena } from '../../src/kernels/arena.ts'
import { type ComputeKernels, compute } from '../../src/kernels/compute.ts'
import { crc32c, crc32cOf } from '../../src/kernels/crc32c.ts'
import { filters } from '../../src/kernels/filters.ts'
import { kernels } from '../../src/kernels/instance.ts'
import { chunkStats } from '../../src/kernels/reduce.ts'

declare const WebAssembly: {
  RuntimeError: new (text: string) => Error
  Module: { new (bytes: Uint8Array): object; imports(module: object): unknown[] }
  Instance: new (module: object) => { exports: object }
}

const MiB = 2 ** 20

describe('withArena', () => {
  test('frees at the end what was allocated, also after an error', () => {
    const mark = kernels().arenaMark()
    expect(withArena((arena) => arena.alloc(1000))).toBeGreaterThan(0)
    expect(kernels().arenaMark()).toBe(mark)
    expect(() =>
      withArena((arena) => {
        arena.alloc(1000)
        throw new Error('stop')
      }),
    ).toThrow('stop')
    expect(kernels().arenaMark()).toBe(mark)
  })

  test('nests: an inner session frees only its own', () => {
    withArena((outer) => {
      const first = outer.put(Uint8Array.of(1, 2, 3))
      const inner = withArena((arena) => arena.put(Uint8Array.of(4, 5, 6)))
      expect(inner).toBeGreaterThan(first)
      expect(outer.put(Uint8Array.of(7))).toBe(inner)
      expect([...outer.bytes(first, 3)]).toEqual([1, 2, 3])
    })
  })

  test('gives memory back after a large session, but not within it', () => {
    const before = kernels()
    withArena((arena) => {
      withArena((inner) => inner.alloc(100 * MiB))
      expect(arena.kernels).toBe(before)
      expect(kernels()).toBe(before)
    })
    expect(kernels()).not.toBe(before)
    expect(kernels().memory.buffer.byteLength).toBeLessThan(8 * MiB)
    withArena((arena) => expect([...arena.bytes(arena.put(Uint8Array.of(9)), 1)]).toEqual([9]))
  })

  test('gives up an instance that trapped, once nobody uses its memory', () => {
    for (const error of [new WebAssembly.RuntimeError('unreachable'), new RangeError('Maximum call stack size exceeded')]) {
      const before = kernels()
      const trap = () =>
        withArena(() => {
          throw error
        })
      withArena((outer) => {
        const pointer = outer.put(Uint8Array.of(1, 2, 3))
        expect(trap).toThrow(error)
        expect(withArena((inner) => [...inner.bytes(pointer, 3)])).toEqual([1, 2, 3])
      })
      expect(kernels()).not.toBe(before)
    }
  })

  test('keeps the instance after a small one', () => {
    const before = kernels()
    withArena((arena) => arena.alloc(10 * MiB))
    expect(kernels()).toBe(before)
  })
})

describe('Arena', () => {
  test('allocations are aligned, apart by at least 32 bytes, and readable to there', () => {
    withArena((arena) => {
      let end = 0
      for (const bytes of [0, 1, 15, 16, 17, 1000, 0, 65_536]) {
        const pointer = arena.alloc(bytes)
        expect(pointer % 16).toBe(0)
        expect(pointer).toBeGreaterThanOrEqual(end)
        end = pointer + bytes + 32
        expect(arena.kernels.memory.buffer.byteLength).toBeGreaterThanOrEqual(end)
      }
    })
  })

  test('grows rarely, and keeps contents', () => {
    withArena((arena) => {
      const pointer = arena.put(Uint8Array.of(1, 2, 3))
      const sizes = new Set<number>()
      for (let i = 0; i < 1000; i++) {
        arena.alloc(32 * 1024)
        sizes.add(arena.kernels.memory.buffer.byteLength)
      }
      expect(sizes.size).toBeLessThanOrEqual(6)
      expect([...arena.bytes(pointer, 3)]).toEqual([1, 2, 3])
      expect([...arena.view('int32', arena.int32s([1, -2, 2 ** 32 - 1]), 3)]).toEqual([1, -2, -1])
    })
  })

  test('what cannot fit is one clear error and leaves the arena usable', () => {
    withArena((arena) => {
      for (const bytes of [2 ** 32 - 1, 2 ** 32 - 17, 2 ** 32, 2 ** 32 + 5, 2 ** 40]) {
        expect(() => arena.alloc(bytes)).toThrow(`no room for ${bytes} bytes`)
        try {
          arena.alloc(bytes)
        } catch (error) {
          expect(isHyperslabError(error, 'OutOfMemoryError')).toBe(true)
        }
      }
      expect(arena.alloc(16)).toBeGreaterThan(0)
    })
  })

  test('views share the memory, by the type asked for', () => {
    withArena((arena) => {
      const pointer = arena.alloc(32)
      arena.view('float64', pointer, 4).set([1, 2, 3, 4])
      expect(arena.view('float64', pointer + 8, 2)).toEqual(Float64Array.of(2, 3))
      arena.bytes(pointer, 32).fill(0)
      expect(arena.view('uint64', pointer, 4)).toEqual(new BigUint64Array(4))
    })
  })

  test('scratch frees its allocations only', () => {
    withArena((arena) => {
      const kept = arena.alloc(16)
      const passing = arena.scratch(() => arena.alloc(16))
      expect(arena.alloc(16)).toBe(passing)
      expect(passing).toBeGreaterThan(kept)
    })
  })
})

describe('instance', () => {
  test('three modules over one memory, or one module, have the ABI', async () => {
    const reading = ['arenaAlloc', 'arenaMark', 'arenaReset', 'copyStrided', 'crc32c', 'lz4Decode', 'memory', 'pick', 'project']
    const computing = ['bitShuffle', 'find', 'firstRows', 'lz4Bound', 'lz4Encode', 'reduce', 'shuffle', 'stats', 'swap']
    const filtering = ['bitUnshuffle', 'bloscLzDecode', 'cumulate', 'scaleTimes', 'unshuffle', 'widenBrain', 'widenHalf']
    const encoding = ['wholeEnd', 'zstdEncode', 'zstdWorkBytes']
    const rare = ['lzfDecode', 'szipDecode', 'unpackFields', 'unscale']
    const ofTiff = ['addLeft', 'joinPlanes', 'lzwDecode', 'packBitsDecode', 'reverseBits', 'unpackRows', 'widenTriples']
    const parts = withArena((arena) => [kernels(), compute(arena), filters(arena)].map((part) => Object.keys(part).sort()))
    expect(parts).toEqual([
      [...reading, 'readingEnd'].sort(),
      [...computing, 'computeEnd'].sort(),
      [...filtering, 'filtersEnd', 'swap'].sort(),
    ])
    const module = new WebAssembly.Module(readFileSync(new URL('../../build/kernels.wasm', import.meta.url)))
    expect(WebAssembly.Module.imports(module)).toEqual([])
    const { exports } = new WebAssembly.Instance(module)
    expect(Object.keys(exports).sort()).toEqual([...reading, ...computing, ...filtering, ...encoding, ...rare, ...ofTiff].sort())
  })

  test('what computes works in the memory of its arena, one instance as long as that', () => {
    const over = (): ComputeKernels => withArena((arena) => compute(arena))
    const first = over()
    expect(over()).toBe(first)
    const [{ min, max }, crc] = withArena((arena) => {
      const pointer = arena.put(Uint8Array.of(3, 1, 2))
      return [chunkStats(arena, 'uint8', pointer, 3), crc32c(arena, pointer, 3)]
    })
    expect([min, max, crc]).toEqual([1, 3, crc32cOf(Uint8Array.of(3, 1, 2))])
    withArena((arena) => arena.alloc(KEPT_BYTES + 1))
    expect(over()).not.toBe(first)
  })

  test('a platform without WebAssembly gets one clear error, each time', async () => {
    vi.resetModules()
    vi.stubGlobal('WebAssembly', undefined)
    try {
      const fresh = await import('../../src/kernels/instance.ts')
      for (let i = 0; i < 2; i++) {
        try {
          fresh.kernels()
          expect.fail('did not throw')
        } catch (error) {
          expect(isHyperslabError(error, 'UnsupportedError')).toBe(true)
          expect((error as Error).message).toContain('does not run the WebAssembly kernels')
        }
      }
    } finally {
      vi.unstubAllGlobals()
    }
  })

  test('under workerd the modules are compiled while the module scope is evaluated, and only there', async () => {
    vi.resetModules()
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
    const platform = (globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => object } }).WebAssembly
    let compiled = 0
    class Counting extends platform.Module {
      constructor(bytes: Uint8Array) {
        super(bytes)
        compiled++
      }
    }
    vi.stubGlobal('WebAssembly', Object.assign(Object.create(platform), { Module: Counting }))
    try {
      const fresh = await import('../../src/kernels/instance.ts')
      // The import starts the computing kernels in the background.
      await vi.waitFor(() => expect(compiled).toBe(2))
      const { compute } = await import('../../src/kernels/compute.ts')
      const { Arena } = await import('../../src/kernels/arena.ts')
      compute(new Arena(fresh.kernels()))
      fresh.dropKernels()
      compute(new Arena(fresh.kernels()))
      expect(compiled).toBe(2)
    } finally {
      vi.unstubAllGlobals()
    }
  })
})

const useArena = (arena: Arena): number => arena.alloc(1)
test('withArena hands on what its function returns', () => {
  expect(withArena(useArena)).toBeTypeOf('number')
})
