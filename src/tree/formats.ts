import { TIFF_WINDOWS } from '../adapters/geotiff/windows.ts'
import { HDF5_WINDOWS } from '../adapters/hdf5/windows.ts'
import { METADATA, METADATA_PATH } from '../adapters/zarr/metadata-names.ts'
import type { VerifyNodeOptions, ZarrVerification } from '../adapters/zarr/verify.ts'
import type { LayerInfo } from '../af/file.ts'
import type { Verification } from '../af/verify/verify.ts'
import type { OpenedNodes } from '../array/nodes.ts'
import type { ScalarOptions } from '../array/source.ts'
import type { Codec } from '../codec/codec.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { counted } from '../core/inspect.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import type { BlockCache } from '../engine/block-cache.ts'
import type { WorkerPool } from '../pool/task.ts'
import { type ObjectStart, type ObjectTail, readStart, type Store, type StoredAt } from '../store/store.ts'
import type { AttributeEditor, AttributeTypes, EditAttributesOptions } from './attribute-editor.ts'
import type { ExternalOptions } from './external-files.ts'
import type { ReferenceOptions } from './reference-store.ts'
import { begins, HEAD_BYTES, headIn, ofFile } from './signature.ts'

/** Options of opening a tree that belong to the place. Formats pass them on. */
export interface OpenFormatOptions extends Omit<ReferenceOptions, 'limits'>, ScalarOptions, ExternalOptions {
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool | undefined
  /** Limit of the memory that reads take at once, shared by all that have this budget. */
  readonly budget?: MemoryBudget | undefined
  /** Cache of fetched and decoded blocks, shared with other files. NetCDF files have no blocks to keep. */
  readonly cache?: BlockCache | undefined
  /** Paths of arrays and groups, for Zarr stores that cannot be listed and have no consolidated metadata. */
  readonly names?: readonly string[] | undefined
  /**
   * Codecs of your own, which take precedence. Their names are those of codecs of Zarr, of filters or their
   * numbers in HDF5, and of compressions in TIFF.
   */
  readonly codecs?: readonly Codec[] | undefined
  /** Layer of a container whose state is opened. Default: the newest. */
  readonly layer?: number | undefined
}

/** Options that only some formats take. */
export type FormatOption = 'layer' | 'deep' | 'names' | 'group' | 'external' | 'codecs'

/** Options of writing that only some formats take. */
export type WriteOption =
  | 'codec'
  | 'level'
  | 'chunks'
  | 'codecs'
  | 'blockBytes'
  | 'immutable'
  | 'shards'
  | 'levels'
  | 'maxBytes'
  | 'resume'
  | 'kind'
  | 'unlimited'

/** Description of how arrays are written in a format. */
export interface FormatWriting {
  /** Whether it becomes one file, which is published as a whole. Otherwise it becomes a folder of objects. */
  readonly isFile: boolean
  /** Ends of names that it is written under. Default: those that are believed for reading. */
  readonly endings?: RegExp
  /** Whether the workers of a queue write it together. */
  readonly isShared: boolean
  /** Whether it can hold groups, or one array alone. */
  readonly hasGroups: boolean
  /** Names of its codecs. Optional: others check the codec of an array when they encode it. */
  readonly codecs?: readonly string[]
  /** Options of writing that it takes, and not all formats. */
  readonly options: readonly WriteOption[]
}

