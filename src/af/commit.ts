import { sameShape } from '../core/shape.js'
import type { Store } from '../store/store.js'
import type { ArrayState } from './array-state.js'
import { type ChunkStatsTable, chunkStatsTable } from './chunk-stats-table.js'
import type { Definition } from './definition.js'
import type { Dictionary } from './dictionary.js'
import type { ArrayMeta, BlockMeta, Footer } from './footer.js'
import { type ChunkRow, chunkTable } from './footer-chunks.js'
import { Layer } from './layer.js'
import type { BlockPacker, PendingChunk } from './packer.js'
import { seal } from './seal.js'

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
  readonly deleted: readonly Definition[]
  readonly dictionary: Dictionary
}

/**
 * Publishes a layer: the blocks that `packer` holds, then the footer.
 * @param options `extras` adds checksums and statistics of the chunks
 * @returns the layer as it is now in the store, known without reading it back
 * @throws ConflictError when the key must not exist and does; the packer then is as before
 */
export async function publishLayer(
  store: Store,
  key: string,
  contents: LayerContents,
  packer: BlockPacker,
  options: { readonly ifAbsent: boolean; readonly extras: boolean },
): Promise<Layer> {
  const { stage, blocks, ...packed } = await packer.finish()
  const plain = footerOf(contents, blocks)
  const extras = options.extras ? { tables: tablesOf(contents, plain), ...packed } : undefined
  const { footer, tail, crcs } = seal(plain, extras, contents.arrays.some(hasShapes))
  const info = await stage.publish(key, tail, options)
  return new Layer(store, key, contents.number, info, footer, crcs)
}

/** Whether the layers below have the array in another shape. */
const hasShapes = ({ state: { entries, definition } }: LayerArray): boolean =>
  entries.some(({ meta }) => !sameShape(meta.shape, definition.shape))

/** Statistics of the chunks of each array for which those of all are known. */
function tablesOf({ arrays, deleted }: LayerContents, footer: Footer): Map<number, ChunkStatsTable> {
  const tables = new Map<number, ChunkStatsTable>()
  for (const [i, { state, chunks }] of arrays.entries()) {
    // The footer lists the deleted arrays first. Looking for names would take time quadratic in the arrays.
    const index = deleted.length + i
    const rows = [...chunks.keys()].map((number) => state.chunkStats.get(number))
    const table = rows.length === 0 ? undefined : chunkStatsTable(footer.arrays[index]!, rows)
    if (table !== undefined) tables.set(index, table)
  }
  return tables
}

function footerOf({ number, base, arrays, deleted, dictionary }: LayerContents, blocks: BlockMeta[]): Footer {
  const metas = [
    ...deleted.map((definition) => metaOf(definition, true)),
    ...arrays.map(({ state, chunks }) => ({
      ...metaOf(state.definition, false),
      chunks: chunkTable(
        state.grid.shape.length,
        [...chunks].map(([chunk, pending]) => rowOf(state, chunk, pending)),
      ),
      attributes: dictionary.add(state.attributes),
    })),
  ]
  return {
    version: 5,
    blocks,
    arrays: metas,
    attributeKeys: dictionary.keys,
    attributeValues: dictionary.values,
    overlayIndex: number,
    baseFileHint: number === 0 ? '' : base,
  }
}

function metaOf({ name, dtype, shape, chunkShape, dimensionNames, fillValue }: Definition, deleted: boolean): ArrayMeta {
  return {
    name,
    dtype,
    shape: [...shape],
    dimensionNames: [...dimensionNames],
    chunkShape: [...chunkShape],
    chunks: chunkTable(shape.length),
    fillValue,
    deleted,
    attributes: { width: 16, keys: [], values: [] },
  }
}

function rowOf({ grid }: ArrayState, number: number, { address }: PendingChunk): ChunkRow {
  const { block, offset, size } = address!
  return { coord: grid.index(number), blockId: block.id, offset, size }
}
