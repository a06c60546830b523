import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import type { PublishCondition } from '../../store/store.ts'
import type { ArrayStats } from '../format/array-stats.ts'
import { gridFor } from '../format/definition.ts'
import { chunkTable, encodeIdentity } from '../format/encode.ts'
import { encodeFooter6 } from '../format/encode-v6.ts'
import type { ArrayMeta, BlockMeta, Footer } from '../format/footer.ts'
import { TRAILER_BYTES } from '../format/footer-trailer.ts'
import { readFooter6 } from '../format/footer-v6.ts'
import { Dictionary } from '../layers/dictionary.ts'
import type { Layer } from '../layers/layer.ts'
import { listSidecars } from '../layers/listed.ts'
import { type BuiltFooter, buildFooter } from './build-footer.ts'
import { checkFooterBytes, createTables, type LayerArray, type Packed, publishBuilt, toChunkRow, toMeta } from './commit.ts'
import type { ContainerFiles } from './container-files.ts'

/** Blocks of footer version 6 are never empty. */
const MARK_BYTES = 1

/**
 * Checks that no files of a container with layers exist beside a file of footer version 6. It has no layers,
 * and other readers would treat them as its layers.
 * @throws AlreadyExistsError
 */
export async function checkAlone({ store, paths }: Pick<ContainerFiles, 'store' | 'paths'>): Promise<void> {
  const beside = (await listSidecars(store, paths)).map((number) => paths.sidecar(number))
  if ((await store.stat(paths.stats)) !== undefined) beside.push(paths.stats)
  if (beside.length === 0) return
  const text = `files of a container with layers lie beside it (${beside.join(', ')}), and a file of footer version 6 has none: remove them, or choose another name`
  throw new HyperslabError('AlreadyExistsError', text, { actual: beside })
}

/** The contents of a file of footer version 6. */
export interface ImmutableContents {
  readonly arrays: readonly LayerArray[]
  /** Statistics of each array; null if they are unknown. */
  readonly stats: readonly (ArrayStats | null)[]
  /** Identity of the file, by which readers recognise it. */
  readonly id: string
}

/**
 * Publishes a file of footer version 6: the blocks of `packer`, then the extension blocks of this package
 * in blocks that no array refers to, then the footer.
 * @throws as {@link publishLayer}; UnsupportedError for arrays that the version cannot hold
 */
export async function publishImmutable(
  { store, paths, options }: ContainerFiles,
  { arrays: given, stats, id }: ImmutableContents,
  packer: Packed,
  condition: PublishCondition,
): Promise<Layer> {
  const { limits, extensionBlocks } = options
  const { stage, blocks, ...packed } = await packer.finish()
  // Chunk tables are sorted by coordinates, which is the order of chunk numbers.
  const arrays = given.map(({ state, chunks }) => ({ state, chunks: new Map([...chunks].sort(([a], [b]) => a - b)) }))
  const footer = createImmutableFooter(arrays, stats, blocks)
  const built = buildFooter(
    footer,
    extensionBlocks ? { tables: createTables(arrays, footer), ...packed } : undefined,
    extensionBlocks ? [encodeIdentity({ id, kind: 'base' })] : [],
    { encode: encodeFooter6, markBytes: MARK_BYTES },
  )
  checkFooterBytes(built.footerBytes, limits, store.describe(paths.base))
  checkBuilt(built, limits.typeDepth)
  const place = { store, key: paths.base, number: 0 }
  return publishBuilt(place, built, stage, { id: extensionBlocks ? id : undefined, condition, limits })
}

/**
 * Reads the footer as every reader will.
 * @throws UnsupportedError if readers would reject it
 */
function checkBuilt({ tail, footerBytes, footer: { blocks } }: BuiltFooter, typeDepth: number): void {
  const last = blocks.at(-1)
  const end = tail.length - TRAILER_BYTES
  try {
    readFooter6(tail.subarray(end - footerBytes, end), last === undefined ? 0 : last.fileOffset + last.compressedBytes, typeDepth)
  } catch (error) {
    if (!isHyperslabError(error, 'FormatError')) throw error
    const text = `footer version 6 cannot hold this: ${error.message}; nothing was written`
    throw new HyperslabError('UnsupportedError', text, { ...error.details, cause: error })
  }
}

function createImmutableFooter(
  arrays: readonly LayerArray[],
  stats: readonly (ArrayStats | null)[],
  blocks: BlockMeta[],
): Footer {
  const dictionary = new Dictionary()
  const metas = arrays.map(({ state, chunks }, i): ArrayMeta => {
    const { definition, grid, attributes } = state
    const { shape, dimensionNames } = definition
    const rows = [...chunks].map(([number, chunk]) => toChunkRow(state, number, chunk))
    return {
      ...toMeta(definition, false),
      // Chunk lengths of 0, which other programs left on empty axes, are 1 in this version.
      chunkShape: [...gridFor(definition).chunkShape],
      // In this version every axis has a name. Arrays of other programs may lack them.
      dimensionNames: dimensionNames.length === shape.length ? [...dimensionNames] : shape.map((_, axis) => `dim${axis}`),
      chunks: chunkTable(grid.shape.length, rows),
      attributes: dictionary.add(attributes),
      stats: stats[i]!,
    }
  })
  const { keys, values } = dictionary
  return { version: 6, blocks, arrays: metas, attributeKeys: keys, attributeValues: values, overlayIndex: 0, baseFileHint: '' }
}
