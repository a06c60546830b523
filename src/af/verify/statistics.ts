import { HyperslabError } from '../../core/errors.ts'
import { showShape, sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import type { ChunkAddress } from '../../engine/block.ts'
import type { ChunkStats, Extreme } from '../../engine/chunk-stats.ts'
import type { Store } from '../../store/store.ts'
import { type ChunkStatsTable, readRow } from '../format/chunk-stats-table.ts'
import { isNested } from '../format/definition.ts'
import { type ArrayStats, decodeStatsFile, type StatValue } from '../format/stats-file.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { formatBounds } from '../layers/chunk-stats.ts'
import { isAnsweredAlike } from '../layers/pages.ts'
import { combine, compare } from '../layers/statistics.ts'
import type { WorkingCopyOptions } from '../write/container-files.ts'
import type { Report } from './report.ts'

/** The arrays that exist, by name; undefined if an array is too damaged to be measured. */
export type LiveArrays = ReadonlyMap<string, LiveStats | undefined>

/** Statistics of an array that exists, computed from its chunks in any order. */
export class LiveStats {
  readonly state: ArrayState
  #min: Extreme | undefined
  #max: Extreme | undefined
  #taken = 0
  #spoilt = false

  constructor(state: ArrayState) {
    this.state = state
  }

  /** Adds a chunk, unless readers find another version at its position. */
  take(coord: readonly number[], { block, offset }: ChunkAddress, stats: ChunkStats): void {
    const { grid } = this.state
    if (coord.some((k, axis) => k >= grid.counts[axis]!)) return
    const newest = this.state.find(grid.chunkIndex(coord))
    if (newest?.block !== block || newest.offset !== offset) return
    this.#taken += stats.count + stats.nanCount
    const { min, max } = formatBounds(stats)
    if (min === undefined || max === undefined) return
    if (this.#min === undefined || compare(min, this.#min) < 0) this.#min = min
    if (this.#max === undefined || compare(max, this.#max) > 0) this.#max = max
  }

  /** Records that a chunk could not be measured. */
  spoil(): void {
    this.#spoilt = true
  }

  /** Undefined if a chunk could not be measured. */
  get stats(): ArrayStats | undefined {
    const nans = { negative: false, positive: false }
    const all = { min: this.#min, max: this.#max, sum: 0, count: this.#taken, nullCount: 0, nanCount: 0, nans }
    return this.#spoilt ? undefined : combine(this.state.definition, [all])
  }
}

/** @throws FormatError if the statistics of a chunk do not match its elements */
export function checkChunkStats(table: ChunkStatsTable, row: number, dtype: string, measured: ChunkStats): void {
  const stored = readRow(table, dtype, row)
  const [actual, expected] = [showStats(stored), showStats(measured)]
  const signs = stored.nans.negative === measured.nans.negative && stored.nans.positive === measured.nans.positive
  if (actual === expected && signs && sameSum(stored, measured)) return
  const text = `its statistics say ${actual}, sum ${stored.sum}; its elements are ${expected}, sum ${measured.sum}`
  throw new HyperslabError('FormatError', text, { actual, expected })
}

const showStats = ({ min, max, count, nullCount, nanCount }: ChunkStats): string =>
  `${count} from ${min} to ${max}, ${nullCount} null, ${nanCount} NaN`

/**
 * Tolerance of sums of floats, relative to the largest possible sum. Their rounding depends on the order of
 * additions, which may differ in another version of the kernels. Without bound if that largest sum exceeds
 * the largest float.
 */
const ROUNDING = 2 ** -40

function sameSum(a: ChunkStats, b: ChunkStats): boolean {
  if (a.count === 0 || Object.is(a.sum, b.sum)) return true
  if (typeof a.sum === 'bigint') return false
  const largest = Math.max(Math.abs(Number(a.min)), Math.abs(Number(a.max)))
  const most = a.count * largest
  if (most === Infinity) return largest < Infinity
  return Math.abs(Number(a.sum) - Number(b.sum)) <= most * ROUNDING
}

/**
 * Checks the statistics file: that it can be read, that it matches the arrays and, if chunks were measured,
 * that its values are right.
 */
export async function verifyStatsFile(
  store: Store,
  key: string,
  state: string,
  live: LiveArrays,
  { limits }: Pick<WorkingCopyOptions, 'limits'>,
  report: Report,
  { deep, signal }: { readonly deep: boolean; readonly signal?: Signal | undefined },
): Promise<void> {
  const file = store.describe(key)
  try {
    const stats = await readStats(store, key, limits.footerBytes, signal)
    if (stats === undefined) return
    if (stats.state !== undefined && stats.state !== state) {
      report.warn({ file }, 'the statistics describe an earlier state of the container: they are ignored')
      return
    }
    for (const entry of stats.arrays) {
      const place = { file, array: entry.name }
      // Before version 1, array-format kept the statistics of deleted arrays.
      if (stats.version > 0 && !live.has(entry.name)) report.warn(place, 'statistics of an array that does not exist')
      checkEntry(entry, live, place, report, deep)
    }
  } catch (error) {
    if (!(await isAnsweredAlike(store, key, error, { signal }))) report.take({ file }, error)
  }
}

/** Compares the statistics in the footer of an immutable file with the elements. */
export function verifyFooterStats(file: string, live: LiveArrays, report: Report, deep: boolean): void {
  for (const [array, each] of live) {
    const [entry] = each?.state.entries ?? []
    const stats = entry?.layer.immutable ? entry.meta.stats : undefined
    if (stats != null) checkEntry(stats, live, { file, array }, report, deep)
  }
}

async function readStats(
  store: Store,
  key: string,
  limit: number,
  signal: Signal | undefined,
): Promise<ReturnType<typeof decodeStatsFile> | undefined> {
  const info = await store.stat(key, { signal })
  if (info === undefined) return undefined
  if (info.size > limit) {
    const text = `${info.size} bytes of statistics are more than \`limits.footerBytes\`, ${limit}: they count as none`
    throw new HyperslabError('FormatError', text, { actual: info.size, expected: limit })
  }
  const bytes = await store.getRange(key, 0, info.size, { ifMatch: info.etag, signal })
  if (bytes === undefined) return undefined
  return decodeStatsFile(bytes)
}

function checkEntry(
  stats: ArrayStats,
  arrays: LiveArrays,
  place: { file: string; array: string },
  report: Report,
  deep: boolean,
): void {
  const live = arrays.get(stats.name)
  if (live === undefined) return
  const { shape } = live.state.definition
  const rows = BigInt(sizeOf(shape))
  if (stats.rowCount !== rows || stats.nullCount > rows) {
    report.error(place, `${stats.rowCount} rows and ${stats.nullCount} nulls for an array of shape ${showShape(shape)}`)
    return
  }
  if (!deep || isNested(live.state.definition)) return
  const measured = live.stats
  if (measured === undefined) return
  report.checked.arrayStatistics++
  const shown = ({ min, max, nullCount }: ArrayStats): string => `${showStat(min)} to ${showStat(max)}, ${nullCount} null`
  if (shown(stats) !== shown(measured))
    report.error(place, `the statistics say ${shown(stats)}; the elements are ${shown(measured)}`)
}

function showStat(stat: StatValue | null): string {
  if (stat === null) return 'nothing'
  return stat.kind === 'bytes' ? `bytes ${[...stat.value].join(' ')}` : `${stat.kind} ${stat.value}`
}
