import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { sameShape } from '../../core/shape.ts'
import type { ObjectInfo, PublishCondition, Stage, Store } from '../../store/store.ts'
import { type ChunkStatsTable, chunkStatsTable } from '../format/chunk-stats-table.ts'
import type { Definition } from '../format/definition.ts'
import { chunkTable, encodeIdentity, randomId } from '../format/encode.ts'
import { RESIZED_CODEC } from '../format/extras.ts'
import type { ArrayMeta, BlockMeta, Footer } from '../format/footer.ts'
import type { ChunkRow } from '../format/footer-chunks.ts'
import type { FileKind, Identity } from '../format/identity.ts'
import type { Limits } from '../format/limits.ts'
import type { ArrayState, PendingChunk } from '../layers/array-state.ts'
import { Dictionary } from '../layers/dictionary.ts'
import { Layer } from '../layers/layer.ts'
import { Stack } from '../layers/stack.ts'
import type { BlockPacker, PackedBlocks } from './packer.ts'
import { type Sealed, seal } from './seal.ts'

/** The chunks of one array that go into a layer, by number. */
export interface LayerArray {
  readonly state: ArrayState
  readonly chunks: ReadonlyMap<number, PendingChunk>
}

export interface LayerContents {
  readonly number: number
  /** Key of the base, which sidecars repeat. */
  readonly base: string
  readonly arrays: readonly LayerArray[]
  /** What is deleted; an array of the same name among `arrays` begins in this layer. */
  readonly deleted: readonly Definition[]
  readonly dictionary: Dictionary
  readonly identity: Pick<Identity, 'id' | 'base' | 'merged'> & { readonly kind: FileKind }
}

export interface PublishOptions {
  readonly condition: PublishCondition
  /** Add checksums and statistics of the chunks. */
  readonly extras: boolean
  readonly limits: Required<Limits>
  /** Done before the file gets its name, while its bytes go to the disk. */
  readonly before?: (() => Promise<void>) | undefined
  /** Bytes of the footers of the files that stay beside this one. */
  readonly besides?: number
}

/** What has blocks and the stage that they lie in. */
export interface Packed {
  finish(): Promise<Omit<PackedBlocks, 'stage'> & { readonly stage: Pick<Stage, 'publish' | 'prepare'> }>
}

/**
 * Publishes a file of a container: the blocks that `packer` holds, then the footer.
 * @returns the layer as it is now in the store, known without reading it back
 * @throws what `before` throws, with nothing published; TooLargeError when readers would refuse the container
 *   for its footers; ConflictError when the condition does not hold; the packer is as before in any case
 */
export async function publishLayer(
  store: Store,
  key: string,
  contents: LayerContents,
  packer: Packed,
  { condition, extras, limits, before, besides = 0 }: PublishOptions,
): Promise<Layer> {
  const { stage, blocks, ...packed } = await packer.finish()
  const { footer: plain, redefined } = footerOf(contents, blocks)
  const marks = [encodeIdentity({ ...contents.identity, redefined })]
  if (contents.arrays.some(hasShapes)) marks.push(RESIZED_CODEC)
  const sealed = seal(plain, extras ? { tables: tablesOf(contents.arrays, plain), ...packed } : undefined, marks)
  checkFooterBytes(besides + sealed.footerBytes, limits, store.describe(contents.base))
  const { id } = contents.identity
  return publishSealed({ store, key, number: contents.number }, sealed, stage, { id, condition, limits, before })
}

/** A file of a container that gets its name. */
interface Published {
  readonly store: Store
  readonly key: string
  readonly number: number
}

/**
 * Publishes the blocks in a stage with what follows them.
 * @param id by which the file is known again, if the answer of the server is lost; undefined if it has none
 */
export async function publishSealed(
  { store, key, number }: Published,
  { footer, tail, footerBytes, crcs }: Sealed,
  stage: Pick<Stage, 'publish' | 'prepare'>,
  {
    id,
    condition,
    limits,
    before,
  }: Pick<PublishOptions, 'condition' | 'limits' | 'before'> & { readonly id: string | undefined },
): Promise<Layer> {
  if (before !== undefined) {
    for (const outcome of await Promise.allSettled([before(), stage.prepare?.(key, tail)])) {
      if (outcome.status === 'rejected') throw outcome.reason
    }
  }
  let info: ObjectInfo
  try {
    info = await stage.publish(key, tail, condition)
  } catch (error) {
    // Published, but perhaps not for good: what is not durable is not acknowledged.
    if (isHyperslabError(error) && error.details.published !== undefined) throw error
    // The answer may be what failed, or the conflict may be with a request of our own whose answer was lost.
    const there = id === undefined ? undefined : await openOwn(store, key, number, limits, id)
    if (there === undefined) throw error
    info = there.info
  }
  return new Layer(store, key, number, info, footer, { footerBytes, limits, crcs })
}

