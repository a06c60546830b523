import { type DType, toElement } from '../../core/dtype.ts'
import type { ChunkStats } from '../../engine/chunk-stats.ts'
import { chunkSize } from '../../grid/chunks.ts'
import { type Definition, definedFill, dtypeOf } from '../format/definition.ts'
import { fromFill } from '../format/footer-values.ts'
import type { ArrayState } from './array-state.ts'

/**
 * Returns the statistics of a stored chunk, if they are known (`loadStats`). Undefined also if they count a
 * different number of elements than the chunk has.
 */
export function knownStats({ chunkStats, grid }: ArrayState, chunkIndex: number): ChunkStats | undefined {
  const stats = chunkStats.get(chunkIndex)
  if (stats === undefined) return undefined
  const { count, nullCount, nanCount } = stats
  return count + nullCount + nanCount === chunkSize(grid, chunkIndex) ? stats : undefined
}

/** Whether statistics count exactly those elements as null that readers find equal to the fill value. */
export function nullsAreFill(definition: Definition): boolean {
  const fill = definedFill(definition)
  return Object.is(toNull(definition), fill === undefined ? undefined : toElement(dtypeOf(definition), fill))
}

/**
 * Returns the fill value that statistics treat as "null". The format defines narrower rules for it than for
 * reading. Floats compare with `==`, and a NaN fill value matches every NaN.
 */
export function toNull({ dtype, fillValue }: Definition): number | bigint | string | undefined {
  if (fillValue === null || dtype.kind === 'list' || dtype.kind === 'fixed_size_list') return undefined
  const kinds: Partial<Record<DType, readonly string[]>> = {
    bool: ['bool'],
    float32: ['float'],
    float64: ['float'],
    string: ['string'],
    binary: ['string'],
    timestamp_ns: ['timestamp_ns', 'int'],
  }
  if (!(kinds[dtype.kind] ?? ['int', 'uint']).includes(fillValue.kind)) return undefined
  if (dtype.kind === 'binary') return fillValue.kind === 'string' ? fillValue.value : undefined
  const value = fromFill(dtype.kind, fillValue)
  return typeof value === 'boolean' ? Number(value) : (value as number | bigint | string | undefined)
}
