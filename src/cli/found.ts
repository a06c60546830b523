import { isHyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import { type Location, resolveLocation } from '../runtime/location.ts'
import { storeOfReferences } from '../runtime/open-zarr.ts'
import type { Store } from '../store/store.ts'
import { ZipStore } from '../store/zip/zip.ts'

/**
 * What a place holds: a container; a Zarr store, as it is, in an archive or by references; a file of another
 * format.
 */
export type PlaceFormat = 'container' | 'zarr' | 'zip' | 'references' | 'netcdf' | 'hdf5'

/** Objects of a Zarr store with metadata of the folder that they are in, which they stand for. */
const METADATA = ['zarr.json', '.zgroup', '.zarray', '.zmetadata', '.zattrs']
export const METADATA_PATH = /(^|\/)(zarr\.json|\.z(array|group|metadata|attrs))$/

/**
 * The format of what is at a place. Only containers are told by their names, which they need to have, as they
 * may be damaged; all others by how they begin, or by what is in the folder.
 */
export async function formatAt(location: string, signal?: Signal): Promise<PlaceFormat> {
  const { store, path } = await resolveLocation(location)
  try {
    if (path.endsWith('/') || METADATA_PATH.test(path)) return 'zarr'
    const head = await headOf(store, path, signal)
    if (!path.endsWith('.af')) return head === undefined ? 'zarr' : formatOf(head)
    if (head !== undefined) return 'container'
    const inside = await Promise.all(METADATA.map((name) => headOf(store, `${path}/${name}`, signal)))
    return inside.some((each) => each !== undefined) ? 'zarr' : 'container'
  } finally {
    await store.close?.()
  }
}

/** The first two bytes, as characters; undefined where that is no object of so many. */
async function headOf(store: Store, path: string, signal: Signal | undefined): Promise<string | undefined> {
  try {
    const bytes = await store.getRange(path, 0, 2, { signal })
    return bytes && String.fromCharCode(...bytes)
  } catch (error) {
    // Folders, what servers refuse to show of them, files of a byte: whoever opens it says what is wrong.
    if (isHyperslabError(error, 'FormatError', 'StoreError', 'UnsupportedError', 'NotFoundError')) return undefined
    throw error
  }
}

function formatOf(head: string): PlaceFormat {
  if (head === 'PK') return 'zip'
  if (head === 'CD') return 'netcdf'
  if (head === '\x89H') return 'hdf5'
  // Servers show folders as pages.
  return /^[{\s]/.test(head) ? 'references' : 'zarr'
}

/** A Zarr store as `openZarr` takes it, whatever it lies in. */
export async function zarrLocation(location: string, format: PlaceFormat, signal?: Signal): Promise<Location> {
  const { store, path } = await resolveLocation(location)
  if (format === 'zip') {
    const archive = new ZipStore({ store, path })
    // Whoever archives a folder often has the folder itself in the archive.
    const tops = new Set((await archive.list('', { signal })).map((key) => key.replace(/\/.*/s, '/')))
    const [top = ''] = tops
    return { store: archive, path: tops.size === 1 && top.endsWith('/') ? top : '' }
  }
  if (format === 'references') return { store: await storeOfReferences(store, path, { signal }), path: '' }
  return { store, path: path.replace(METADATA_PATH, '') }
}
