import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import type { Checks } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'

/** Options of every operation of a store; an aborted `signal` ends it. */
export interface StoreOptions {
  readonly signal?: Signal | undefined
}

export const STORE_CHECKS: Checks<StoreOptions> = { signal: 'AbortSignal' }

/**
 * Uploads that several processes share: each hands over parts of one object, by their numbers from 1, and
 * nobody sees any of it before one of them has all put together in the order of the numbers.
 */
export interface SharedUploads {
  /** Bytes that each part has at least, but for the one of the highest number. */
  readonly minPartBytes: number
  /** The highest number of a part. */
  readonly maxParts: number
  /**
   * Tries the server, with temporary objects, unless it is known.
   * @param near the beginning of the names of these
   * @throws UnsupportedError where completing an upload could overwrite the object of another writer
   */
  check(near: string): Promise<void>
  /**
   * Begins an upload.
   * @param mark tells the object from those of other writers
   * @returns the id by which others take part
   */
  begin(key: string, mark: string, options?: StoreOptions): Promise<string>
  /**
   * Hands over a part, in place of another one of its number.
   * @returns the tag of its bytes
   */
  put(key: string, id: string, number: number, bytes: Uint8Array, options?: StoreOptions): Promise<string>
  /**
   * Open uploads of objects whose keys start with `prefix`, whoever began them; some, where there are very
   * many.
   */
  open(prefix: string, options?: StoreOptions): Promise<OpenUpload[]>
  /**
   * Has the parts put together as the object.
   * @throws ConflictError where there is one
   */
  complete(key: string, mark: string, upload: SharedUpload, options?: StoreOptions): Promise<ObjectInfo>
  /** Drops an upload with its parts; it is no error when there is none. */
  abort(key: string, id: string): Promise<void>
}

/** An upload to `key` that was begun under an `id`, and neither completed nor dropped. */
export interface OpenUpload {
  readonly key: string
  readonly id: string
}

/** An upload all parts of which were handed over. */
export interface SharedUpload {
  /** The id that it was begun under. */
  readonly id: string
  /** Tags of its parts, by their numbers. */
  readonly tags: ReadonlyMap<number, string>
  /** Bytes of all of them. */
  readonly size: number
}

/** Facts of an object. `etag` names one version of its bytes: it changes whenever they do. */
export interface ObjectInfo {
  /** Size in bytes. */
  readonly size: number
  readonly etag: string
}

/** Options of listing. */
export interface ListOptions extends StoreOptions {
  /**
   * Only keys of the prefix's own folder are wanted, and of each folder in it its name: stores that would
   * have to read more than that for the others give a folder as its prefix, with the slash.
   */
  readonly shallow?: boolean
  /**
   * Keys in folders below are wanted, too, and no folders: stores of files, which otherwise give what is in
   * the prefix's own folder, go through all of them.
   */
  readonly deep?: boolean
}

/** An answer that a store treats as "not found", although it does not prove it. */
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
  /** Read this version of the object and no other. */
  readonly ifMatch?: string
  /** Whether to request from the server itself: no concurrent request and no cache may answer. */
  readonly fresh?: boolean
}

/** Options of reading a whole object. */
export interface WholeOptions extends ReadOptions {
  /** A larger object is refused, in bytes; 2 GiB by default. */
  readonly maxBytes?: number | undefined
}

/** The `length` bytes from `offset`. */
export interface ByteRange {
  readonly offset: number
  readonly length: number
}

/** Conditions for an object to be published; without either, whatever is there is replaced. */
export interface PublishCondition {
  /** There is no such object. */
  readonly ifAbsent: boolean
  /** There is this version of it, and it alone is replaced. Not together with `ifAbsent`. */
  readonly ifMatch?: string | undefined
  /**
   * False where a power failure may undo it: the object is then as it was before, never a part of this one.
   * Default: true.
   */
  readonly durable?: boolean
  /** True for what nobody wants after a power failure, which may then be there in part. */
  readonly scratch?: boolean
}

/** Options of `put`. */
export interface PutOptions extends StoreOptions {
  /** The same as that of {@link PublishCondition}. */
  readonly durable?: boolean
  /** The same as that of {@link PublishCondition}. */
  readonly scratch?: boolean
}

/** Options of `delete`. */
export interface DeleteOptions extends StoreOptions {
  /** Remove this version of the object and no other. */
  readonly ifMatch?: string | undefined
}

/** Options of `rename`. */
export interface RenameOptions extends StoreOptions {
  /** Version of the object that is replaced. If omitted, no object may have the new name. */
  readonly ifMatch?: string | undefined
}

/** Operations on condition of a version, atomic: two that name one version never both succeed. */
export interface ConditionalWrites {
  /** True when it takes `publish` with `ifMatch`. */
  readonly replace: boolean
  /** True when it takes `delete` with `ifMatch`. */
  readonly remove: boolean
  /** The reason, as a sentence for users, where either is missing. */
  readonly reason?: string
}

