import type { DType } from '../../core/dtype.ts'
import { sizeOf } from '../../core/shape.ts'
import { chunkView } from '../../engine/block.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { ArrayStats } from '../format/array-stats.ts'
import { type Definition, isNested } from '../format/definition.ts'
import type { StatValue } from '../format/footer-values.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { compareBytes, measure, visitBlocks } from '../layers/chunk-stats.ts'
import { knownStats } from '../layers/null-value.ts'
import { combine, haveNaN } from '../layers/statistics.ts'

/*
 * Statistics of arrays in footers of version 6: the bits that the crate computes of the same elements.
 */

/**
 * Returns the statistics of an array with these chunks; null for nested types. Reads only chunks with unknown
 * statistics.
 */
export async function footerStats(
  state: ArrayState,
  numbers: readonly number[],
  blocks: BlockReader,
): Promise<ArrayStats | null> {
  const { definition } = state
  if (isNested(definition)) return null
  for (const number of numbers) {
    if (knownStats(state, number) !== undefined) continue
    const address = state.find(number)!
    await visitBlocks(blocks, [[address.block, [{ address }]]], (arena, _, bytes) => measure(arena, state, number, bytes))
  }
  const known = numbers.map((number) => ({ number, stats: knownStats(state, number)! }))
  const stats = combine(
    definition,
    known.map((each) => each.stats),
  )
  if (!haveNaN(stats)) return stats
  const withNaN = known.filter((each) => each.stats.nanCount > 0).map(({ number }) => number)
  const [lowest, highest] = await nanBounds(state, withNaN, blocks)
  const exact = (bound: ArrayStats['min'], bits: bigint): ArrayStats['min'] =>
    bound?.kind === 'float' && Number.isNaN(bound.value) ? { ...bound, bits } : bound
  return { ...stats, min: exact(stats.min, lowest), max: exact(stats.max, highest) }
}

/**
 * Returns the bits of the lowest and the highest NaN among some chunks, as float64. Statistics of chunks
 * distinguish NaNs only by their signs, but the format orders them by their payloads, too.
 */
async function nanBounds(state: ArrayState, numbers: readonly number[], blocks: BlockReader): Promise<[bigint, bigint]> {
  const { kind } = state.definition.dtype
  const found: bigint[] = []
  for (const number of numbers) {
    const address = state.find(number)!
    await visitBlocks(blocks, [[address.block, [{ address }]]], (arena, _, bytes) => {
      const nans = nansIn(kind as DType, chunkView(arena, bytes))
      if (nans !== undefined) found.push(...nans)
    })
  }
  return [
    found.reduce((a, b) => (totalOrder(b) < totalOrder(a) ? b : a)),
    found.reduce((a, b) => (totalOrder(b) > totalOrder(a) ? b : a)),
  ]
}

/** Returns the lowest and the highest NaN of a chunk. Compares float32 as stored, then widens it. */
function nansIn(dtype: DType, bytes: Uint8Array): [bigint, bigint] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const isWide = dtype === 'float64'
  const width = isWide ? 8 : 4
  let [lowest, highest]: (bigint | undefined)[] = []
  for (let at = 0; at < bytes.length; at += width) {
    if (!Number.isNaN(isWide ? view.getFloat64(at, true) : view.getFloat32(at, true))) continue
    // The bits of a float32 become the upper half of 64 bits, so that both widths have one order.
    const bits = isWide ? view.getBigUint64(at, true) : BigInt(view.getUint32(at, true)) << 32n
    if (lowest === undefined || totalOrder(bits) < totalOrder(lowest)) lowest = bits
    if (highest === undefined || totalOrder(bits) > totalOrder(highest)) highest = bits
  }
  if (lowest === undefined || highest === undefined) return undefined
  return isWide ? [lowest, highest] : [widened(lowest), widened(highest)]
}

/**
 * Widens a NaN of float32, given in the upper 32 bits, to float64: its payload moves, and it becomes quiet.
 */
function widened(bits: bigint): bigint {
  const narrow = bits >> 32n
  return ((narrow >> 31n) << 63n) | 0x7ff8000000000000n | ((narrow & 0x7fffffn) << 29n)
}

/** Maps the bits of a float64 to integers in the total order of IEEE 754. */
function totalOrder(bits: bigint): bigint {
  const signed = BigInt.asIntN(64, bits)
  return signed < 0n ? signed ^ 0x7fffffffffffffffn : signed
}

/**
 * Merges the statistics of parts of an array, each of which counts the chunks of the others as unwritten;
 * null for nested types.
 */
export function mergedFooterStats(definition: Definition, parts: readonly ArrayStats[]): ArrayStats | null {
  if (isNested(definition)) return null
  const { name, shape } = definition
  const rowCount = BigInt(sizeOf(shape))
  let min: StatValue | null = null
  let max: StatValue | null = null
  let nullCount = rowCount
  for (const part of parts) {
    nullCount -= part.rowCount - part.nullCount
    if (part.min !== null && (min === null || compareStats(part.min, min) < 0)) min = part.min
    if (part.max !== null && (max === null || compareStats(part.max, max) > 0)) max = part.max
  }
  return { name, min, max, nullCount, rowCount }
}

/** Compares two bounds of one array, floats by their bits. */
function compareStats(a: StatValue, b: StatValue): number {
  if (a.kind === 'bytes') return compareBytes(a.value, (b as typeof a).value)
  const [left, right] = [a, b].map((each) => (each.kind === 'float' ? totalOrder(each.bits) : (each.value as bigint)))
  return left! < right! ? -1 : Number(left! > right!)
}
