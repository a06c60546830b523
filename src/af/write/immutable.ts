import type { Progress } from '../../array/transfers.ts'
import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { PublishCondition } from '../../store/store.ts'
import type { ArrayStats } from '../format/array-stats.ts'
import { gridFor } from '../format/definition.ts'
import { chunkTable, encodeIdentity, randomId } from '../format/encode.ts'
import { encodeFooter6 } from '../format/encode-v6.ts'
import type { ArrayMeta, BlockMeta, Footer } from '../format/footer.ts'
import { TRAILER_BYTES } from '../format/footer-trailer.ts'
import { readFooter6 } from '../format/footer-v6.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { Dictionary } from '../layers/dictionary.ts'
import type { Layer } from '../layers/layer.ts'
import { listSidecars } from '../layers/listed.ts'
import {
  checkFooterBytes,
  chunkRowOf,
  type LayerArray,
  metaOf,
  type Packed,
  publishLayer,
  publishSealed,
  tablesOf,
} from './commit.ts'
import { compactInto } from './compact.ts'
import { type ContainerFiles, conditionsOf, newPacker } from './container-files.ts'
import { orAlreadyThere, type Replaced, replacedMeanwhile } from './create.ts'
import { footerStats } from './footer-stats.ts'
import { type Sealed, seal } from './seal.ts'

/** Blocks of footer version 6 are never empty. */
const MARK_BYTES = 1

/** Arrays of a container, and the reader of their blocks. */
export interface StoredArrays {
  readonly states: readonly ArrayState[]
  readonly blocks: BlockReader
}

/** Options for copying arrays as they are stored. */
export interface StoredCopyOptions {
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

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

/**
 * Copies arrays as they are stored into a file of footer version 6, with one block in memory at a time.
 * Readers see the whole file or the one before it.
 * @param replaced the file that may be replaced; undefined if none may exist
 * @throws AlreadyExistsError if a file exists that must not be replaced, or files of a container with layers
 *   lie beside it; ConflictError if its version is not that of `replaced`; UnsupportedError for arrays that
 *   the version cannot hold
 */
export async function copyImmutable(
  files: ContainerFiles,
  { states, blocks }: StoredArrays,
  replaced: Replaced | undefined,
  { onProgress }: StoredCopyOptions,
): Promise<Layer> {
  const packer = newPacker(files)
  try {
    const arrays = await compactInto(packer, states, blocks, { recode: files.options.recode, onProgress })
    const stats: (ArrayStats | null)[] = []
    for (const { state, chunks } of arrays) stats.push(await footerStats(state, [...chunks.keys()], blocks))
    await checkAlone(files)
    return await replacing(files, replaced, (condition) =>
      publishImmutable(files, { arrays, stats, id: randomId() }, packer, condition),
    )
  } finally {
    await packer.discard()
  }
}

/** Publishes on condition that the store still has the file to be replaced. */
async function replacing(
  files: ContainerFiles,
  replaced: Replaced | undefined,
  publish: (condition: PublishCondition) => Promise<Layer>,
): Promise<Layer> {
  const { store, paths } = files
  if (replaced === undefined) return orAlreadyThere(() => publish({ ifAbsent: true }))
  const { etag } = replaced
  if ((await store.stat(paths.base))?.etag !== etag) throw replacedMeanwhile(store.describe(paths.base))
  if (etag === undefined) return publish({ ifAbsent: true })
  const { replace } = await conditionsOf(files)
  return publish(replace ? { ifAbsent: false, ifMatch: etag } : { ifAbsent: false })
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
 * Publishes a file of footer version 6: the blocks of `packer`, then the extras of this package in blocks
 * that no array refers to, then the footer.
 * @throws as {@link publishLayer}; UnsupportedError for arrays that the version cannot hold
 */
export async function publishImmutable(
  { store, paths, options }: ContainerFiles,
  { arrays: given, stats, id }: ImmutableContents,
  packer: Packed,
  condition: PublishCondition,
): Promise<Layer> {
  const { limits, extras } = options
  const { stage, blocks, ...packed } = await packer.finish()
  // Chunk tables are sorted by coordinates, which is the order of chunk numbers.
  const arrays = given.map(({ state, chunks }) => ({ state, chunks: new Map([...chunks].sort(([a], [b]) => a - b)) }))
  const footer = footerOf(arrays, stats, blocks)
  const sealed = seal(
    footer,
    extras ? { tables: tablesOf(arrays, footer), ...packed } : undefined,
    extras ? [encodeIdentity({ id, kind: 'base' })] : [],
    { encode: encodeFooter6, markBytes: MARK_BYTES },
  )
  checkFooterBytes(sealed.footerBytes, limits, store.describe(paths.base))
  checkSealed(sealed, limits.typeDepth)
  const place = { store, key: paths.base, number: 0 }
  return publishSealed(place, sealed, stage, { id: extras ? id : undefined, condition, limits })
}

/**
 * Reads the footer as every reader will.
 * @throws UnsupportedError if readers would reject it
 */
function checkSealed({ tail, footerBytes, footer: { blocks } }: Sealed, typeDepth: number): void {
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

function footerOf(arrays: readonly LayerArray[], stats: readonly (ArrayStats | null)[], blocks: BlockMeta[]): Footer {
  const dictionary = new Dictionary()
  const metas = arrays.map(({ state, chunks }, i): ArrayMeta => {
    const { definition, grid, attributes } = state
    const { shape, dimensionNames } = definition
    const rows = [...chunks].map(([number, chunk]) => chunkRowOf(state, number, chunk))
    return {
      ...metaOf(definition, false),
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

/**
 * Copies arrays as they are stored into a new container that takes layers.
 * @throws ConflictError if one exists already
 */
export async function copyLayered(
  files: ContainerFiles,
  { states, blocks }: StoredArrays,
  { onProgress }: StoredCopyOptions,
): Promise<Layer> {
  const { store, paths, options } = files
  const packer = newPacker(files)
  try {
    const arrays = await compactInto(packer, states, blocks, { recode: options.recode, onProgress })
    const identity = { id: randomId(), kind: 'base' } as const
    const contents = { number: 0, base: paths.base, arrays, deleted: [], dictionary: new Dictionary(), identity }
    return await publishLayer(store, paths.base, contents, packer, { ...options, condition: { ifAbsent: true } })
  } finally {
    await packer.discard()
  }
}
