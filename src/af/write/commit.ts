import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { sameShape } from '../../core/shape.ts'
import type { ObjectInfo, PublishCondition, Stage, Store } from '../../store/store.ts'
import { type ChunkStatsTable, chunkStatsTable } from '../format/chunk-stats-table.ts'
import type { Definition } from '../format/definition.ts'
import { chunkTable, encodeIdentity, randomId } from '../format/encode.ts'
import { RESIZED_CODEC } from '../format/extension-blocks.ts'
import type { ArrayMeta, BlockMeta, Footer } from '../format/footer.ts'
import type { ChunkRow } from '../format/footer-chunks.ts'
import type { FileKind, Identity } from '../format/identity.ts'
import type { Limits } from '../format/limits.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { Dictionary } from '../layers/dictionary.ts'
import { Layer } from '../layers/layer.ts'
import type { PendingChunk } from '../layers/pending-chunk.ts'
import { Stack } from '../layers/stack.ts'
import { type BuiltFooter, buildFooter } from './build-footer.ts'
import type { BlockPacker, PackedBlocks } from './packer.ts'

/** Chunks of one array that go into a layer, by number. */
export interface LayerArray {
  readonly state: ArrayState
  readonly chunks: ReadonlyMap<number, PendingChunk>
}

export interface LayerContents {
  readonly number: number
  /** Key of the base; sidecars store it. */
  readonly base: string
  readonly arrays: readonly LayerArray[]
  /** Deleted arrays. An array of the same name among `arrays` begins in this layer. */
  readonly deleted: readonly Definition[]
  readonly dictionary: Dictionary
  readonly identity: Pick<Identity, 'id' | 'base' | 'merged'> & { readonly kind: FileKind }
}

export interface PublishOptions {
  readonly condition: PublishCondition
  /** Whether to add checksums and statistics of the chunks. */
  readonly extensionBlocks: boolean
  readonly limits: Required<Limits>
  /** Runs before the file gets its name, while its bytes are written to the disk. */
  readonly before?: (() => Promise<void>) | undefined
  /** Bytes of the footers of the other files of the container. */
  readonly besides?: number
}

/** Source of packed blocks and of the stage that contains them. */
export interface Packed {
  finish(): Promise<Omit<PackedBlocks, 'stage'> & { readonly stage: Pick<Stage, 'publish' | 'prepare'> }>
}

/**
 * Publishes a file of a container: the blocks of `packer`, then the footer.
 * @returns the layer as it is in the store now, without reading it back
 * @throws the errors of `before`, with nothing published; TooLargeError if readers would reject the container
 *   for the size of its footers; ConflictError if the condition does not hold. After an error the packer is
 *   as before
 */
export async function publishLayer(
  store: Store,
  key: string,
  contents: LayerContents,
  packer: Packed,
  { condition, extensionBlocks, limits, before, besides = 0 }: PublishOptions,
): Promise<Layer> {
  const { stage, blocks, ...packed } = await packer.finish()
  const { footer: plain, redefined } = createFooter(contents, blocks)
  const marks = [encodeIdentity({ ...contents.identity, redefined })]
  if (contents.arrays.some(hasShapes)) marks.push(RESIZED_CODEC)
  const built = buildFooter(
    plain,
    extensionBlocks ? { tables: createTables(contents.arrays, plain), ...packed } : undefined,
    marks,
  )
  checkFooterBytes(besides + built.footerBytes, limits, store.describe(contents.base))
  const { id } = contents.identity
  return publishBuilt({ store, key, number: contents.number }, built, stage, { id, condition, limits, before })
}

/** Name and number of a file that is published. */
interface Published {
  readonly store: Store
  readonly key: string
  readonly number: number
}

/**
 * Publishes the blocks in a stage, followed by the tail.
 * @param id identifies the file if the server's answer is lost; undefined if it has none
 */
