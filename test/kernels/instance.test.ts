import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { isHyperslabError } from '../../src/core/errors.ts'

const build = (name: string): Uint8Array => readFileSync(new URL(`../../build/${name}.wasm`, import.meta.url))
const bytes = build('kernels')
const { WebAssembly } = globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => object } }

let fresh: typeof import('../../src/kernels/instance.ts')
beforeEach(async () => {
  vi.resetModules()
  fresh = await import('../../src/kernels/instance.ts')
})

function failure(run: () => void): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('did not throw')
}

test('the module is not more than 18.75 KiB, compressed, and the parts that load alone are smaller', () => {
  expect(gzipSync(bytes, { level: 9 }).length).toBeLessThanOrEqual(18.75 * 1024)
  expect(gzipSync(build('zstd-encode'), { level: 9 }).length).toBeLessThanOrEqual(4 * 1024)
  expect(gzipSync(build('reading'), { level: 9 }).length).toBeLessThanOrEqual(4.25 * 1024)
  expect(gzipSync(build('tiff'), { level: 9 }).length).toBeLessThanOrEqual(1.25 * 1024)
})

test('the loader instantiates the kernels, which are called without its wrappers', async () => {
  const loader = await import('@assemblyscript/loader')
  const spy = vi.fn(loader.instantiateSync)
  vi.doMock('@assemblyscript/loader', () => ({ ...loader, instantiateSync: spy }))
  vi.resetModules()
  try {
    const { kernels } = await import('../../src/kernels/instance.ts')
    const { filters } = await import('../../src/kernels/filters.ts')
    const exports = kernels()
    const [result] = spy.mock.results.map(({ value }) => value as { readonly instance: { readonly exports: object } })
    expect(exports).toBe(result!.instance.exports)
    // The loader's wrappers carry the function that they wrap.
    expect('original' in exports.crc32c).toBe(false)
    filters({ kernels: exports })
    expect(spy).toHaveBeenCalledTimes(2)
  } finally {
    vi.doUnmock('@assemblyscript/loader')
  }
})

describe('initKernels', () => {
  test('takes a module, and compiles nothing then', async () => {
    const { filters } = await import('../../src/kernels/filters.ts')
    const module = new WebAssembly.Module(bytes)
    vi.stubGlobal('WebAssembly', Object.assign(Object.create(WebAssembly), { Module: refusing(WebAssembly.Module) }))
    try {
      fresh.initKernels(module)
      fresh.dropKernels()
      const kernels = fresh.kernels()
      expect(kernels.arenaMark()).toBeGreaterThan(0)
      expect(filters({ kernels }).unshuffle).toBeTypeOf('function')
    } finally {
      vi.unstubAllGlobals()
    }
  })

  test.each([
    ['a buffer', new Uint8Array(bytes).buffer],
    ['a view', new Uint8Array(bytes)],
  ])('takes the bytes as %s', (_, given) => {
    fresh.initKernels(given)
    expect(fresh.kernels().arenaMark()).toBeGreaterThan(0)
  })

  test('without an argument makes what is inlined ready, once', () => {
    fresh.initKernels()
    const first = fresh.kernels()
    fresh.initKernels()
    expect(fresh.kernels()).toBe(first)
  })

  test('replaces kernels that are in use, with those that compute', async () => {
    const { compute, computeModule } = await import('../../src/kernels/compute.ts')
    const { Arena } = await import('../../src/kernels/arena.ts')
    const first = fresh.kernels()
    expect(computeModule(first)).toBeInstanceOf(WebAssembly.Module)
    fresh.initKernels(bytes)
    const whole = fresh.kernels()
    expect(whole).not.toBe(first)
    expect(compute(new Arena(whole))).toBe(whole)
    expect(computeModule(whole)).toBeUndefined()
  })

  test.each([
    ['something else', {}, /neither a WebAssembly.Module nor bytes/],
    ['an empty module', Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0), /does not export memory, arenaMark/],
    ['one of two modules', build('reading'), /does not export lz4Bound, lz4Encode, reduce/],
    ['the other', build('compute'), /was not given the kernels.wasm of this version: .*env/],
  ])('refuses %s and keeps what was there', (_, given, message) => {
    const before = fresh.kernels()
    const error = failure(() => fresh.initKernels(given))
    expect(isHyperslabError(error, 'InvalidArgumentError')).toBe(true)
    expect((error as Error).message).toMatch(message)
    expect(fresh.kernels()).toBe(before)
  })

  test('where nothing compiles, the error names the ways out', () => {
    const error = failure(() => fresh.initKernels(Uint8Array.of(1, 2, 3)))
    expect(isHyperslabError(error, 'UnsupportedError')).toBe(true)
    for (const way of ['wasm-unsafe-eval', 'initKernels', 'hyperslab/kernels.wasm'])
      expect((error as Error).message).toContain(way)
  })
})

/** A constructor that recognises instances and makes none. */
function refusing(original: { new (bytes: Uint8Array): object }): unknown {
  return class {
    static [Symbol.hasInstance](value: unknown): boolean {
      return value instanceof original
    }
    constructor() {
      throw new Error('compiled')
    }
  }
}
