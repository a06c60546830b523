import { HyperslabError, within } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { Pace } from '../../core/pace.ts'
import { sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import { type ObjectInfo, type ObjectTail, readTail } from '../../store/store.ts'
import type { ShardLevel } from './metadata.ts'
import { gone, type KnownTable, type OpenedStore } from './opened.ts'
import type { ChunkPlace } from './places.ts'
import { indexBytes, ShardTable } from './shard-table.ts'

/** Number of tables that are requested at the same time. */
const CONCURRENT_TABLES = 64

/** A shard that exists: an object or, if nested, a part of one. */
interface KnownShard {
  readonly etag: string
  /** Position in the object. */
  readonly base: number
  readonly size: number
  /** Its table, if it was read with the shard's end. */
  readonly bytes?: Uint8Array | undefined
}

/**
 * Reads the tables that lead to some chunks, level by level. Omits those of unwritten shards.
 * @param generation part of cache keys; changes once cached knowledge is discarded
 * @throws FormatError, IntegrityError for damaged tables; ConflictError for shards that were replaced
 */
export async function readTables(
  opened: OpenedStore,
  levels: readonly ShardLevel[],
  generation: string,
  places: Iterable<ChunkPlace>,
  signal: Signal | undefined,
): Promise<ReadonlyMap<string, KnownTable>> {
  const wanted = levels.map(() => new Map<string, ChunkPlace>())
  const pace = new Pace(signal)
  for (const place of places) {
    if (pace.due()) await pace.turn()
    for (const [depth, name] of place.tables.entries()) wanted[depth]!.set(name, place)
  }
  const tables = new Map<string, KnownTable>()
  for (const [depth, those] of wanted.entries()) {
    await forEachLimited(those, CONCURRENT_TABLES, async ([name, place]) => {
      const parent = depth === 0 ? undefined : tables.get(place.tables[depth - 1]!)
      if (opened.isAbsent(place.key) || (depth > 0 && parent === undefined)) return
      const table = await findTable(opened, `${generation} ${name}`, signal, (shared) =>
        readTable(opened, levels[depth]!, place, depth, parent, shared),
      )
      if (table !== undefined) tables.set(name, table)
    })
  }
  return tables
}

async function findTable(
  { tables, tableReads }: OpenedStore,
  name: string,
  signal: Signal | undefined,
  read: (signal: Signal) => Promise<KnownTable | undefined>,
): Promise<KnownTable | undefined> {
  const known = tables.get(name)
  if (known !== undefined) return known
  const start = async (shared: Signal): Promise<KnownTable | undefined> => {
    const table = await read(shared)
    if (table !== undefined) tables.set(name, table)
    return table
  }
  return tableReads.share(name, start, signal)
}

/** @param parent table of the shard that contains this one */
async function readTable(
  opened: OpenedStore,
  level: ShardLevel,
  { key, tableShapes, positions }: ChunkPlace,
  depth: number,
  parent: KnownTable | undefined,
  signal: Signal,
): Promise<KnownTable | undefined> {
  opened.checkOpen()
  const shape = tableShapes[depth]!
  const length = await indexBytes(level.indexCodecs, sizeOf(shape))
  const file = opened.store.describe(key)
  return within({ file }, async () => {
    if (length > opened.options.blockBytes) {
      const text = `the index of a shard of ${sizeOf(shape)} chunks takes ${length} bytes`
      throw new HyperslabError('TooLargeError', text, { actual: length, expected: opened.options.blockBytes })
    }
    const shard =
      parent === undefined ? await findShard(opened, key, level, length, signal) : innerShard(parent, positions[depth - 1]!)
    if (shard === undefined) return undefined
    const { base, size, etag } = shard
    if (size < length) {
      const text = `a shard of ${size} bytes has no room for its index of ${length}`
      throw new HyperslabError('FormatError', text, { actual: size, expected: length })
    }
    const start = level.indexAtStart ? base : base + size - length
    const bytes = shard.bytes ?? (await opened.store.getRange(key, start, length, { ifMatch: etag, signal })) ?? gone(file)
    const table = await ShardTable.decode(bytes, sizeOf(shape), level, size)
    return { table, etag, base, byteLength: table.byteLength }
  })
}

/** Finds a shard that is an object. If its table is at the end, the table is read with the same request. */
async function findShard(
  opened: OpenedStore,
  key: string,
  { indexAtStart }: ShardLevel,
  length: number,
  signal: Signal,
): Promise<KnownShard | undefined> {
  const { store } = opened
  const found = await opened.find<ObjectInfo & Partial<ObjectTail>>(key, (onUnproved) =>
    indexAtStart ? store.stat(key, { signal, onUnproved }) : readTail(store, key, length, { signal, onUnproved }),
  )
  if (found === undefined) return undefined
  const { size, etag, bytes } = found
  return { etag, base: 0, size, bytes }
}

function innerShard({ table, base, etag }: KnownTable, position: number): KnownShard | undefined {
  const range = table.find(position)
  return range && { etag, base: base + range.offset, size: range.length }
}
