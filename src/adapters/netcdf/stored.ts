import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError } from '../../core/errors.ts'
import { newController } from '../../core/signal.ts'
import { type ObjectStart, readStart, type Store, type StoredAt, type StoreOptions } from '../../store/store.ts'
import { type NetcdfFile, type OpenBuffer, type OpenNetcdfOptions, openBuffer } from './file.ts'
import { FIRST_PREFIX_BYTES } from './header.ts'

/** Options of `openStored`. */
export interface OpenStoredOptions extends OpenNetcdfOptions {
  /** First bytes of the file, if they are known. */
  readonly start?: ObjectStart | undefined
}

/** Opens a file of a store, which it closes with the file. */
export async function openStored({ store, path }: StoredAt, { start, ...options }: OpenStoredOptions): Promise<NetcdfFile> {
  let file: StoredFile | undefined
  try {
    file = await openFile(store, path, options, start)
    const opened = await openBuffer(file, { name: store.describe(path), ...options })
    file.forgetStart()
    return opened
  } catch (error) {
    await (file ?? store).close?.()
    throw error
  }
}

/** A file whose first bytes are in memory until its header is parsed. */
interface StoredFile extends OpenBuffer {
  /** Releases the first bytes. */
  forgetStart(): void
}

/**
 * One version of an object, read by range. To close it gives up what is being read: a program would else not
 * end before the server does.
 */
async function openFile(
  store: Store,
  path: string,
  { signal }: StoreOptions,
  known: ObjectStart | undefined,
): Promise<StoredFile> {
  const missing = (): never => {
    throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(path) })
  }
  const start = known ?? (await readStart(store, path, FIRST_PREFIX_BYTES, { signal })) ?? missing()
  const { size, etag } = start
  let head = start.bytes
  const open = newController()
  const options = { ifMatch: etag, signal: open.signal }
  return {
    byteLength: size,
    origins: { place: { store, path } },
    local: store.files?.localPath && { path: store.files.localPath(path), etag },
    recycle: store.files?.recycle,
    slice: async (from, to) => {
      const inHead = head.subarray(from, to)
      if (inHead.length === to - from) return inHead
      const rest = (await store.getRange(path, from + inHead.length, to - from - inHead.length, options)) ?? missing()
      return inHead.length === 0 ? rest : joinBytes([inHead, rest])
    },
    forgetStart: () => {
      head = new Uint8Array()
    },
    close: async () => {
      open.abort(new HyperslabError('ClosedError', 'the file was closed', { file: store.describe(path) }))
      await store.close?.()
    },
  }
}
