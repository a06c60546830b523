import { within } from '../../core/errors.ts'
import { Pace } from '../../core/pace.ts'
import type { Signal } from '../../core/signal.ts'
import { checkCrc } from '../../engine/integrity.ts'
import { type ChunkStatsTable, checkStatsBytes, decodeChunkStats, rowOf } from '../format/chunk-stats-table.ts'
import { STATS_CODEC } from '../format/extras.ts'
import type { ArrayMeta } from '../format/footer.ts'
import type { ArrayState } from './array-state.ts'
import type { Layer } from './layer.ts'

/**
 * Takes in what the layers know of their chunks, the newest version of each. Gives way to others of the
 * thread while there are many.
 */
export async function loadStats(state: ArrayState, signal?: Signal): Promise<void> {
  if (state.described === state.stored) return
  const { entries, stored, chunkStats, definition } = state
  const pace = new Pace(signal)
  const lacks = (number: number): boolean => !chunkStats.has(number) && !state.written.has(number)
  // Layers may be added meanwhile, the array be resized, statistics be forgotten.
  const isSame = (): boolean => state.stored === stored && state.chunkStats === chunkStats
  const some = async (visit: (number: number, entry: number) => boolean): Promise<boolean | undefined> => {
    for (const [entry, chunks] of stored.entries()) {
      for (const number of chunks.numbers()) {
        if (pace.due()) await pace.turn()
        if (!isSame()) return undefined
        if (visit(number, entry)) return true
      }
    }
    return false
  }
  const unknown = await some(lacks)
  if (unknown === false) return
  const tables =
    unknown && (await Promise.all(entries.map(async ({ layer, meta }) => (await chunkStatsOf(layer, signal)).get(meta))))
  const seen = new Set<number>()
  const ended =
    tables &&
    (await some((number, entry) => {
      if (seen.has(number)) return false
      seen.add(number)
      const table = tables[entry]
      const row = stored[entry]!.row(number)!
      if (table !== undefined && lacks(number)) state.measured(number, rowOf(table, definition.dtype.kind, row))
      return false
    }))
  if (ended === undefined || !isSame()) return loadStats(state, signal)
  state.statsTaken(stored)
}

type ChunkStatsTables = ReadonlyMap<ArrayMeta, ChunkStatsTable>

const TABLES = new WeakMap<Layer, Promise<ChunkStatsTables>>()

/**
 * Statistics of the chunks a layer stores, by array; none where the file has none. Read once.
 * @throws FormatError, IntegrityError when they are damaged
 */
export function chunkStatsOf(layer: Layer, signal?: Signal): Promise<ChunkStatsTables> {
  let tables = TABLES.get(layer)
  if (tables === undefined) {
    tables = within({ file: layer.file }, () => readChunkStats(layer, signal))
    TABLES.set(layer, tables)
    tables.catch(() => TABLES.delete(layer))
  }
  return tables
}

async function readChunkStats(layer: Layer, signal: Signal | undefined): Promise<ChunkStatsTables> {
  const block = layer.extra(STATS_CODEC)
  if (block === undefined) return new Map()
  const { arrays } = layer.footer
  checkStatsBytes(block.compressedBytes, arrays)
  const bytes = await layer.read(block.fileOffset, block.compressedBytes, signal)
  if (block.crc !== undefined) checkCrc('the statistics of chunks', bytes, block.crc)
  return new Map([...decodeChunkStats(bytes, arrays)].map(([index, table]) => [arrays[index]!, table]))
}