/** Differences between names that a place ignores. */
export interface FoldedNames {
  /** Whether `T` and `t` are the same name. */
  readonly case: boolean
  /** Whether the composed and the decomposed form of a character are the same name. */
  readonly unicode: boolean
}

/** An object of an unfinished write by `key` and `size`: left over, or needed while it is under way. */
export interface Leftover {
  readonly key: string
  readonly size: number
  /** The time it was last written, in ms since 1970. */
  readonly modified: number
}

/** The end of an object, with what is known of the whole. */
export interface Tail extends ObjectInfo {
  /** The last bytes, as many as were asked for or as there are. */
  readonly bytes: Uint8Array
}

/**
 * A place where objects (files) live under keys. Only reading is required; what a store cannot do it leaves
 * out.
 *
 * Missing objects are `undefined`, never an error; every other failure is an error that names the object.
 */
export interface Store {
  /** The name of an object in error messages and listings. */
  describe(key: string): string
  /**
   * The path of an object that is a file of this machine, which threads can open by themselves; its version
   * is `{inode}-{size}-{mtime in ns}`.
   */
  localPath?(key: string): string
  /**
   * Takes back bytes that `getRange` or `get` gave and that nobody reads any more, to read others into their
   * memory. What is no such bytes, or a part of them, is to be left alone.
   */
  recycle?(bytes: Uint8Array): void
  /**
   * A name of these bytes that every store for the same place gives them, and that no others ever have;
   * `undefined` where that is not certain. Caches that several files share, or a file that is opened again,
   * know them by it.
   */
  identify?(key: string, etag: string): string | undefined
  /** Returns warnings about unusual costs of reading objects below a prefix. */
  warnings?(prefix: string, options?: StoreOptions): Promise<string[]>
  /** Size and version of an object, `undefined` when there is none. */
  stat(key: string, options?: ReadOptions): Promise<ObjectInfo | undefined>
  /**
   * Exactly the bytes `[offset, offset + length)`; `undefined` when there is no such object.
   * @throws FormatError when the object ends before; ConflictError when `ifMatch` names a version that is
   *   gone
   */
  getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined>
  /**
   * Several ranges of an object at once, in the order given; for stores where fewer, larger requests are
   * cheaper than many.
   */
  getRanges?(key: string, ranges: readonly ByteRange[], options?: RangeOptions): Promise<Uint8Array[] | undefined>
  /**
   * The last bytes of an object together with its size and version; for stores where asking for those apart
   * costs a request more.
   */
  getTail?(key: string, length: number, options?: ReadOptions): Promise<Tail | undefined>
  /**
   * A whole object, whatever its size, together with its version; for stores where asking for those apart
   * costs a request more. `undefined` when there is no such object, also where a server answers with a page
   * of HTML that it has for other names that nothing has, too.
   * @throws TooLargeError, without having read all of it, for more than `maxBytes`
   */
  get?(key: string, options?: WholeOptions): Promise<Tail | undefined>
  /** Keys that start with `prefix`, in no particular order. */
  list?(prefix: string, options?: ListOptions): Promise<string[]>
  /** Stores a whole object at once: afterwards it is there completely or, after an error, not at all. */
  put?(key: string, bytes: Uint8Array, options?: PutOptions): Promise<void>
  /**
   * Removes an object; it is no error when there is none.
   * @throws ConflictError when `ifMatch` names another version than there is; UnsupportedError where the
   *   store cannot tell at that moment
   */
  delete?(key: string, options?: DeleteOptions): Promise<void>
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
  /** Makes the folder of an object, and those above it; for stores that do not do so by themselves. */
  makeFolder?(near: string): Promise<void>
  /**
   * Removes the folder of a name, which ends with a slash, with those in it, as far as they are empty; for
   * stores that have folders.
   */
  removeFolder?(folder: string): Promise<void>
  /**
   * Starts an object whose bytes come piece by piece and which nobody sees before it is published under a key
   * like `near`.
   */
  stage?(near: string): Promise<Stage>
  /**
   * Tells what can be done on condition of a version with objects near this key; a store without this method
   * can do neither.
   */
  conditionalWrites?(near: string): Promise<ConditionalWrites>
  /** Uploads in parts that several processes take part in, for stores that have them. */
  readonly sharedUploads?: SharedUploads
  /** Temporary objects in the place where those for `near` are, whoever uses or has left them. */
  leftovers?(near: string, options?: Pick<ListOptions, 'deep'>): Promise<Leftover[]>
  /**
   * True when two names get the very same answer, byte for byte. For stores that cannot list, where a server
   * may answer with a page for what it does not have: a name that nothing has tells.
   */
  answersAlike?(key: string, other: string, options?: ReadOptions): Promise<boolean>
  /** False if references in its objects must not be followed, because they may name any place. */
  readonly followsReferences?: boolean
  /** Whether keys are Windows paths: a backslash separates names there, and some names are devices. */
  readonly windowsNames?: boolean
  /** Whether keys are URLs, with percent-encoded names. */
  readonly urlNames?: boolean
  /**
   * Returns which names this place treats as equal, after a test beside `near`. Optional: a store without
   * this method distinguishes all names, and allows an object with the name of a folder.
   */
  foldedNames?(near: string): Promise<FoldedNames>
  /**
   * Returns the absolute path of a key with all links followed, as far as the path exists. Optional: stores
   * without links omit it.
   */
  realPath?(key: string): Promise<string>
  /** The store holds one file that was handed over, and sees none that may lie beside it. */
  readonly seesOneFile?: boolean
  /** Gives back handles; the store may be used again afterwards. */
  close?(): Promise<void>
}

