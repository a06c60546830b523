import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { counted } from '../core/inspect.ts'
import type { Signal } from '../core/signal.ts'
import type { Store, Tail } from '../store/store.ts'
import type { ReferenceOptions } from './reference-store.ts'

/**
 * Format at a location: a container; a Zarr store, directly, in an archive or by references; a classic NetCDF
 * file.
 */
export type PlaceFormat = 'container' | 'zarr' | 'zip' | 'references' | 'netcdf'

/** An object of a store, or a folder. */
export interface StoredAt {
  readonly store: Store
  readonly path: string
}

/** Names of metadata objects of a Zarr store. A path to one of them means its folder. */
export const METADATA = ['zarr.json', '.zgroup', '.zarray', '.zmetadata', '.zattrs']
export const METADATA_PATH = /(^|\/)(zarr\.json|\.z(array|group|metadata|attrs))$/

/** Formats by name, for stores in which reading the file costs a request. */
const NAMES: readonly (readonly [RegExp, PlaceFormat])[] = [
  [/\.af$/, 'container'],
  [/\.zarr$/i, 'zarr'],
  [/\.(zip|ozx)$/i, 'zip'],
  [/\.json$/i, 'references'],
]

/** Names of text tables, which have no recognisable first bytes. */
const TABLE = /\.(csv|tsv|txt)$/i

/** Number of bytes that identify a format. */
const HEAD_BYTES = 8
/** Number of bytes that contain most headers. */
const START_BYTES = 64 * 1024
const STARTS: readonly (readonly [readonly string[], PlaceFormat])[] = [
  [['PK\x03\x04', 'PK\x05\x06'], 'zip'],
  [['CDF\x01', 'CDF\x02'], 'netcdf'],
]
const REFERENCES = /^\s*\{\s*("|$)/

/** First bytes of known formats that cannot be read, with the name of the format and advice. */
const REFUSED: readonly (readonly [readonly string[], string, string])[] = [
  [['CDF\x05'], 'NetCDF of 64-bit data (CDF-5)', 'convert it: nccopy -k classic'],
  [['\x89HDF'], 'HDF5, as NetCDF-4 is', 'convert it: nccopy -k classic, or to Zarr with xarray'],
  [['GRIB'], 'GRIB', 'convert it to Zarr with cfgrib and xarray'],
  [['II*\0', 'MM\0*', 'II+\0', 'MM\0+'], 'TIFF', 'convert it to Zarr with rioxarray'],
  [['\x93NUMPY'], 'NumPy', 'convert it with zarr.save'],
  [['\x1f\x8b'], 'compressed by gzip', 'decompress it: gunzip'],
  [['PAR1'], 'Parquet', 'it holds tables; read it with a reader of these'],
]

/**
 * Finds the format at a location: of a file by its first bytes, of a folder by its content. The name alone
 * decides only for containers, which must have such a name and may be damaged, and for stores in which
 * reading the file costs a request. Unknown first bytes count as a container if a user has picked the file.
 * Otherwise they count as a Zarr store, because servers show folders as pages.
 * @throws UnsupportedError for known formats that cannot be read here, with advice
 */
export async function formatIn(place: StoredAt, signal?: Signal): Promise<PlaceFormat> {
  return (await recognise(place, signal)).format
}

/**
 * Finds the format, as {@link formatIn}, and returns the first bytes of a local file. They contain most
 * headers, so the reader need not request them again.
 */
export async function recognise(
  { store, path }: StoredAt,
  signal?: Signal,
): Promise<{ readonly format: PlaceFormat; readonly start?: Tail | undefined }> {
  // The root of a store is a folder. Some stores throw for reading its bytes.
  const isRoot = path === '' && store.seesOneFile !== true
  if (isRoot || path.endsWith('/') || METADATA_PATH.test(path)) return { format: 'zarr' }
  // The key of a picked file is not its name.
  const isPicked = store.seesOneFile ?? false
  const name = isPicked ? store.describe(path) : path
  if (TABLE.test(name)) {
    const text = 'this is a text table, which cannot be read here; read it into arrays, and pass them to new Dataset'
    throw new HyperslabError('UnsupportedError', text, { file: store.describe(path) })
  }
  const named = NAMES.find(([pattern]) => pattern.test(name))?.[1]
  if (named !== undefined && store.localPath === undefined && !isPicked) return { format: named }
  const isHere = store.localPath !== undefined && named !== 'container'
  const start = isHere ? await startOf(store, path, signal) : undefined
  const head = isHere ? start && headIn(start.bytes) : await headOf(store, path, signal)
  if (head !== undefined) {
    const known = named === 'container' ? named : formatOf(head, store.describe(path))
    return { format: known ?? (isPicked ? 'container' : 'zarr'), start }
  }
  if (named !== 'container') return { format: 'zarr' }
  const inside = await Promise.all(METADATA.map((each) => headOf(store, `${path}/${each}`, signal)))
  return { format: inside.some((each) => each !== undefined) ? 'zarr' : named }
}

/** Returns the first bytes as characters; undefined if it is not an object of at least this size. */
async function headOf(store: Store, path: string, signal: Signal | undefined): Promise<string | undefined> {
  const bytes = await ofFile(store.getRange(path, 0, HEAD_BYTES, { signal }))
  return bytes && headIn(bytes)
}

const headIn = (bytes: Uint8Array): string | undefined =>
  bytes.length < HEAD_BYTES ? undefined : String.fromCharCode(...bytes.subarray(0, HEAD_BYTES))

/** Returns the first bytes of a file, at one version of it; undefined if it does not exist. */
const startOf = (store: Store, path: string, signal: Signal | undefined): Promise<Tail | undefined> =>
  ofFile(
    (async () => {
      const info = await store.stat(path, { signal })
      if (info === undefined) return undefined
      const bytes = await store.getRange(path, 0, Math.min(info.size, START_BYTES), { ifMatch: info.etag, signal })
      return bytes && { ...info, bytes }
    })(),
  )

/** Returns the result of a read; undefined if there is no file. */
async function ofFile<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    // Folders, pages that servers refuse to show, files of one byte: opening them reports the problem.
    if (isHyperslabError(error, 'FormatError', 'StoreError', 'UnsupportedError', 'NotFoundError')) return undefined
    throw error
  }
}

