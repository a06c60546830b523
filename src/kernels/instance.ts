import { HyperslabError } from '../core/errors.ts'
import type { ComputeKernels } from './compute.ts'
import { checkInput, compilesOnlyWhileLoading, embedded, instantiate, kernelsRefusal, reasonOf } from './module.ts'
import { READING_BYTES, READING_TEXT } from './reading.generated.ts'

/**
 * What reading needs: `assembly/reading.ts`, where each file states its contract. Numbers are byte addresses
 * and lengths unless they say.
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
 * The kernels for {@link initKernels}: a `WebAssembly.Module`, or the bytes of one in a buffer or a view.
 * Spelled `object` because the platform's own names for them need the DOM library.
 */
export type KernelsInput = object

const embeddedReading = embedded(READING_TEXT, READING_BYTES)
let compiled: object | undefined
let instance: Kernels | undefined

/**
 * The kernels, compiled and instantiated on first use.
 * @throws UnsupportedError when this platform does not compile WebAssembly with SIMD
 */
export function kernels(): Kernels {
  if (instance === undefined) initKernels()
  return instance!
}

/**
 * Makes the kernels ready now instead of on first use. Needed only where WebAssembly must not be compiled
 * while running, as in edge workers of before June 2025: there, hand over the module that the platform has
 * compiled, at the top of the script.
 *
 * ```js
 * import module from 'hyperslab/kernels.wasm'
 * initKernels(module)
 * ```
 *
 * @param module taken instead of what this package has inlined; a `WebAssembly.Module` or its bytes
 * @throws UnsupportedError when the platform does not compile or run it; InvalidArgumentError when it is not
 *   the `kernels.wasm` of this version of the package. What was in use before stays in use
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

/** What a worker does with the module that another thread has compiled. */
export function useKernels(ready: { readonly compiled: object; readonly exports: Kernels }): void {
  compiled = ready.compiled
  instance = ready.exports
}

/**
 * The compiled module, to hand to another thread.
 * @throws UnsupportedError as {@link kernels} does
 */
export function kernelsModule(): object {
  kernels()
  return compiled!
}

/**
 * Lets go of the instance and its memory. The compiled module stays, so the next one is there in a fraction
 * of a millisecond.
 */
export function dropKernels(): void {
  instance = undefined
}

/** Another version of the kernels may lack what this one calls. */
function checkExports(exports: Kernels): void {
  const missing = EXPORTS.filter((name) => !(name in exports))
  if (missing.length > 0) throw new TypeError(`it does not export ${missing.join(', ')}`)
}

function failure(cause: unknown, module: KernelsInput | undefined): HyperslabError {
  // What cannot be compiled or run here is a CompileError or RuntimeError; what is no module, or another one,
  // a TypeError or LinkError.
  if (module === undefined || !(cause instanceof Error) || !/^(Type|Link)Error$/.test(cause.name)) return kernelsRefusal(cause)
  const text = `initKernels was not given the kernels.wasm of this version: ${reasonOf(cause)}`
  return new HyperslabError('InvalidArgumentError', text, { cause })
}

// Who reduces later finds them compiled.
if (compilesOnlyWhileLoading()) import('./compute.ts').catch(() => {})
