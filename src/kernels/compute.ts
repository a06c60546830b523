import { COMPUTE_BYTES, COMPUTE_TEXT } from './compute.generated.ts'
import { embedded, instantiate } from './module.ts'

/** Kernels for reductions, statistics and writing only: `assembly/compute.ts`. */
export interface ComputeKernels {
  lz4Bound(bytes: number): number
  shuffle(elementBytes: number, src: number, dst: number, bytes: number): void
  bitShuffle(elementBytes: number, src: number, dst: number, bytes: number, planes: number): void
  lz4Encode(src: number, srcBytes: number, dst: number, carry?: number): number
  reduce(
    op: number,
    dtype: number,
    skip: number,
    fill: number,
    rank: number,
    shape: number,
    src: number,
    srcStride: number,
    acc: number,
    accStride: number,
    counts: number,
  ): void
  stats(dtype: number, skip: number, fill: number, src: number, count: number, out: number): void
  find(dtype: number, value: number, nan: boolean, src: number, bytes: number): number
  firstRows(dtype: number, src: number, step: number, rows: number, bytes: number, values: number, places: number): void
  swap(at: number, bytes: number, places: number): void
}

const embeddedCompute = embedded(COMPUTE_TEXT, COMPUTE_BYTES)
/** Module that another thread compiled. */
let given: object | undefined

/**
 * Returns the kernels of reductions, statistics and writing, over the memory of an arena. Only modules that
 * are loaded for these import this file, because it contains the kernels as text.
 * @throws UnsupportedError if the platform cannot compile WebAssembly now
 */
export function compute(arena: {
  readonly kernels: { readonly memory: object }
  compute: ComputeKernels | undefined
}): ComputeKernels {
  arena.compute ??= over(arena.kernels)
  return arena.compute
}

/** Whether the kernels are the complete module passed to initKernels, which includes these. */
const isWhole = (kernels: object): kernels is ComputeKernels => 'reduce' in kernels

const over = (kernels: { readonly memory: object }): ComputeKernels =>
  isWhole(kernels) ? kernels : instantiate<ComputeKernels>(compiled(), { env: { memory: kernels.memory } }).exports

/**
 * Returns the compiled module, to send to another thread together with that of `kernels`; undefined if the
 * latter is complete.
 * @throws UnsupportedError as {@link compute} does
 */
export const computeModule = (kernels: object): object | undefined => (isWhole(kernels) ? undefined : compiled())

const compiled = (): object => given ?? embeddedCompute()

/** Uses the module that another thread compiled. Called in workers. */
export function useComputeModule(module: object): void {
  given = module
}
