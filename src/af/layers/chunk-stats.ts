import { type FixedDType, isFixed, type TypedArray, toBytes } from '../../core/dtype.ts'

import { type BlockUse, type ChunkBytes, chunkView, type Groups, type Stored } from '../../engine/block.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import { type ChunkStats, type Extreme, NO_NANS } from '../../engine/chunk-stats.ts'
import { decodeChunk } from '../../engine/chunk-values.ts'
import { chunkSize } from '../../grid/chunks.ts'
import { type Arena, withArena } from '../../kernels/arena.ts'
import { accumulators, reduceElements, results, chunkStats as statsOf } from '../../kernels/reduce.ts'
import { dtypeOf } from '../format/definition.ts'
import type { ArrayState } from './array-state.ts'
import { toNull } from './null-value.ts'

/** Receiver of the statistics of chunks, with the definition that gives the numbers their meaning. */
export type Measured = Pick<ArrayState, 'definition' | 'grid' | 'measured'>

/** Computes and records the statistics of a chunk that is in memory anyway. */
export const measure = (arena: Arena, state: Measured, chunkIndex: number, chunk: ChunkBytes): void =>
  state.measured(chunkIndex, measuredStats(arena, state, chunkIndex, chunk))

/** Computes the statistics of a chunk from its elements. */
export function measuredStats(
  arena: Arena,
  { definition, grid }: Pick<Measured, 'definition' | 'grid'>,
  chunkIndex: number,
  chunk: ChunkBytes,
): ChunkStats {
  const dtype = dtypeOf(definition)
  const size = chunkSize(grid, chunkIndex)
  const nothing = toNull(definition)
  if (!isFixed(dtype)) return statsOfValues(decodeChunk(dtype, chunkView(arena, chunk), size) as (string | Uint8Array)[], nothing)
  const pointer = chunk instanceof Uint8Array ? arena.put(chunk) : chunk.pointer
  return statsOfNumbers(arena, dtype as FixedDType, pointer, size, nothing as number | bigint | undefined)
}

function statsOfNumbers(arena: Arena, dtype: FixedDType, pointer: number, size: number, nothing?: number | bigint): ChunkStats {
  const { min, max, taken } = statsOf(arena, dtype, pointer, size, nothing)
  const nullCount = size - taken
  if (taken === 0) return { min: undefined, max: undefined, sum: 0, count: 0, nullCount, nanCount: 0, nans: NO_NANS }
  if (!Number.isNaN(min) && !Number.isNaN(max)) {
    const sum = sumElements(arena, dtype, pointer, size, nothing)
    return { min, max, sum, count: taken, nullCount, nanCount: 0, nans: NO_NANS }
  }
  const values = arena.view(dtype, pointer, size) as Float32Array | Float64Array
  const nans = signsOfNaNs(values)
  const numbers = withoutNaN(values, nothing)
  const rest = statsOfNumbers(arena, dtype, arena.put(toBytes(numbers)), numbers.length)
  return { ...rest, nullCount, nanCount: taken - numbers.length, nans }
}

function sumElements(arena: Arena, dtype: FixedDType, pointer: number, size: number, nothing?: number | bigint): number | bigint {
  const cell = accumulators(arena, 'sum', dtype, 1)
  reduceElements(arena, 'sum', dtype, nothing === undefined ? 'none' : { fill: nothing }, [size], pointer, [1], cell, [0])
  return results(arena, 'sum', dtype, cell, 1)[0]!
}

/** Returns the numbers without NaNs and null. Only few chunks contain NaNs, and those are slow anyway. */
function withoutNaN(values: Float32Array | Float64Array, nothing?: number | bigint): TypedArray {
  const skipped = values instanceof Float32Array ? Math.fround(Number(nothing)) : Number(nothing)
  return (values as Float64Array).filter((value) => !Number.isNaN(value) && value !== skipped)
}

/** Returns the signs of the NaNs, from their bytes. A NaN that is passed as a number may lose its sign. */
function signsOfNaNs(values: Float32Array | Float64Array): ChunkStats['nans'] {
  const words = values.BYTES_PER_ELEMENT / Int32Array.BYTES_PER_ELEMENT
  const bits = new Int32Array(values.buffer, values.byteOffset, words * values.length)
  const nans = { negative: false, positive: false }
  values.forEach((value, i) => {
    if (Number.isNaN(value)) nans[bits[words * (i + 1) - 1]! < 0 ? 'negative' : 'positive'] = true
  })
  return nans
}

function statsOfValues(values: readonly (string | Uint8Array)[], nothing: unknown): ChunkStats {
  const utf8 = new TextEncoder()
  const skipped = typeof nothing === 'string' ? utf8.encode(nothing) : undefined
  const taken = values
    .map((value) => (typeof value === 'string' ? utf8.encode(value) : value))
    .filter((value) => skipped === undefined || compareBytes(value, skipped) !== 0)
  const counts = { sum: 0, count: taken.length, nullCount: values.length - taken.length, nanCount: 0, nans: NO_NANS }
  if (taken.length === 0) return { min: undefined, max: undefined, ...counts }
  const min = taken.reduce((a, b) => (compareBytes(b, a) < 0 ? b : a))
  const max = taken.reduce((a, b) => (compareBytes(b, a) > 0 ? b : a))
  return { min, max, ...counts }
}

/** Compares lexicographically. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!
  return a.length - b.length
}

/**
 * Returns the bounds of a chunk as the format defines them. NaNs count, in the order -NaN < -Infinity < … <
 * Infinity < NaN.
 */
export function formatBounds({ min, max, nans, nanCount }: Omit<ChunkStats, 'sum' | 'nullCount'>): {
  min: Extreme | undefined
  max: Extreme | undefined
} {
  if (nanCount === 0) return { min, max }
  return {
    min: nans.negative ? NEGATIVE_NAN : (min ?? Number.NaN),
    max: nans.positive ? Number.NaN : (max ?? NEGATIVE_NAN),
  }
}

const NEGATIVE_NAN = new Float64Array(new BigUint64Array([0xfff8000000000000n]).buffer)[0]!

/**
 * Fetches and decodes the blocks of some chunks, which are grouped by block. Passes each chunk to `visit`, in
 * a memory session of its own.
 * @throws CodecError if a block does not decode or is too large; IntegrityError if its checksum does not
 *   match
 */
export const visitBlocks = <C extends Stored>(
  blocks: BlockReader,
  groups: Groups<C>,
  visit: (arena: Arena, chunk: C, bytes: ChunkBytes) => void,
): Promise<void> => {
  const here: BlockUse<C, void>['onThisThread'] = (_, chunks, bytesOf) => {
    for (const chunk of chunks) withArena((arena) => visit(arena, chunk, bytesOf(chunk)))
  }
  return blocks.use(groups, { onThisThread: here }, () => undefined)
}