/** An unpublished object. Its parts can be read back; it leaves nothing behind when it is discarded. */
export interface Stage {
  /** Bytes appended so far. */
  readonly size: number
  /** Adds bytes at the end. */
  append(bytes: Uint8Array): Promise<void>
  /** Reads back what was appended. */
  read(offset: number, length: number): Promise<Uint8Array>
  /**
   * True once the store cannot be sure any more of what was appended (a disk that has failed to take it): it
   * can be read back, to be checked and appended to another stage, but not be published.
   */
  readonly broken?: boolean
  /**
   * Does what can be done of publishing, under this key and with this tail, before there is the name:
   * `publish` takes less time then. Changes nothing else, and may be left out.
   */
  prepare?(key: string, tail: Uint8Array): Promise<void>
  /**
   * Publishes the bytes so far, followed by `tail`, as `key`: completely or not at all. Afterwards, and after
   * an error, the stage is as before: it can be read, appended to and published again, and nothing of that
   * changes what was published.
   * @throws ConflictError when the condition does not hold; UnsupportedError, with nothing done, when the
   *   store cannot do it on that condition; StoreError with `published` among its details when the object is
   *   in place but may be gone after a power failure
   */
  publish(key: string, tail: Uint8Array, condition: PublishCondition): Promise<ObjectInfo>
  /** Drops everything; allowed at any time, also after publishing. */
  discard(): Promise<void>
}

/** The last bytes of an object, in one request where the store can. */
export async function readTail(store: Store, key: string, length: number, options: ReadOptions = {}): Promise<Tail | undefined> {
  if (store.getTail !== undefined) return store.getTail(key, length, options)
  const info = await store.stat(key, options)
  if (info === undefined) return undefined
  const wanted = Math.min(length, info.size)
  const bytes = await store.getRange(key, info.size - wanted, wanted, { ...options, ifMatch: info.etag })
  return bytes && { ...info, bytes }
}

/**
 * A whole object, whatever its size, in one request where the store can.
 * @throws TooLargeError, without having read all of it, for more than `maxBytes`
 */
export async function readWhole(store: Store, key: string, options: WholeOptions = {}): Promise<Tail | undefined> {
  if (store.get !== undefined) return store.get(key, options)
  const { maxBytes, ...asking } = options
  return readVersion(store, key, asking, async (info) => {
    checkWhole(store.describe(key), info.size, maxBytes)
    const bytes = await store.getRange(key, 0, info.size, { ...asking, ifMatch: info.etag })
    return bytes && { ...info, bytes }
  })
}

/** How often an object may be replaced while it is being read. */
const VERSION_RETRIES = 3

/**
 * Asks for size and version, unless they are known, and reads that version; again when the object is replaced
 * in between.
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

/** No larger object is read as a whole unless that is asked for. */
export const MAX_WHOLE_BYTES = 2 ** 31

/** @throws TooLargeError */
export function checkWhole(file: string, size: number, maxBytes = MAX_WHOLE_BYTES): void {
  if (size > maxBytes) throw objectTooLarge(file, `${size}`, size, maxBytes)
}

/** @param told the size in words */
export const objectTooLarge = (file: string, told: string, actual: number, expected: number): HyperslabError =>
  new HyperslabError('TooLargeError', `the object has ${told} bytes, at most ${expected} are read`, { file, actual, expected })

export const endsBefore = (file: string, size: number, wanted: number): HyperslabError =>
  new HyperslabError('FormatError', `the file ends at byte ${size}, but bytes up to ${wanted} are wanted: it is truncated`, {
    file,
    actual: size,
    expected: wanted,
  })

export const changed = (file: string): HyperslabError =>
  new HyperslabError('ConflictError', 'the file was replaced by another writer since it was opened; open it again', { file })
