import type { Arena } from './arena.ts'
import { FILTERS_BYTES, FILTERS_TEXT } from './filters.generated.ts'
import { embedded, instantiate } from './module.ts'

/** What only other formats need: `assembly/filters.ts`. Numbers are byte addresses and lengths. */
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
/** By the kernels over whose memory they work. */
const instances = new WeakMap<object, FilterKernels>()

/**
 * The kernels of filters, over the memory of an arena. Only what reads other formats imports this file, which
 * holds them as text.
 * @throws UnsupportedError when this platform does not compile WebAssembly now
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

/** The module that initKernels was given has them all. */
const isWhole = (kernels: object): kernels is FilterKernels => 'unshuffle' in kernels
