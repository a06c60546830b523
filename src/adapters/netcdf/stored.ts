import { HyperslabError } from '../../core/errors.ts'
import { newController } from '../../core/signal.ts'
import type { ObjectStart, Store, StoredAt, StoreOptions } from '../../store/store.ts'
import { type NetcdfFile, type OpenBuffer, type OpenNetcdfOptions, openBuffer } from './file.ts'

/** Options of `openStored`. */
export interface OpenStoredOptions extends OpenNetcdfOptions {
  /** First bytes of the file, if they are known. */
  readonly start?: ObjectStart | undefined
}

/** Opens a file of a store, which it closes with the file. */
export async function openStored({ store, path }: StoredAt, { start, ...options }: OpenStoredOptions): Promise<NetcdfFile> {
  let file: OpenBuffer | undefined
  try {
    file = await openInMemory(store, path, options, start)
    return await openBuffer(file, { name: store.describe(path), ...options })
  } catch (error) {
    await (file ?? store).close?.()
    throw error
  }
}

/**
 * One version of an object, read by range. To close it gives up what is being read: a program would else not
 * end before the server does.
 */
async function openInMemory(
  store: Store,
  path: string,
  { signal }: StoreOptions,
  start: ObjectStart | undefined,
): Promise<OpenBuffer> {
  const missing = (): never => {
    throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(path) })
  }
  const { size, etag } = start ?? (await store.stat(path, { signal })) ?? missing()
  let header = start?.bytes
  const open = newController()
  const options = { ifMatch: etag, signal: open.signal }
  return {
    byteLength: size,
    origins: { place: { store, path } },
    local: store.files?.localPath && { path: store.files.localPath(path), etag },
    recycle: store.files?.recycle,
    slice: async (from, to) => {
      // The header is read once, so its bytes are released.
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