export async function publishBuilt(
  { store, key, number }: Published,
  { footer, tail, footerBytes, crcs }: BuiltFooter,
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
    // Published, but perhaps not durable, so it is not acknowledged.
    if (isHyperslabError(error) && error.details.published !== undefined) throw error
    // Perhaps only the answer was lost, or the conflict is with our own request whose answer was lost.
    const there = id === undefined ? undefined : await openOwn(store, key, number, limits, id)
    if (there === undefined) throw error
    info = there.info
  }
  return new Layer(store, key, number, info, footer, { footerBytes, limits, crcs })
}

/** @throws TooLargeError if readers would reject the container for the size of its footers */
export function checkFooterBytes(bytes: number, { footerBytes: most }: Required<Limits>, file: string): void {
  if (bytes <= most) return
  const text = `the footers of its files would have ${bytes} bytes, more than \`limits.footerBytes\`, ${most}, with which readers would reject it; nothing was written, and changes are kept: compact the container, or raise the limit here and wherever it is read`
  throw new HyperslabError('TooLargeError', text, { file, actual: bytes, expected: most, limit: 'limits.footerBytes' })
}

/** Returns the file at `key` if it can be read and has the id that was sent. */
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
    // Any error here is less useful than the original one.
    return undefined
  }
}

/**
 * Publishes a file without arrays: a new container, or a layer that closes its base or is void.
 * @throws ConflictError if the condition does not hold
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
  // A layer that closes its base or is void does not change the contents, so it may be lost.
  const durable = place.number === 0
  try {
    return await publishLayer(store, key, contents, packer, { ...options, condition: { ...options.condition, durable } })
  } finally {
    await packer.discard()
  }
}

/** Whether an error means that the condition of a publication did not hold. */
export const isConflict = (error: unknown): boolean => isHyperslabError(error, 'ConflictError')

/** Whether the layers below have the array with another shape. */
const hasShapes = ({ state: { entries, definition } }: LayerArray): boolean =>
  entries.some(({ meta }) => !sameShape(meta.shape, definition.shape))

/**
 * Returns the statistics of the chunks of each array, by its index in the footer. Omits arrays with unknown
 * statistics.
 */
export function createTables(arrays: readonly LayerArray[], footer: Footer): Map<number, ChunkStatsTable> {
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
 * Builds the footer. Tombstones come first, then the arrays in their order. Programs that ignore `redefined`,
 * the indices of arrays that replace a deleted one, write the same order.
 */
function createFooter(
  { number, base, arrays, deleted, dictionary }: LayerContents,
  blocks: BlockMeta[],
): { footer: Footer; redefined: number[] } {
  const gone = new Set(deleted.map(({ name }) => name))
  const tombstones = deleted.map((definition) => toMeta(definition, true))
  const metas = arrays.map(({ state, chunks }) => ({
    ...toMeta(state.definition, false),
    chunks: chunkTable(
      state.grid.shape.length,
      [...chunks].map(([chunk, pending]) => toChunkRow(state, chunk, pending)),
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

export function toMeta({ name, dtype, shape, chunkShape, dimensionNames, fillValue }: Definition, deleted: boolean): ArrayMeta {
  return {
    name,
    dtype,
    shape: [...shape],
    dimensionNames: [...dimensionNames],
    // Older programs store 0 for axes of length 0. In other programs such axes could not grow.
    chunkShape: chunkShape.map((length) => Math.max(1, length)),
    chunks: chunkTable(shape.length),
    fillValue,
    deleted,
    attributes: { width: 16, keys: [], values: [] },
  }
}

export function toChunkRow({ grid }: ArrayState, number: number, { address }: PendingChunk): ChunkRow {
  const { block, offset, size } = address!
  return { coord: grid.index(number), blockId: block.id, offset, size }
}

/** Returns a state with one more layer, which replaces a dead layer of the same number. */
export function withLayer({ base, sidecars }: Stack, layer: Layer): Stack {
  const others = sidecars.filter(({ number }) => number !== layer.number)
  return new Stack([base, ...[...others, layer].sort((a, b) => a.number - b.number)])
}