/** A format: how it is recognised, and how it is opened. */
export interface Format {
  /** Name of the format, as `Tree.format` has it. */
  readonly name: string
  /** The format with its article, in messages. */
  readonly noun: string
  /** Plural of the format, in messages about options. */
  readonly plural: string
  /** Ends of names that are believed where reading the first bytes costs a request. */
  readonly endings?: RegExp
  /** Other ends of names, which tell nothing. */
  readonly usualEndings?: RegExp
  /** First bytes of its files, as characters. */
  readonly starts?: readonly string[] | RegExp
  /** Numbers of first and last bytes that opening needs, in files elsewhere. */
  readonly windows?: { readonly start: number; readonly tail: number }
  /** Whether a block of the user may precede the first bytes: 512 bytes, 1024, 2048 and so on. */
  readonly hasUserBlock?: boolean
  /** Whether files beside it belong to it, such as `x.1.af` to `x.af`. */
  readonly hasSidecars?: boolean
  /** The whole name of the format, in messages about formats that are only read. */
  readonly title?: string
  /** Whether only names tell the format, because its files may begin with any bytes, or be damaged. */
  readonly isNamed?: boolean
  /** Continues the sentence that no Zarr store was found, for holders of one: where, and what to do. */
  readonly advice?: string
  /** Whether it is stored as a folder. All places that nothing else is known of are opened as this format. */
  readonly isFolder?: boolean
  /** Whether it is one file with the objects of a folder, which can be unpacked. */
  readonly isArchive?: boolean
  /** Whether its file only names places, where the data are. */
  readonly isReference?: boolean
  /**
   * Whether a file is of this format. Optional: for formats whose first bytes, or the lack of them, say too
   * little to replace a file by another one.
   * @param end last bytes of the file
   * @throws ConflictError for a file that is being replaced
   */
  isContent?(end: ObjectTail, place: StoredAt, signal: Signal | undefined): Promise<boolean>
  /**
   * Whether a key is that of a file beside the one at `root` that belongs to it. Optional: most formats have
   * one file.
   */
  isBeside?(root: string, key: string): Promise<boolean>
  /** Options that it takes. */
  readonly options: readonly FormatOption[]
  /** Keyword arguments by which `xarray.open_dataset` opens it. Optional: xarray does not open others. */
  readonly xarray?: string
  /** Description of how it is written. Optional: most formats are only read. */
  readonly writing?: FormatWriting
  /** Returns the place of the Zarr store that it is or holds. Only formats of Zarr have it. */
  zarrIn?(place: StoredAt, options: ReferenceOptions): Promise<StoredAt>
  /**
   * Opens it. Code that only this format needs is imported here.
   * @param start first bytes of the file, if they are known
   */
  open(place: StoredAt, options: OpenFormatOptions, start?: ObjectStart): Promise<OpenedNodes<LayerInfo>>
  /** Types of attributes that can be changed. Optional: formats that are only read omit it. */
  readonly attributeTypes?: AttributeTypes
  /** Opens attributes for changes. Formats with `attributeTypes` have it. */
  editAttributes?(place: StoredAt, options: EditAttributesOptions): Promise<AttributeEditor>
  /** Check for damage. Optional: formats without checksums omit it. */
  readonly verification?: FormatVerification
}

/** Check of places of one format for damage. */
export interface FormatVerification {
  /** Unit of the progress. */
  readonly unit: 'blocks' | 'chunks'
  /** Checks a place, which need not open. */
  verify(place: StoredAt, options: VerifyFormatOptions): Promise<Verification | ZarrVerification>
}

/** Options of checking a place for damage. */
export interface VerifyFormatOptions extends ReferenceOptions, VerifyNodeOptions, Pick<OpenFormatOptions, 'layer' | 'names'> {
  /** Whether to compare the statistics of a container with its elements. */
  readonly deep?: boolean
}

/**
 * Zarr in one of its holders.
 * @param holder words for how the store is held, and what returns its place
 */
const zarrFormat = (
  format: Omit<Format, 'open' | 'plural' | 'noun' | 'options' | 'attributeTypes'> & Required<Pick<Format, 'zarrIn'>>,
  holder = '',
): Format => ({
  noun: 'a Zarr store',
  plural: 'Zarr stores',
  options: ['names', 'group', 'codecs'],
  attributeTypes: { names: ['string', 'json', 'float64', 'int64'], plural: 'Zarr', words: 'text, float64, int64 or json' },
  editAttributes: async (place, options) => {
    const [{ editZarr }, inside] = await Promise.all([import('./edit-attributes.ts'), format.zarrIn(place, {})])
    return editZarr(inside, options)
  },
  open: async (place, options) => {
    const [{ openZarrNodes }, inside] = await Promise.all([import('../adapters/zarr/nodes.ts'), format.zarrIn(place, options)])
    const { pool, budget, cache, scalar, names, codecs, signal } = options
    const nodes = openZarrNodes(inside, { pool, budget, cache, scalar, names, codecs, signal }, holder)
    const { advice } = format
    const opened = await (advice === undefined ? nodes : nodes.catch((error) => advise(error, advice)))
    if (inside.store === place.store) return opened
    // The version of an archive, and of references, is that of their file.
    const warnings = (await inside.store.warnings?.(inside.path, { signal })) ?? []
    return { ...opened, warnings, versionKeys: () => [place.path] }
  },
  verification: {
    unit: 'chunks',
    verify: async (place, { names, signal, onProgress, ...options }) => {
      const [{ verifyNode }, { openNode }] = await Promise.all([
        import('../adapters/zarr/verify.ts'),
        import('../adapters/zarr/open.ts'),
      ])
      const { store, path } = await format.zarrIn(place, { ...options, signal })
      const label = store.describe(path)
      return verifyNode(label, (apart) => openNode(store, path, { names, ...apart, signal }), { signal, onProgress })
    },
  },
  ...format,
})

