import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import type { Checks } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'

/** Options of every operation of a store. Aborting `signal` ends it. */
export interface StoreOptions {
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

export const STORE_CHECKS: Checks<StoreOptions> = { signal: 'AbortSignal' }

/**
 * Multipart uploads shared by several processes. Each process passes parts of one object, numbered from 1.
 * The object becomes visible when one process completes the upload, with the parts in order of their numbers.
 */
export interface SharedUploads {
  /** Smallest size of a part in bytes, except for the last part. */
  readonly minPartBytes: number
  /** Highest number of a part. */
  readonly maxParts: number
  /**
   * Tests the server with temporary objects, unless its behaviour is known.
   * @param near prefix of the temporary names
   * @throws UnsupportedError if completing an upload could overwrite the object of another writer
   */
  check(near: string): Promise<void>
  /**
   * Begins an upload.
   * @param mark distinguishes the object from those of other writers
   * @returns id that other processes use to take part
   */
  begin(key: string, mark: string, options?: StoreOptions): Promise<string>
  /**
   * Stores a part, replacing an earlier one of the same number.
   * @returns tag of the bytes
   */
  put(key: string, id: string, number: number, bytes: Uint8Array, options?: StoreOptions): Promise<string>
  /**
   * Returns open uploads of keys that start with `prefix`, of all writers. If there are very many, only some
   * are returned.
   */
  open(prefix: string, options?: StoreOptions): Promise<OpenUpload[]>
  /**
   * Completes an upload, which assembles the parts to the object.
   * @throws ConflictError if the object exists
   */
  complete(key: string, mark: string, upload: SharedUpload, options?: StoreOptions): Promise<ObjectInfo>
  /** Drops an upload with its parts. A missing upload is no error. */
  abort(key: string, id: string): Promise<void>
}

/** An upload to `key`, with an `id`, that is neither completed nor dropped. */
export interface OpenUpload {
  readonly key: string
  readonly id: string
}

/** An upload whose parts are all stored. */
export interface SharedUpload {
  /** Id of the upload. */
  readonly id: string
  /** Tag of each part, by its number. */
  readonly tags: ReadonlyMap<number, string>
  /** Size of all parts together, in bytes. */
  readonly size: number
}

/** Size and version of an object. `etag` names the version, and changes whenever the bytes change. */
export interface ObjectInfo {
  /** Size in bytes. */
  readonly size: number
  readonly etag: string
  /** Whether an HTTP server calls it an HTML page, such as one for a login. Only `stat` reports it. */
  readonly isHtml?: true
}

/** Options of `list`. */
export interface ListOptions extends StoreOptions {
  /**
   * Whether only the prefix's own folder is listed: its keys, and the name of each folder in it. A store that
   * would have to read deeper for more returns a folder as its prefix, with the slash.
   */
  readonly shallow?: boolean
  /**
   * Whether keys in all folders below are listed, and no folders. By default, stores of files list only the
   * prefix's own folder.
   */
  readonly deep?: boolean
}

/** An answer that a store treats as "not found", although it proves no absence. */
export interface UnprovedAbsence {
  /** Name of the object in errors. */
  readonly file: string
  /** The answer: its status, and the code or kind of its body. */
  readonly answer: string
}

/** Options for reading an object. */
export interface ReadOptions extends StoreOptions {
  /**
   * Called before a read returns `undefined` for an object whose absence is not proved: after a login page,
   * or a refusal that the server also sends for missing objects. A caller that accepts the absence has to
   * read a known object afterwards, as `store/absences.ts` does. Stores that always know never call it.
   */
  readonly onUnproved?: ((absence: UnprovedAbsence) => void) | undefined
}

/** Options of reading a range. */
export interface RangeOptions extends ReadOptions {
  /** Version to read; any other version is an error. */
  readonly ifMatch?: string
  /** Whether to request from the server itself. Neither a concurrent request nor a cache may answer. */
  readonly fresh?: boolean
  /**
   * Memory for the bytes of `getRange`, of the same length. A store that can read into it returns it, once no
   * read writes to it any more. Other stores ignore it, and return memory of their own.
   */
  readonly into?: Uint8Array | undefined
}

/** Options for reading a whole object. */
export interface WholeOptions extends ReadOptions {
  /** Size in bytes above which an object is refused. Default: 2 GiB. */
  readonly maxBytes?: number | undefined
}

/** A range of `length` bytes from `offset`. */
export interface ByteRange {
  readonly offset: number
  readonly length: number
}

/** Conditions for publishing an object. Without a condition, an existing object is replaced. */
export interface PublishCondition {
  /** Whether the object must not exist. */
  readonly ifAbsent: boolean
  /** Version that the object must have to be replaced. Excludes `ifAbsent`. */
  readonly ifMatch?: string | undefined
  /**
   * Whether the object must survive a power failure. If false, a power failure may restore the state before,
   * but never leaves a part of the object. Default: true.
   */
  readonly durable?: boolean
  /** Whether the object is useless after a power failure, which may then leave a part of it. */
  readonly scratch?: boolean
}

/** Options of `put`. */
export interface PutOptions extends StoreOptions {
  /** The same option as in {@link PublishCondition}. */
  readonly durable?: boolean
  /** The same option as in {@link PublishCondition}. */
  readonly scratch?: boolean
}

/** Options of `delete`. */
export interface DeleteOptions extends StoreOptions {
  /** Version to remove; any other version is an error. */
  readonly ifMatch?: string | undefined
}

/** Options of `rename`. */
export interface RenameOptions extends StoreOptions {
  /** Version of the object that is replaced. If omitted, no object may have the new name. */
  readonly ifMatch?: string | undefined
}

/**
 * Conditional operations that a store supports. They are atomic: of two that name one version, at most one
 * succeeds.
 */
export interface ConditionalWrites {
  /** Whether `publish` accepts `ifMatch`. */
  readonly replace: boolean
  /** Whether `delete` accepts `ifMatch`. */
  readonly remove: boolean
  /** Reason, as a sentence for users, if either is missing. */
  readonly reason?: string
}

/** Differences between names that a place ignores. */
export interface FoldedNames {
  /** Whether `T` and `t` are the same name. */
  readonly case: boolean
  /** Whether the composed and the decomposed form of a character are the same name. */
  readonly unicode: boolean
}

/** An object of an unfinished write by `key` and `size`, which is either a leftover or still in use. */
export interface Leftover {
  readonly key: string
  readonly size: number
  /** Time of its last write, in ms since 1970. */
  readonly modified: number
}

/** Operations that only local files support. {@link Store.files} of `FileStore` has them. */
export interface LocalFiles {
  /** Whether keys are Windows paths: a backslash separates names there, and some names are devices. */
  readonly windowsNames: boolean
  /**
   * Returns the path of an object, which worker threads can open. The version of such an object is
   * `{inode}-{size}-{mtime in ns}`. A store that has to see every read omits this method.
   */
  localPath?(key: string): string
  /**
   * Returns reads that complete before they return, of one version of an object that an earlier read has
   * opened; undefined if its reads have to wait. A store that has to see every read omits this method.
   */
  quickReads?(key: string, etag: string): QuickRanges | undefined
  /**
   * Takes back bytes that `getRange` or `get` returned, to reuse their memory. The caller no longer reads
   * them. The method ignores arrays that the store did not return, and parts of arrays.
   */
  readonly recycle: (bytes: Uint8Array) => void
  /** Creates the folder of an object, with its parents. */
  makeFolder(near: string): Promise<void>
  /** Removes the named folder (with a slash at the end) and the folders in it, if they are empty. */
  removeFolder(folder: string): Promise<void>
  /** Returns temporary objects, of all writers, in the place that a stage for `near` would use. */
  leftovers(near: string, options?: Pick<ListOptions, 'deep'>): Promise<Leftover[]>
  /** Returns which names this place treats as equal, after a test beside `near`. */
  foldedNames(near: string): Promise<FoldedNames>
  /** Returns the absolute path of a key with all links followed, as far as the path exists. */
  realPath(key: string): Promise<string>
  /** Whether a key, of an object or of a folder without a trailing slash, is a symbolic link itself. */
  isLink(key: string): Promise<boolean>
}

/** Reads of a local file that complete before they return. Their bytes count if `isUnchanged` holds. */
export interface QuickRanges {
  /** Returns a turn of the event loop to wait for; undefined if this one has time for a group of reads. */
  ready(): Promise<void> | undefined
  /**
   * Fills memory with the bytes from a position of the file on.
   * @returns false if that read has to wait, or fails
   */
  read(into: Uint8Array, position: number): boolean
  /** Whether the file still had its version after the last read. */
  isUnchanged(): boolean
}

/** End of an object, with size and version of the whole. */
export interface ObjectTail extends ObjectInfo {
  /** Last bytes of the object, at most as many as requested. */
  readonly bytes: Uint8Array
}

/** Start of an object, with size and version of the whole. */
export interface ObjectStart extends ObjectInfo {
  /** First bytes of the object, at most as many as requested. */
  readonly bytes: Uint8Array
  /** Last bytes of the object, if they arrived with the first. They may overlap. */
  readonly tail?: Uint8Array | undefined
}

/** Options of `getStart`. */
export interface StartOptions extends ReadOptions {
  /** Number of last bytes to request at the same time, where that takes one request. Default: 0. */
  readonly tailBytes?: number | undefined
}

/**
 * A place that holds objects (files) under keys. Only reading is required; a store omits methods that it does
 * not support.
 *
 * For a missing object methods return `undefined`. Every other failure throws an error that names the object.
 */
export interface Store {
  /** Returns the name of an object for messages and listings. */
  describe(key: string): string
  /**
   * Returns a name of these bytes. All stores of one place return the same name, and different bytes never
   * share one. Caches shared by several files, or kept while a file is reopened, use it as key. `undefined`
   * if the store cannot guarantee this.
   */
  identify?(key: string, etag: string): string | undefined
  /** Returns warnings about unusual costs of reading objects below a prefix. */
  warnings?(prefix: string, options?: StoreOptions): Promise<string[]>
  /** Returns size and version of an object; `undefined` if it does not exist. */
  stat(key: string, options?: ReadOptions): Promise<ObjectInfo | undefined>
  /**
   * Returns exactly the bytes `[offset, offset + length)`; `undefined` if the object does not exist.
   * @throws FormatError if the object ends before; ConflictError if the version `ifMatch` is gone
   */
  getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined>
  /**
   * Returns several ranges of an object, in the given order. Optional, for stores where few large requests
   * are cheaper than many small ones.
   */
  getRanges?(key: string, ranges: readonly ByteRange[], options?: RangeOptions): Promise<Uint8Array[] | undefined>
  /**
   * Returns the last bytes of an object with its size and version. Optional, for stores where this saves a
   * request.
   */
  getTail?(key: string, length: number, options?: ReadOptions): Promise<ObjectTail | undefined>
  /**
   * Returns the first bytes of an object with its size and version, and the last bytes of the same version if
   * `tailBytes` requests them and they cost no further round trip. Optional, for stores where this saves a
   * request.
   */
  getStart?(key: string, length: number, options?: StartOptions): Promise<ObjectStart | undefined>
  /**
   * Returns a whole object with its version; `undefined` if it does not exist. Also `undefined` if a server
   * answers with the HTML page that it sends for any unknown name. Optional, for stores where this saves a
   * request.
   * @throws TooLargeError for more than `maxBytes`, without reading all of it
   */
  get?(key: string, options?: WholeOptions): Promise<ObjectTail | undefined>
  /** Returns keys that start with `prefix`, in no particular order. */
  list?(prefix: string, options?: ListOptions): Promise<string[]>
  /**
   * Whether two names get the same answer, byte for byte. For stores that cannot list: comparing with a name
   * that certainly does not exist reveals a server that sends a page for every name.
   */
  answersAlike?(key: string, other: string, options?: ReadOptions): Promise<boolean>
  /** False if references in its objects must not be followed, because they may name any place. */
  readonly followsReferences?: boolean
  /** Whether keys are URLs, with percent-encoded names. */
  readonly urlNames?: boolean
  /** Access to folders, links and paths. Only stores of local files have it. */
  readonly files?: LocalFiles
  /** Whether the store holds a single file without access to its siblings. */
  readonly seesOneFile?: boolean
  /** Releases handles. The store may be used again afterwards. */
  close?(): Promise<void>
}

/**
 * A store that also writes. Containers are committed by `stage`, chunks of Zarr are stored by `put`. Writing
 * either also takes `list`.
 */
export interface WritableStore extends Store {
  /** Stores a whole object. Afterwards it exists completely or, after an error, not at all. */
  put(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void>
  /**
   * Removes an object. A missing object is no error.
   * @throws ConflictError if the object does not have the version `ifMatch`; UnsupportedError if the store
   *   cannot check the version at that moment
   */
  delete(key: string, options?: DeleteOptions): Promise<void>
  /**
   * Copies an object within the store, replacing another one, without the bytes passing through this process.
   * Optional: others read the bytes and write them.
   * @returns false if the object does not exist
   * @throws ConflictError if the copied object does not have the version `ifMatch`
   */
  copy?(from: string, to: string, options?: RangeOptions): Promise<boolean>
  /**
   * Renames an object, or a folder with all its content, in one step. Optional: stores of files have it.
   * @returns false if the old name does not exist
   * @throws ConflictError if the new name exists and `ifMatch` is omitted, or if it does not have that
   *   version
   */
  rename?(from: string, to: string, options?: RenameOptions): Promise<boolean>
  /**
   * Starts an object that is written in pieces. It stays invisible until it is published under a key like
   * `near`.
   */
  stage(near: string): Promise<Stage>
  /** Returns which operations near this key can be conditional. A store without this method supports none. */
  conditionalWrites?(near: string): Promise<ConditionalWrites>
  /** Multipart uploads for several processes. Optional. */
  readonly sharedUploads?: SharedUploads
}

/** An object of a store, or a folder. */
export interface StoredAt {
  readonly store: Store
  readonly path: string
}

/** An unpublished object. Its bytes can be read back. Discarding it leaves nothing behind. */
export interface Stage {
  /** Number of appended bytes. */
  readonly size: number
  /** Appends bytes. */
  append(bytes: Uint8Array): Promise<void>
  /** Reads appended bytes. */
  read(offset: number, length: number): Promise<Uint8Array>
  /**
   * Whether the appended bytes may be damaged, after a disk failed to store them. A broken stage can be read
   * back, checked, and copied to another stage, but not published.
   */
  readonly broken?: boolean
  /**
   * Prepares publishing under this key and with this tail, so that `publish` takes less time. It changes
   * nothing else. Optional.
   */
  prepare?(key: string, tail: Uint8Array): Promise<void>
  /**
   * Publishes the appended bytes, followed by `tail`, as `key`, completely or not at all. Afterwards, and
   * after an error, the stage is as before. It can be read, appended to and published again, without changing
   * the published object.
   * @throws ConflictError if the condition does not hold; UnsupportedError, with nothing done, if the store
   *   does not support the condition; StoreError with `published` among its details if the object is in place
   *   but may be gone after a power failure
   */
  publish(key: string, tail: Uint8Array, condition: PublishCondition): Promise<ObjectInfo>
  /** Drops all bytes. Allowed at any time, also after publishing. */
  discard(): Promise<void>
}

/** Reads the first bytes of an object, in one request if the store can. */
export async function readStart(
  store: Store,
  key: string,
  length: number,
  options: StartOptions = {},
): Promise<ObjectStart | undefined> {
  return store.getStart === undefined ? readStartByStat(store, key, length, options) : store.getStart(key, length, options)
}

/** Requests size and version of an object, then its first bytes. */
export const readStartByStat = (
  store: Store,
  key: string,
  length: number,
  { signal, onUnproved }: StartOptions = {},
): Promise<ObjectStart | undefined> =>
  readVersion(store, key, { signal, onUnproved }, async (info) => {
    const wanted = Math.min(length, info.size)
    const bytes = await store.getRange(key, 0, wanted, { signal, onUnproved, ifMatch: info.etag })
    return bytes && { ...info, bytes }
  })

/** Reads the last bytes of an object, in one request if the store can. */
export async function readTail(
  store: Store,
  key: string,
  length: number,
  options: ReadOptions = {},
): Promise<ObjectTail | undefined> {
  if (store.getTail !== undefined) return store.getTail(key, length, options)
  const info = await store.stat(key, options)
  if (info === undefined) return undefined
  const wanted = Math.min(length, info.size)
  const bytes = await store.getRange(key, info.size - wanted, wanted, { ...options, ifMatch: info.etag })
  return bytes && { ...info, bytes }
}

/** Number of times an object may be replaced while it is being read. */
const VERSION_RETRIES = 3

/**
 * Requests size and version, unless they are known, and reads that version. Starts again if the object is
 * replaced meanwhile.
 */
export async function readVersion<T>(
  store: Pick<Store, 'stat'>,
  key: string,
  options: ReadOptions,
  read: (info: ObjectInfo) => Promise<T | undefined>,
  first?: ObjectInfo,
): Promise<T | undefined> {
  for (let left = VERSION_RETRIES, known = first; ; left--, known = undefined) {
    const info = known ?? (await store.stat(key, options))
    if (info === undefined) return undefined
    try {
      return await read(info)
    } catch (error) {
      if (left === 0 || !isHyperslabError(error, 'ConflictError')) throw error
    }
  }
}

export const endsBefore = (file: string, size: number, wanted: number): HyperslabError =>
  new HyperslabError('FormatError', `the file ends at byte ${size}, but bytes up to ${wanted} are wanted: it is truncated`, {
    file,
    actual: size,
    expected: wanted,
  })

export const changed = (file: string): HyperslabError =>
  new HyperslabError('ConflictError', 'the file was replaced by another writer since it was opened; open it again', { file })
