import type { Arena } from './arena.ts'
import { FILTERS_BYTES, FILTERS_TEXT } from './filters.generated.ts'
import { embedded, instantiate } from './module.ts'

/** Kernels for other formats only: `assembly/filters.ts`. Numbers are byte addresses and lengths. */
interface FilterKernels {
  unshuffle(elementBytes: number, src: number, dst: number, bytes: number): void
  bitUnshuffle(elementBytes: number, src: number, dst: number, bytes: number, planes: number): void
  swap(at: number, bytes: number, places: number): void
  bloscLzDecode(src: number, srcBytes: number, dst: number, dstBytes: number): number
  widenHalf(src: number, dst: number, count: number): void
  widenBrain(src: number, dst: number, count: number): void
  scaleTimes(at: number, count: number, factor: bigint): number
  cumulate(bytes: number, isFloat: number, at: number, count: number): void
}

const embeddedFilters = embedded(FILTERS_TEXT, FILTERS_BYTES)
/** Filter instances by the kernels whose memory they use. */
const instances = new WeakMap<object, FilterKernels>()

/**
 * Returns the kernels of filters, over the memory of an arena. Only readers of other formats import this
 * file, because it contains the kernels as text.
 * @throws UnsupportedError if the platform cannot compile WebAssembly now
 */
export function filters({ kernels }: Pick<Arena, 'kernels'>): FilterKernels {
  const known = instances.get(kernels)
  if (known !== undefined) return known
  const made = isWhole(kernels)
    ? kernels
    : instantiate<FilterKernels>(embeddedFilters(), { env: { memory: kernels.memory } }).exports
  instances.set(kernels, made)
  return made
}

/** Whether the kernels are the complete module passed to initKernels, which includes these. */
const isWhole = (kernels: object): kernels is FilterKernels => 'unshuffle' in kernels
