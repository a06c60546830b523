import type { Arena } from './arena.ts'
import { type LateKernels, lateKernels } from './late-kernels.ts'
import { embedded } from './module.ts'
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

/** Kernels of rare filters. */
export const rareFilterKernels: LateKernels<RareFilterKernels> = lateKernels(
  embedded(RARE_FILTERS_TEXT, RARE_FILTERS_BYTES),
  'szipDecode',
)

/** Returns the kernels, over the memory of an arena. */
export const rareFilters = (arena: Pick<Arena, 'kernels'>): RareFilterKernels => rareFilterKernels.over(arena)
