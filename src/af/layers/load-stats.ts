import { Pace } from '../../core/pace.ts'
import type { Signal } from '../../core/signal.ts'
import { rowOf } from '../format/chunk-stats-table.ts'
import type { ArrayState } from './array-state.ts'

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
    unknown && (await Promise.all(entries.map(async ({ layer, meta }) => (await layer.chunkStats(signal)).get(meta))))
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
