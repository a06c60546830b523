import { HyperslabError } from '../core/errors.ts'
import type { ComputeKernels } from './compute.ts'
import { checkInput, compilesOnlyWhileLoading, embedded, instantiate, kernelsRefusal, reasonOf } from './module.ts'
import { READING_BYTES, READING_TEXT } from './reading.generated.ts'

/**
 * Kernels for reading: `assembly/reading.ts`, where each file states its contract. Numbers are byte addresses
 * and lengths unless stated otherwise.
 */
export interface Kernels {
  readonly memory: { readonly buffer: ArrayBuffer }
  arenaMark(): number
  arenaAlloc(bytes: number): number
  arenaReset(mark: number): void
  lz4Decode(src: number, srcBytes: number, dst: number, dstBytes: number, state: number, wanted: number): number
  copyStrided(
    elementBytes: number,
    rank: number,
    shape: number,
    src: number,
    srcStride: number,
    dst: number,
    dstStride: number,
  ): void
  crc32c(src: number, bytes: number, crc: number): number
  pick(bytes: number, src: number, dst: number, rows: number, m: number, columns: number, n: number): void
  project(start: number, step: number, count: number, chunkLength: number, gridOffset: number, out: number): number
}

const EXPORTS: readonly (keyof (Kernels & ComputeKernels))[] = [
  'memory',
  'arenaMark',
  'arenaAlloc',
  'arenaReset',
  'lz4Decode',
  'lz4Bound',
  'lz4Encode',
  'copyStrided',
  'crc32c',
  'reduce',
  'stats',
  'find',
  'firstRows',
  'pick',
  'project',
  'swap',
]

/**
 * Input of {@link initKernels}: a `WebAssembly.Module`, or its bytes in a buffer or a view. Declared as
 * `object`, because the platform's own types need the DOM library.
 */
export type KernelsInput = object

const embeddedReading = embedded(READING_TEXT, READING_BYTES)
let compiled: object | undefined
let instance: Kernels | undefined

/**
 * Returns the kernels, compiled and instantiated on first use.
 * @throws UnsupportedError if the platform cannot compile WebAssembly with SIMD
 */
export function kernels(): Kernels {
  if (instance === undefined) initKernels()
  return instance!
}

/**
 * Compiles and instantiates the kernels now instead of on first use. Needed only where WebAssembly cannot be
 * compiled at run time, as in edge workers before June 2025. Call it at the top of the script with the module
 * that the platform compiled.
 *
 * ```js
 * import module from 'hyperslab/kernels.wasm'
 * initKernels(module)
 * ```
 *
 * @param module replaces the embedded module; a `WebAssembly.Module` or its bytes
 * @throws UnsupportedError if the platform cannot compile or run it; InvalidArgumentError if it is not the
 *   `kernels.wasm` of this version of the package. The previous kernels then stay in use
 */
export function initKernels(module?: KernelsInput): void {
  if (module === undefined && instance !== undefined) return
  const code = module ?? compiled ?? embeddedReading()
  try {
    checkInput(code)
    const ready = instantiate<Kernels>(code)
    if (module !== undefined) checkExports(ready.exports)
    useKernels(ready)
  } catch (cause) {
    throw failure(cause, module)
  }
}

/** Uses the module that another thread compiled. Called in workers. */
export function useKernels(ready: { readonly compiled: object; readonly exports: Kernels }): void {
  compiled = ready.compiled
  instance = ready.exports
}

/**
 * Returns the compiled module, to send to another thread.
 * @throws UnsupportedError as {@link kernels} does
 */
export function kernelsModule(): object {
  kernels()
  return compiled!
}

/**
 * Drops the instance and its memory. The compiled module stays, so creating the next instance takes a
 * fraction of a millisecond.
 */
export function dropKernels(): void {
  instance = undefined
}

/** @throws TypeError if the module lacks exports, as other versions of the kernels may */
function checkExports(exports: Kernels): void {
  const missing = EXPORTS.filter((name) => !(name in exports))
  if (missing.length > 0) throw new TypeError(`it does not export ${missing.join(', ')}`)
}

function failure(cause: unknown, module: KernelsInput | undefined): HyperslabError {
  // The platform throws CompileError or RuntimeError if it cannot compile or run modules, and TypeError or
  // LinkError for invalid or unrelated input.
  if (module === undefined || !(cause instanceof Error) || !/^(Type|Link)Error$/.test(cause.name)) return kernelsRefusal(cause)
  const text = `initKernels was not given the kernels.wasm of this version: ${reasonOf(cause)}`
  return new HyperslabError('InvalidArgumentError', text, { cause })
}

// In runtimes that compile only while loading, this compiles the other kernels in time.
if (compilesOnlyWhileLoading()) import('./compute.ts').catch(() => {})