/** @throws TooLargeError when readers would refuse the container for its footers */
export function checkFooterBytes(bytes: number, { footerBytes: most }: Required<Limits>, file: string): void {
  if (bytes <= most) return
  const text = `the footers of its files would have ${bytes} bytes, more than limits.footerBytes, ${most}, with which nobody could open it; nothing was written, and changes are kept: compact the container, or raise the limit here and wherever it is read`
  throw new HyperslabError('TooLargeError', text, { file, actual: bytes, expected: most, limit: 'limits.footerBytes' })
}

/** The file at `key`, if it can be read and is the one that was sent with this id. */
async function openOwn(
  store: Store,
  key: string,
  number: number,
  limits: Required<Limits>,
  id: string,
): Promise<Layer | undefined> {
  try {
    const layer = await Layer.open(store, key, number, limits)
    return layer?.identity.id === id ? layer : undefined
  } catch {
    // Whatever is wrong with it, the error that made us look is the one to report.
    return undefined
  }
}

/**
 * Publishes a file without arrays: a new container, or a layer that closes its base or counts for nothing.
 * @throws ConflictError when the condition does not hold
 */
export async function publishEmpty(
  store: Store,
  key: string,
  place: { readonly number: number; readonly base: string },
  identity: Omit<LayerContents['identity'], 'id'>,
  packer: BlockPacker,
  options: PublishOptions,
): Promise<Layer> {
  const contents = { ...place, arrays: [], deleted: [], dictionary: new Dictionary(), identity: { id: randomId(), ...identity } }
  // Without a layer that closes its base or counts for nothing, the container says the same.
  const durable = place.number === 0
  try {
    return await publishLayer(store, key, contents, packer, { ...options, condition: { ...options.condition, durable } })
  } finally {
    await packer.discard()
  }
}

/** Whether an error says that the condition of a publication did not hold. */
export const isConflict = (error: unknown): boolean => isHyperslabError(error, 'ConflictError')

/** Whether the layers below have the array in another shape. */
const hasShapes = ({ state: { entries, definition } }: LayerArray): boolean =>
  entries.some(({ meta }) => !sameShape(meta.shape, definition.shape))

/** Statistics of the chunks of each array for which those of all are known, by its index in the footer. */
export function tablesOf(arrays: readonly LayerArray[], footer: Footer): Map<number, ChunkStatsTable> {
  const tables = new Map<number, ChunkStatsTable>()
  const first = footer.arrays.length - arrays.length
  for (const [i, { state, chunks }] of arrays.entries()) {
    const rows = [...chunks.keys()].map((number) => state.chunkStats.get(number))
    const table = rows.length === 0 ? undefined : chunkStatsTable(footer.arrays[first + i]!, rows)
    if (table !== undefined) tables.set(first + i, table)
  }
  return tables
}

/**
 * Tombstones come first, then the arrays in their order: programs that know nothing of `redefined`, the
 * indices of arrays that take the place of a deleted one, list them as here.
 */
function footerOf(
  { number, base, arrays, deleted, dictionary }: LayerContents,
  blocks: BlockMeta[],
): { footer: Footer; redefined: number[] } {
  const gone = new Set(deleted.map(({ name }) => name))
  const tombstones = deleted.map((definition) => metaOf(definition, true))
  const metas = arrays.map(({ state, chunks }) => ({
    ...metaOf(state.definition, false),
    chunks: chunkTable(
      state.grid.shape.length,
      [...chunks].map(([chunk, pending]) => chunkRowOf(state, chunk, pending)),
    ),
    attributes: dictionary.add(state.attributes),
  }))
  const footer: Footer = {
    version: 5,
    blocks,
    arrays: [...tombstones, ...metas],
    attributeKeys: dictionary.keys,
    attributeValues: dictionary.values,
    overlayIndex: number,
    baseFileHint: number === 0 ? '' : base,
  }
  const redefined = metas.flatMap(({ name }, i) => (gone.has(name) ? [tombstones.length + i] : []))
  return { footer, redefined }
}

export function metaOf({ name, dtype, shape, chunkShape, dimensionNames, fillValue }: Definition, deleted: boolean): ArrayMeta {
  return {
    name,
    dtype,
    shape: [...shape],
    dimensionNames: [...dimensionNames],
    // Older programs store 0 for axes of length 0, which could not grow in other programs.
    chunkShape: chunkShape.map((length) => Math.max(1, length)),
    chunks: chunkTable(shape.length),
    fillValue,
    deleted,
    attributes: { width: 16, keys: [], values: [] },
  }
}

export function chunkRowOf({ grid }: ArrayState, number: number, { address }: PendingChunk): ChunkRow {
  const { block, offset, size } = address!
  return { coord: grid.index(number), blockId: block.id, offset, size }
}

/** A state with one more layer, whose number may be that of a dead one. */
export function withLayer({ base, sidecars }: Stack, layer: Layer): Stack {
  const others = sidecars.filter(({ number }) => number !== layer.number)
  return new Stack([base, ...[...others, layer].sort((a, b) => a.number - b.number)])
}