function formatOf(head: string, file: string): PlaceFormat | undefined {
  const begins = ([starts]: readonly [readonly string[], ...unknown[]]): boolean => starts.some((start) => head.startsWith(start))
  const [, name, advice] = REFUSED.find(begins) ?? []
  if (name !== undefined)
    throw new HyperslabError('UnsupportedError', `this is ${name}, which is not read here; ${advice}`, { file })
  return STARTS.find(begins)?.[1] ?? (REFERENCES.test(head) ? 'references' : undefined)
}

/**
 * Returns the error for a location without a readable format. Its tag shows whether there is a file at all.
 * @param kinds expected formats, as `neither … nor …`
 */
export async function unknownPlace({ store, path }: StoredAt, kinds: string, cause: unknown): Promise<HyperslabError> {
  // A failed look-up counts as missing.
  const info = await store.stat(path).catch(() => undefined)
  const file = store.describe(path)
  return info === undefined
    ? new HyperslabError('NotFoundError', `there is ${kinds}`, { file, cause })
    : new HyperslabError('FormatError', `this file of ${counted(info.size, 'byte')} is ${kinds}`, { file, cause })
}

/**
 * Returns a Zarr store as `openZarr` accepts it, whatever contains it.
 * @param format result of {@link formatIn}
 */
export async function zarrIn({ store, path }: StoredAt, format: PlaceFormat, options: ReferenceOptions = {}): Promise<StoredAt> {
  if (format === 'zip') return (await import('./zip-root.ts')).zarrInArchive({ store, path }, options.signal)
  if (format === 'references') {
    const { storeOfReferences } = await import('./reference-store.ts')
    return { store: await storeOfReferences(store, path, options), path: '' }
  }
  return { store, path: path.replace(METADATA_PATH, '') }
}
