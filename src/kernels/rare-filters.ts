import type { Arena } from './arena.ts'
import { embedded, instantiate } from './module.ts'
import { RARE_FILTERS_BYTES, RARE_FILTERS_TEXT } from './rare-filters.generated.ts'

/**
 * Kernels of filters that few files use: `assembly/rare-filters.ts`. Numbers are byte addresses and lengths.
 */
interface RareFilterKernels {
  lzfDecode(src: number, srcBytes: number, dst: number, dstBytes: number): number
  unpackFields(src: number, dst: number, count: number, elementBytes: number, fields: number, fieldCount: number): void
  unscale(
    bytes: number,
    src: number,
    dst: number,
    count: number,
    bits: number,
    minimum: bigint,
    divisor: number,
    hasFill: number,
    fill: bigint,
  ): void
  szipDecode(
    src: number,
    srcBytes: number,
    dst: number,
    count: number,
    bytes: number,
    sampleBits: number,
    blockSamples: number,
    lineBlocks: number,
    lineSamples: number,
    isPredicted: number,
    work: number,
  ): number
}

let compiled: object | undefined
const embeddedRareFilters = embedded(RARE_FILTERS_TEXT, RARE_FILTERS_BYTES)
/** Instances by the kernels whose memory they use. */
const instances = new WeakMap<object, RareFilterKernels>()

/**
 * Returns the compiled module, to send to another thread; undefined if the kernels include these.
 * @throws UnsupportedError if the platform cannot compile WebAssembly now
 */
export function rareFiltersModule(kernels: object): object | undefined {
  if (isWhole(kernels)) return undefined
  compiled ??= embeddedRareFilters()
  return compiled
}

/** Uses the module that another thread compiled. Called in workers. */
export function useRareFiltersModule(module: object): void {
  compiled = module
}

/**
 * Returns the kernels, over the memory of an arena.
 * @throws UnsupportedError if the platform cannot compile WebAssembly now
 */
export function rareFilters({ kernels }: Pick<Arena, 'kernels'>): RareFilterKernels {
  const known = instances.get(kernels)
  if (known !== undefined) return known
  const made = isWhole(kernels)
    ? kernels
    : instantiate<RareFilterKernels>(rareFiltersModule(kernels)!, { env: { memory: kernels.memory } }).exports
  instances.set(kernels, made)
  return made
}

/** Whether the kernels are the complete module passed to initKernels, which includes these. */
const isWhole = (kernels: object): kernels is RareFilterKernels => 'szipDecode' in kernels
