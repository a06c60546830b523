import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError } from '../../core/errors.ts'
import { newController, onAbort, type Signal } from '../../core/signal.ts'
import { type ObjectStart, readStart, type Store, type StoredAt, type StoreOptions } from '../../store/store.ts'
import { type ElementReader, type NetcdfFile, type OpenBuffer, type OpenNetcdfOptions, openBuffer } from './file.ts'
import { FIRST_PREFIX_BYTES } from './header.ts'

/** Options of `openStored`. */
export interface OpenStoredOptions extends OpenNetcdfOptions {
  /** First bytes of the file, if they are known. */
  readonly start?: ObjectStart | undefined
}

/** Opens a file in a store. Closing the file closes the store. */
export async function openStored({ store, path }: StoredAt, { start, ...options }: OpenStoredOptions): Promise<NetcdfFile> {
  let file: StoredFile | undefined
  try {
    file = await openFile(store, path, options, start)
    const opened = await openBuffer(file, { name: store.describe(path), ...options }, file.readRange)
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
  readonly readRange: ElementReader
}

/** Runs work with a signal that aborts as soon as one of the given signals does. */
async function untilEither<T>(signals: readonly Signal[], work: (signal: Signal) => Promise<T>): Promise<T> {
  const ended = newController()
  for (const each of signals) each.throwIfAborted()
  const forget = signals.map((each) => onAbort(each, () => ended.abort(each.reason)))
  try {
    return await work(ended.signal)
  } finally {
    for (const each of forget) each()
  }
}

/**
 * Opens one version of an object, which is read by range. Closing it aborts all running requests. Otherwise,
 * a program could not end before the server has answered.
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
  const readRange: ElementReader = async (offset, length, signal) => {
    const request = (either: Signal) => store.getRange(path, offset, length, { ifMatch: etag, signal: either })
    const reading = signal === undefined ? request(open.signal) : untilEither([open.signal, signal], request)
    return (await reading) ?? missing()
  }
  return {
    byteLength: size,
    origins: { place: { store, path } },
    local: store.files?.localPath && { path: store.files.localPath(path), etag },
    recycle: store.files?.recycle,
    quickReads: () => store.files?.quickReads?.(path, etag),
    slice: async (from, to) => {
      const inHead = head.subarray(from, to)
      if (inHead.length === to - from) return inHead
      const rest = await readRange(from + inHead.length, to - from - inHead.length, signal)
      return inHead.length === 0 ? rest : joinBytes([inHead, rest])
    },
    readRange,
    forgetStart: () => {
      head = new Uint8Array()
    },
    close: async () => {
      open.abort(new HyperslabError('ClosedError', 'the file was closed', { file: store.describe(path) }))
      await store.close?.()
    },
  }
}