/** Adds what to do with a holder in which there is no Zarr store. */
function advise(error: unknown, advice: string): never {
  if (!isHyperslabError(error, 'NotFoundError')) throw error
  throw new HyperslabError(error.tag, `${error.text} ${advice}`, { ...error.details, cause: error })
}

const NUMBERS = ['float64', 'float32', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64']

/** All formats. A new format is a row here, and a room in `adapters/` that opens it. */
export const FORMATS: Format[] = [
  {
    name: 'container',
    noun: 'a container',
    plural: 'containers',
    writing: {
      isFile: true,
      hasGroups: false,
      codecs: ['lz4', 'zstd', 'none'],
      isShared: true,
      options: ['codec', 'level', 'chunks', 'codecs', 'blockBytes', 'immutable'],
    },
    endings: /\.af$/,
    isNamed: true,
    hasSidecars: true,
    isContent: async ({ bytes, size, etag }) => {
      const [{ isContainerEnd }, { refuseClaim }] = await Promise.all([
        import('../af/write/occupied.ts'),
        import('../af/format/trailer-faults.ts'),
      ])
      refuseClaim(bytes)
      return isContainerEnd({ bytes, size, etag })
    },
    isBeside: async (root, key) => new (await import('../af/layers/paths.ts')).Paths(root).isBeside(key),
    options: ['layer', 'deep'],
    attributeTypes: { names: ['string', ...NUMBERS], plural: 'containers', words: 'texts and numbers' },
    editAttributes: async (place, options) => (await import('./edit-attributes.ts')).editContainer(place, options),
    open: async (place, { pool, budget, cache, scalar, layer, signal }) => {
      const { openContainerNodes } = await import('../af/nodes.ts')
      const own = {
        ...(pool && { pool }),
        ...(budget && { budget }),
        ...(cache && { cache }),
        ...(layer !== undefined && { layer }),
      }
      return openContainerNodes(place, { ...own, scalar, signal })
    },
    verification: {
      unit: 'blocks',
      verify: async ({ store, path }, { deep = false, layer, signal, onProgress }) => {
        const { verifyPath } = await import('../af/verify/verify.ts')
        const own = { ...(layer !== undefined && { layer }), ...(onProgress && { onProgress }) }
        return verifyPath(store, path, { deep, signal, ...own })
      },
    },
  },
  {
    name: 'netcdf',
    noun: 'a NetCDF file',
    plural: 'NetCDF files',
    xarray: '',
    title: 'a classic NetCDF file',
    usualEndings: /\.(nc|nc3|cdf)$/i,
    writing: {
      isFile: true,
      endings: /\.nc$/i,
      isShared: false,
      hasGroups: false,
      options: ['maxBytes', 'kind', 'unlimited'],
    },
    starts: ['CDF\x01', 'CDF\x02', 'CDF\x05'],
    options: [],
    open: async (place, { pool, budget, scalar, signal }, start) =>
      (await import('../adapters/netcdf/nodes.ts')).openNetcdfNodes(place, { pool, budget, scalar, signal, start }),
  },
  {
    name: 'hdf5',
    noun: 'an HDF5 file',
    plural: 'HDF5 files',
    xarray: 'engine="h5netcdf"',
    title: 'an HDF5 file',
    usualEndings: /\.(nc4?|h5|hdf5|he5|mat)$/i,
    starts: ['\x89HDF\r\n\x1a\n'],
    hasUserBlock: true,
    windows: HDF5_WINDOWS,
    options: ['group', 'external', 'codecs'],
    open: async (place, options, start) => {
      const { pool, budget, cache, scalar, codecs, signal } = options
      const { openHdf5Nodes } = await import('../adapters/hdf5/nodes.ts')
      const external = options.external
        ? await (await import('./external-files.ts')).resolveExternal(place, options, options)
        : undefined
      return openHdf5Nodes(place, { pool, budget, cache, scalar, codecs, signal, external }, start)
    },
  },
  {
    name: 'geotiff',
    noun: 'a TIFF file',
    plural: 'TIFF files',
    xarray: 'engine="rasterio"',
    title: 'a TIFF file',
    usualEndings: /\.(tiff?|gtiff|tf8|btf)$/i,
    starts: ['II*\0', 'MM\0*', 'II+\0', 'MM\0+'],
    windows: TIFF_WINDOWS,
    options: ['group', 'codecs'],
    open: async (place, { pool, budget, cache, scalar, codecs, signal }, start) =>
      (await import('../adapters/geotiff/nodes.ts')).openGeotiffNodes(
        place,
        { pool, budget, cache, scalar, codecs, signal },
        start,
      ),
  },
  zarrFormat({
    name: 'zarr',
    xarray: 'engine="zarr"',
    writing: {
      isFile: false,
      isShared: true,
      hasGroups: true,
      options: ['codec', 'level', 'chunks', 'shards', 'levels', 'maxBytes', 'resume'],
    },
    endings: /\.zarr$/i,
    isFolder: true,
    zarrIn: async ({ store, path }) => ({ store, path: path.replace(METADATA_PATH, '') }),
  }),
  zarrFormat(
    {
      name: 'zip',
      endings: /\.(zip|ozx)$/i,
      isArchive: true,
      advice: 'in this zip archive; unpack it, and open its files',
      starts: ['PK\x03\x04', 'PK\x05\x06'],
      zarrIn: async (place, { signal }) => (await import('./zip-root.ts')).zarrInArchive(place, signal),
    },
    ' in a zip archive',
  ),
  zarrFormat(
    {
      name: 'references',
      endings: /\.json$/i,
      isReference: true,
      advice: 'in this JSON file; references of kerchunk have the metadata of one',
      starts: /^\s*\{\s*("|$)/,
      isContent: async (_, place, signal) => (await import('./reference-content.ts')).isReferences(place, signal),
      zarrIn: async ({ store, path }, options) => {
        const { storeOfReferences } = await import('./reference-store.ts')
        return { store: await storeOfReferences(store, path, options), path: '' }
      },
    },
    ' by references',
  ),
]

/** Text begins like anything: its names tell it. */
const TABLE = /\.(csv|tsv|txt)$/i

/** Bytes of most headers. */
const START_BYTES = 64 * 1024
/** Format of a place, and the first bytes of its file if they were read whole. */
export interface Recognised {
  readonly format: Format
  readonly start?: ObjectStart | undefined
  /** Failure of reading the first bytes, other than that there is no file. */
  readonly failure?: HyperslabError | undefined
}

/**
 * Recognises the format of a place: a file by its first bytes, a folder by its content. Names alone tell
 * formats with `isNamed` and, where reading costs a request, all that have endings. A place without a known
 * signature is a container if a user has picked the file. Otherwise it is a Zarr store, because servers show
 * folders as pages.
 *
 * Reads as many bytes as most headers have, so that opening need not read them again: of local files, and of
 * files whose names are usual for a format with windows.
 * @throws UnsupportedError for formats that are known and not read, with advice
 */
export async function recognise({ store, path }: StoredAt, signal?: Signal): Promise<Recognised> {
  // The root of a store is a folder, of which some stores refuse to read bytes.
  const isRoot = path === '' && store.seesOneFile !== true
  if (isRoot || path.endsWith('/') || METADATA_PATH.test(path)) return { format: FOLDER }
  // The key of a picked file is not its name.
  const isPicked = store.seesOneFile ?? false
  const name = isPicked ? store.describe(path) : path
  if (TABLE.test(name)) {
    const text = 'this is a text table, which cannot be read here; read it into arrays, and pass them to new Dataset'
    throw new HyperslabError('UnsupportedError', text, { file: store.describe(path) })
  }
  const named = formatOfName(name)
  if (named !== undefined && store.files?.localPath === undefined && !isPicked) return { format: named }
  const isHere = store.files?.localPath !== undefined && !named?.isNamed
  const usual = FORMATS.filter(({ usualEndings }) => usualEndings?.test(name))
  const windows = usual.find((format) => format.windows !== undefined)?.windows
  // Other formats with such names need no last bytes.
  const tailBytes = usual.length === 1 ? windows?.tail : undefined
  const length = windows?.start ?? (isHere ? START_BYTES : undefined)
  let failure: HyperslabError | undefined
  const keep = (error: HyperslabError): void => {
    // A folder on this machine has no bytes. Other failures do not mean that there is no file.
    if (!isHere && error.tag === 'StoreError') failure = error
  }
  const start = length === undefined ? undefined : await ofFile(readStart(store, path, length, { tailBytes, signal }), keep)
  const head = length === undefined ? await readHead(store, path, signal, keep) : start && headIn(start.bytes)
  if (head !== undefined) {
    const known = named?.isNamed ? named : (formatOfStart(head) ?? (await findDeep({ store, path }, name, { start, signal })))
    if (known === undefined || known.isArchive) {
      const { refuseUnread } = await import('./refused-formats.ts')
      // Servers show folders as pages, but no files of these names.
      const isFile = isHere || isPicked || FORMATS.some(({ usualEndings }) => usualEndings?.test(name))
      refuseUnread(head, start?.bytes, { isFile, file: store.describe(path) })
    }
    // Bytes in front of an archive, such as a program that unpacks it, tell nothing.
    const archive = named?.isArchive ? named : undefined
    return { format: known ?? archive ?? (isPicked ? FORMATS.find(({ isNamed }) => isNamed)! : FOLDER), start }
  }
  if (!named?.isNamed) return { format: FOLDER, failure }
  return { format: (await isZarrFolder({ store, path }, signal)) ? FOLDER : named }
}

/** Returns the format of a file that begins with a block of the user. */
async function findDeep(place: StoredAt, name: string, known: { start: ObjectStart | undefined; signal: Signal | undefined }) {
  const { findBehindUserBlock } = await import('./user-block.ts')
  return findBehindUserBlock(
    FORMATS.filter(({ hasUserBlock }) => hasUserBlock),
    place,
    name,
    known,
  )
}

/** Format of folders. */
export const FOLDER: Format = FORMATS.find(({ isFolder }) => isFolder)!

/** Whether a place, whatever its name, is a folder with metadata of Zarr. */
export async function isZarrFolder({ store, path }: StoredAt, signal?: Signal): Promise<boolean> {
  const prefix = path === '' || path.endsWith('/') ? path : `${path}/`
  const inside = await Promise.all(METADATA.map((each) => readHead(store, prefix + each, signal)))
  // Servers may show the same page for every name.
  return inside.some((each) => each !== undefined && /^\s*\{/.test(each))
}

/** Returns the format of this name. */
export const formatNamed = (name: string): Format | undefined => FORMATS.find((format) => format.name === name)

/** Returns the format whose names end like this one. */
export const formatOfName = (name: string): Format | undefined => FORMATS.find(({ endings }) => endings?.test(name))

/** Returns words for a place of none of the known formats, as `neither … nor …`. */
const neitherOfFormats = (): string => `neither ${[...new Set(FORMATS.map(({ noun }) => noun))].join(', nor ')}`

/** Removes the end of a name that tells its format. */
export function withoutEnding(name: string, formats: readonly Format[] = FORMATS): string {
  const all = formats.flatMap(({ endings, usualEndings }) => [endings, usualEndings])
  const ending = all.find((each) => each?.test(name))
  return ending === undefined ? name : name.replace(ending, '')
}

/** The first bytes, as characters; undefined where that is no object of so many. */
async function readHead(
  store: Store,
  path: string,
  signal: Signal | undefined,
  onFailure?: (error: HyperslabError) => void,
): Promise<string | undefined> {
  const bytes = await ofFile(store.getRange(path, 0, HEAD_BYTES, { signal }), onFailure)
  return bytes && headIn(bytes)
}

const formatOfStart = (head: string): Format | undefined => FORMATS.find(({ starts }) => begins(head, starts))

/** Returns the error for a place without a readable format. Its tag shows whether there is a file. */
export async function unknownPlace({ store, path }: StoredAt, cause: unknown): Promise<HyperslabError> {
  // A failed look-up counts as missing.
  const info = await store.stat(path).catch(() => undefined)
  const [file, kinds] = [store.describe(path), neitherOfFormats()]
  return info === undefined
    ? new HyperslabError('NotFoundError', `there is ${kinds}`, { file, cause })
    : new HyperslabError('FormatError', `this file of ${counted(info.size, 'byte')} is ${kinds}`, { file, cause })
}
