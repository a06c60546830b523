import { NETCDF_CHECKS, type NetcdfFile, type OpenBuffer, type OpenNetcdfOptions, openBuffer } from '../adapters/netcdf/index.ts'
import { HyperslabError } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { newController } from '../core/signal.ts'
import { isAsyncBuffer } from '../store/handles.ts'
import type { Store, StoreOptions, Tail } from '../store/store.ts'
import type { StoredAt } from './formats.ts'
import { checkNotFound, type Location, resolveLocation } from './location.ts'

/**
 * Opens a classic NetCDF file (CDF-1 or CDF-2), at any location that `open` accepts. Reads the header only;
 * the variables are lazy arrays, which fetch the byte ranges that a selection needs. `char` variables are
 * arrays of strings: of whole texts if the last dimension is the length of texts, otherwise of single
 * characters.
 * @throws NotFoundError; FormatError if the bytes are not NetCDF, or are damaged or truncated;
 *   UnsupportedError for NetCDF-4 and CDF-5; reads throw ConflictError if the file has changed since
 * @example
 * await using file = await openNetcdf('tas.nc')
 * console.log((await file.variable('tas').get([slice(1)])).shape) // [ 1, 2 ]
 */
export async function openNetcdf(location: Location, options: OpenNetcdfOptions = {}): Promise<NetcdfFile> {
  checkOptions('openNetcdf', options, NETCDF_CHECKS)
  await checkNotFound('openNetcdf', location, options)
  if (typeof location === 'object' && location !== null && isAsyncBuffer(location)) return openBuffer(location, options)
  return openStored(await resolveLocation(location, options), options)
}

/** Options of `openStored`. */
export interface OpenStoredOptions extends OpenNetcdfOptions {
  /** First bytes of the file, if they are known. */
  readonly start?: Tail | undefined
}

/** Opens a file of a store. Closing the file closes the store. */
export async function openStored({ store, path }: StoredAt, { start, ...options }: OpenStoredOptions): Promise<NetcdfFile> {
  let file: OpenBuffer | undefined
  try {
    file = await bufferOf(store, path, options, start)
    return await openBuffer(file, { name: store.describe(path), ...options })
  } catch (error) {
    await (file ?? store).close?.()
    throw error
  }
}

/**
 * Returns one version of an object, read by range. Closing it aborts pending reads, because otherwise a
 * program would not end before the server does.
 */
async function bufferOf(store: Store, path: string, { signal }: StoreOptions, start: Tail | undefined): Promise<OpenBuffer> {
  const missing = (): never => {
    throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(path) })
  }
  const { size, etag } = start ?? (await store.stat(path, { signal })) ?? missing()
  let header = start?.bytes
  const open = newController()
  const options = { ifMatch: etag, signal: open.signal }
  return {
    byteLength: size,
    local: store.localPath && { path: store.localPath(path), etag },
    recycle: store.recycle?.bind(store),
    slice: async (from, to) => {
      // It is read once, and not kept afterwards.
      const known = from === 0 && header !== undefined && to <= header.length ? header.subarray(0, to) : undefined
      header = undefined
      return known ?? (await store.getRange(path, from, to - from, options)) ?? missing()
    },
    close: async () => {
      open.abort(new HyperslabError('ClosedError', 'the file was closed', { file: store.describe(path) }))
      await store.close?.()
    },
  }
}
