import { COMPUTE_BYTES, COMPUTE_TEXT } from './compute.generated.ts'
import { embedded, instantiate } from './module.ts'

/** What only reductions, statistics and writing need: `assembly/compute.ts`. */
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
/** Compiled by another thread. */
let given: object | undefined

/**
 * The kernels of reductions, statistics and writing, over the memory of an arena. Only what is loaded for one
 * of these imports this file, which holds them as text.
 * @throws UnsupportedError when this platform does not compile WebAssembly now
 */
export function compute(arena: {
  readonly kernels: { readonly memory: object }
  compute: ComputeKernels | undefined
}): ComputeKernels {
  arena.compute ??= over(arena.kernels)
  return arena.compute
}

/** The module that initKernels was given has them all. */
const isWhole = (kernels: object): kernels is ComputeKernels => 'reduce' in kernels

const over = (kernels: { readonly memory: object }): ComputeKernels =>
  isWhole(kernels) ? kernels : instantiate<ComputeKernels>(compiled(), { env: { memory: kernels.memory } }).exports

/**
 * The compiled module, to hand to another thread with that of `kernels`; undefined where that one has all.
 * @throws UnsupportedError as {@link compute} does
 */
export const computeModule = (kernels: object): object | undefined => (isWhole(kernels) ? undefined : compiled())

const compiled = (): object => given ?? embeddedCompute()

/** What a worker does with the module that another thread has compiled. */
export function useComputeModule(module: object): void {
  given = module
}
