import { isBigInt, isFixed, type NumericDType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { ChunkStats } from '../../engine/chunk-stats.ts'
import type { ArrayMeta } from './footer.ts'

/** Statistics of the chunks of one array in one layer, as columns, in the order of its chunk table. */
export interface ChunkStatsTable {
  readonly length: number
  /** Minimum and maximum of the numbers in each chunk; undefined values in chunks without numbers. */
  readonly mins: Ends
  readonly maxs: Ends
  /** Sums. Those of 64-bit integers take 128 bits: all low halves come first, then all high halves. */
  readonly sums: Float64Array | BigInt64Array
  /**
   * For each chunk in turn: count of numbers, of nulls, of NaNs, and the signs of the NaNs (1: negative, 2:
   * positive).
   */
  readonly counts: Uint32Array
}

type Ends = Float64Array | BigInt64Array | BigUint64Array

const COUNTS = 4

/*
 * The block, little-endian; everything starts at a multiple of 8 bytes:
 *
 *     u32 tables | u32 0, then for each table
 *     u32 index of the array in the footer | u32 rows | minima (8 bytes each) | maxima | sums (8 or 16) | counts (4 x u32)
 *
 * Minima and maxima are f64, for 64-bit types i64 or u64. Arrays of strings and binaries have no table.
 */

/** @returns undefined for arrays of other types, and if the statistics of some chunk are unknown */
export function chunkStatsTable({ dtype }: ArrayMeta, rows: readonly (ChunkStats | undefined)[]): ChunkStatsTable | undefined {
  const kind = numericKind(dtype.kind)
  if (kind === undefined || rows.some((row) => row === undefined)) return undefined
  const table = emptyTable(kind, rows.length)
  const wide = isBigInt(kind)
  rows.forEach((row, i) => {
    const { min, max, sum, count, nullCount, nanCount, nans } = row!
    if (count > 0) {
      table.mins[i] = min as never
      table.maxs[i] = max as never
      table.sums[i] = (wide ? BigInt.asIntN(64, BigInt(sum)) : sum) as never
      if (wide) table.sums[rows.length + i] = (BigInt(sum) >> 64n) as never
    }
    table.counts.set([count, nullCount, nanCount, Number(nans.negative) + 2 * Number(nans.positive)], COUNTS * i)
  })
  return table
}

/** @param kind the type of the array */
export function readRow(table: ChunkStatsTable, kind: string, i: number): ChunkStats {
  const { length, mins, maxs, sums, counts } = table
  const [count, nullCount, nanCount, signs] = counts.subarray(COUNTS * i, COUNTS * (i + 1)) as unknown as [
    number,
    number,
    number,
    number,
  ]
  const nans = { negative: (signs & 1) !== 0, positive: (signs & 2) !== 0 }
  const rest = { count, nullCount, nanCount, nans }
  if (count === 0) return { min: undefined, max: undefined, sum: 0, ...rest }
  const wide = kind === 'timestamp_ns' || isBigInt(kind as NumericDType)
  const sum = wide ? ((sums[length + i] as bigint) << 64n) + BigInt.asUintN(64, sums[i] as bigint) : sums[i]!
  return { min: mins[i]!, max: maxs[i]!, sum, ...rest }
}

/** @param tables by index of their array in the footer */
export function encodeChunkStats(tables: ReadonlyMap<number, ChunkStatsTable>): Uint8Array {
  const parts: ArrayBufferView[] = [Uint32Array.of(tables.size, 0)]
  for (const [index, { length, mins, maxs, sums, counts }] of tables)
    parts.push(Uint32Array.of(index, length), mins, maxs, sums, counts)
  const bytes = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0))
  let at = 0
  for (const { buffer, byteOffset, byteLength } of parts) {
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at)
    at += byteLength
  }
  return bytes
}

/** @throws FormatError if `bytes` exceeds what the statistics of these arrays can take */
export function checkStatsBytes(bytes: number, arrays: readonly ArrayMeta[]): void {
  const most = arrays.reduce((sum, { chunks }) => sum + 8 + MOST_ROW_BYTES * chunks.length, 8)
  if (bytes > most) wrong(bytes, most)
}

/** @throws FormatError if the bytes do not match the arrays of the footer */
export function decodeChunkStats(bytes: Uint8Array, arrays: readonly ArrayMeta[]): Map<number, ChunkStatsTable> {
  // Views of 8-byte elements must start at multiples of 8. The constructor copies, unlike `slice` of Node's
  // buffers.
  const { buffer, byteLength } = new Uint8Array(bytes)
  const tables = new Map<number, ChunkStatsTable>()
  const words = (at: number): Uint32Array => (at + 8 <= byteLength ? new Uint32Array(buffer, at, 2) : wrong(at + 8, byteLength))
  let [left = 0] = words(0)
  for (let at = 8; left > 0; left--) {
    const [index = 0, rows = 0] = words(at)
    const array = arrays[index]
    const kind = array === undefined ? undefined : numericKind(array.dtype.kind)
    if (array === undefined || kind === undefined || rows !== array.chunks.length) wrong(rows, array?.chunks.length)
    const table = emptyTable(kind!, 0)
    const bytesPerRow = rowBytes(kind!)
    at += 8
    if (at + rows * bytesPerRow > byteLength) wrong(at + rows * bytesPerRow, byteLength)
    const column = <T>(like: T, length: number): T => {
      const Column = (like as { constructor: unknown }).constructor as new (
        buffer: ArrayBufferLike,
        at: number,
        length: number,
      ) => T
      const view = new Column(buffer, at, length)
      at += (view as unknown as Uint8Array).byteLength
      return view
    }
    const mins = column(table.mins, rows)
    const maxs = column(table.maxs, rows)
    const sums = column(table.sums, rows * sumWords(kind!))
    tables.set(index, { length: rows, mins, maxs, sums, counts: column(table.counts, rows * COUNTS) })
  }
  return tables
}

function emptyTable(kind: NumericDType, length: number): ChunkStatsTable {
  const ends = (): Ends =>
    kind === 'int64' ? new BigInt64Array(length) : kind === 'uint64' ? new BigUint64Array(length) : new Float64Array(length)
  const sums = isBigInt(kind) ? new BigInt64Array(2 * length) : new Float64Array(length)
  return { length, mins: ends(), maxs: ends(), sums, counts: new Uint32Array(COUNTS * length) }
}

const sumWords = (kind: NumericDType): number => (isBigInt(kind) ? 2 : 1)

const rowBytes = (kind: NumericDType): number => 8 * (2 + sumWords(kind)) + 4 * COUNTS

/** Rows of 64-bit integers are the largest. */
const MOST_ROW_BYTES = rowBytes('int64')

/** Returns the numeric type of an array's elements; undefined for strings, binaries and nested types. */
function numericKind(kind: string): NumericDType | undefined {
  if (kind === 'timestamp_ns') return 'int64'
  if (kind === 'bool') return 'uint8'
  return kind.endsWith('list') || !isFixed(kind as NumericDType) ? undefined : (kind as NumericDType)
}

function wrong(actual: unknown, expected: unknown): never {
  throw new HyperslabError('FormatError', 'the statistics of chunks do not go with the footer', { actual, expected })
}
