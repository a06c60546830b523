import { type DType, isBigInt, isFixed, isFloat, type NumericDType } from '../../core/dtype.ts'
import { within } from '../../core/errors.ts'
import { Pace } from '../../core/pace.ts'
import type { Signal } from '../../core/signal.ts'
import { type ChunkStats, NO_NANS } from '../../engine/chunk-stats.ts'
import { checkCrc } from '../../engine/integrity.ts'
import { type ChunkStatsTable, checkStatsBytes, decodeChunkStats, readRow } from '../format/chunk-stats-table.ts'
import { STATS_CODEC } from '../format/extension-blocks.ts'
import type { ArrayMeta } from '../format/footer.ts'
import type { ArrayState } from './array-state.ts'
import type { Layer } from './layer.ts'
import { areExact } from './statistics.ts'

/**
 * Loads the statistics of the chunks from the layers, for the newest version of each. Yields to other work of
 * the thread if there are many.
 */
export async function loadStats(state: ArrayState, signal?: Signal): Promise<void> {
  if (state.statsLoaded) return
  const { entries, stored, chunkStats, definition } = state
  const pace = new Pace(signal)
  const lacks = (chunkIndex: number): boolean => !chunkStats.has(chunkIndex) && !state.written.has(chunkIndex)
  // Meanwhile layers may be added, the array may be resized, or its statistics discarded.
  const isSame = (): boolean => state.stored === stored && state.chunkStats === chunkStats
  const some = async (visit: (chunkIndex: number, entry: number) => boolean): Promise<boolean | undefined> => {
    for (const [entry, chunks] of stored.entries()) {
      for (const chunkIndex of chunks.numbers()) {
        if (pace.due()) await pace.turn()
        if (!isSame()) return undefined
        if (visit(chunkIndex, entry)) return true
      }
    }
    return false
  }
  const whole = wholeStats(state)
  const unknown = await some(lacks)
  if (unknown === false && whole === undefined) return
  const tables =
    unknown && (await Promise.all(entries.map(async ({ layer, meta }) => (await loadChunkStats(layer, signal)).get(meta))))
  const seen = new Set<number>()
  const ended =
    tables &&
    (await some((chunkIndex, entry) => {
      if (seen.has(chunkIndex)) return false
      seen.add(chunkIndex)
      const table = tables[entry]
      const row = stored[entry]!.row(chunkIndex)!
      if (table !== undefined && lacks(chunkIndex)) state.measured(chunkIndex, readRow(table, definition.dtype.kind, row))
      return false
    }))
  if (ended === undefined || !isSame()) return loadStats(state, signal)
  state.statsTaken(stored, whole)
}

/**
 * Returns the statistics of a whole array from a footer of version 6, if they are exact for readers. The sign
 * of a zero bound is not reliable. The footer counts unwritten elements as null. Without a fill value these
 * read as zeros, so they extend the bounds.
 */
function wholeStats({ definition, entries }: ArrayState): ChunkStats | undefined {
  const stats = entries[0]?.layer.immutable ? entries[0].meta.stats : undefined
  const { kind } = definition.dtype
  if (stats == null || !isFixed(kind as DType) || !areExact(stats, kind)) return undefined
  const isWide = kind === 'timestamp_ns' || isBigInt(kind as NumericDType)
  const [min, max] = [stats.min, stats.max].map((bound) => {
    if (bound === null || bound.kind === 'bytes') return undefined
    return isWide ? bound.value : Number(bound.value)
  })
  if (isFloat(kind as DType) && (min === 0 || max === 0)) return undefined
  const [rows, nulls] = [Number(stats.rowCount), Number(stats.nullCount)]
  const rest = { sum: 0, nanCount: 0, nans: NO_NANS }
  if (definition.fillValue !== null || nulls === 0) return { min, max, count: rows - nulls, nullCount: nulls, ...rest }
  const zero = isWide ? 0n : 0
  if (isFloat(kind as DType)) return undefined
  return {
    min: min === undefined || min > zero ? zero : min,
    max: max === undefined || max < zero ? zero : max,
    count: rows,
    nullCount: 0,
    ...rest,
  }
}

type ChunkStatsTables = ReadonlyMap<ArrayMeta, ChunkStatsTable>

const TABLES = new WeakMap<Layer, Promise<ChunkStatsTables>>()

/**
 * Returns the statistics of the chunks in a layer, by array; empty if the file has none. Reads them once.
 * @throws FormatError, IntegrityError if they are damaged
 */
export function loadChunkStats(layer: Layer, signal?: Signal): Promise<ChunkStatsTables> {
  let tables = TABLES.get(layer)
  if (tables === undefined) {
    tables = within({ file: layer.file }, () => readChunkStats(layer, signal))
    TABLES.set(layer, tables)
    tables.catch(() => TABLES.delete(layer))
  }
  return tables
}

async function readChunkStats(layer: Layer, signal: Signal | undefined): Promise<ChunkStatsTables> {
  const block = layer.extensionBlock(STATS_CODEC)
  if (block === undefined) return new Map()
  const { arrays } = layer.footer
  checkStatsBytes(block.compressedBytes, arrays)
  const bytes = await layer.read(block.fileOffset, block.compressedBytes, signal)
  if (block.crc !== undefined) checkCrc('the statistics of chunks', bytes, block.crc)
  return new Map([...decodeChunkStats(bytes, arrays)].map(([index, table]) => [arrays[index]!, table]))
}
