import { HyperslabError, isHyperslabError } from '../../../core/errors.ts'
import { Lock } from '../../../core/limiter.ts'
import { pause } from '../../../core/pace.ts'
import type { Signal } from '../../../core/signal.ts'
import type { Absences } from '../../../store/absences.ts'
import { checkUnlinked, type TestedFolders } from '../../../store/links.ts'
import type {
  ConditionalWrites,
  ObjectInfo,
  ObjectTail,
  PublishCondition,
  Store,
  UnprovedAbsence,
  WholeOptions,
  WritableStore,
} from '../../../store/store.ts'
import { readWhole } from '../../../store/whole.ts'
import { isWritable } from '../../../store/writable.ts'

/** Attempts to change an object that other writers keep replacing. */
const MOST_CONFLICTS = 50
/** Longest pause before another attempt, in ms. Pauses grow up to this. */
const MOST_PAUSE_MS = 100
/** Maximum number of remembered folders. */
const MOST_FOLDERS = 4096

/** Options of changing an object. */
export interface ChangeOptions {
  /** Maximum size of the object in bytes. */
  readonly maxBytes?: number | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
  /**
   * Throws if the writer has lost its claim. Called after an object was read and before it is replaced.
   * Objects are never removed if this is set.
   */
  readonly holds?: (() => Promise<void>) | undefined
}

/** Options of removing an object. */
export interface RemoveOptions extends Omit<ChangeOptions, 'maxBytes'> {
  /** Folders that one operation has tested for links. It shares them among its removals. */
  readonly tested?: TestedFolders | undefined
}

/**
 * Returns the new bytes of an object: undefined to remove it, the same bytes to leave it as it is.
 * @param old current bytes; undefined if the object does not exist
 * @param isRemovable false if the object must stay, because the store does not remove on condition
 */
export type Change = (old: Uint8Array | undefined, isRemovable: boolean) => Promise<Uint8Array | undefined>

interface Held {
  readonly lock: Lock
  users: number
}

/**
 * Writes whole objects of a store. Changes each object for one caller at a time. A changed object is stored
 * on condition that the store still has the version that was read. Without conditional writes, other
 * processes must not write to the same objects.
 */
export class ObjectWriter {
  readonly #store: WritableStore
  readonly #root: string
  readonly #absences: Absences
  readonly #written: (key: string) => void
  readonly #locks = new Map<string, Held>()
  readonly #folders = new Set<string>()
  #conditions: Promise<ConditionalWrites> | undefined

  /**
   * @param root the opened location, below which nothing behind a link is removed
   * @param absences absences of the store; this writer adds those that it finds
   * @param written called for each object that may have changed
   * @throws ReadOnlyError for a store that cannot be written to
   */
  constructor(store: Store, root: string, absences: Absences, written: (key: string) => void) {
    checkWritableStore(store)
    this.#store = store
    this.#root = root
    this.#absences = absences
    this.#written = written
  }

  /**
   * Reads an object, changes it and stores it. Repeats this when another writer was faster. If the store does
   * not prove that an object is absent, the object is created only if none exists, because it may exist and
   * be unreadable.
   * @throws errors of `change`; ConflictError after too many faster writers; errors of the store
   */
  change(key: string, options: ChangeOptions, change: Change): Promise<void> {
    return this.#alone(key, () => this.#change(key, options, change))
  }

  /** Stores an object, and replaces an existing one. Without bytes, none is left. */
  replace(key: string, bytes: Uint8Array | undefined, { holds, signal }: Omit<ChangeOptions, 'maxBytes'> = {}): Promise<void> {
    return this.#alone(key, async () => {
      if (bytes === undefined) return this.removeVersion(key, undefined)
      if (holds === undefined) return this.#put(key, bytes)
      try {
        await this.publish(key, bytes, { ifAbsent: true })
      } catch (error) {
        if (!isHyperslabError(error, 'ConflictError')) throw error
        await this.#change(key, { holds, signal }, async () => bytes)
      }
    })
  }

  /**
   * Removes an object, if it exists.
   * @throws UnsupportedError for an object behind a link
   */
  remove(key: string, { holds, signal, tested }: RemoveOptions = {}): Promise<void> {
    return this.#alone(key, async () => {
      await checkUnlinked(this.#store, this.#root, key, tested)
      if (holds === undefined) return this.removeVersion(key, undefined)
      const { remove } = await this.can(key)
      const found = await this.#store.stat(key, { signal })
      if (found === undefined) return
      await holds()
      await this.removeVersion(key, remove ? found.etag : undefined)
    })
  }

  /** Reads an object with its version. */
  read(key: string, options: WholeOptions): Promise<ObjectTail | undefined> {
    return readWhole(this.#store, key, options)
  }

  async #change(key: string, { maxBytes, signal, holds }: ChangeOptions, change: Change): Promise<void> {
    const { replace, remove } = await this.can(key)
    let tried: Uint8Array | undefined
    for (let conflicts = 0; ; conflicts++) {
      signal?.throwIfAborted()
      let doubt: UnprovedAbsence | undefined
      const settle = this.#absences.begin()
      const onUnproved = (absence: UnprovedAbsence): void => {
        doubt = absence
        this.#absences.onUnproved(absence)
      }
      const old = await readWhole(this.#store, key, { maxBytes, signal, onUnproved })
      // An earlier attempt succeeded, but its answer was lost.
      if (tried !== undefined && old !== undefined && sameBytes(tried, old.bytes)) return
      const isUnsure = old === undefined && doubt !== undefined
      const bytes = await change(old?.bytes, holds === undefined && (remove || !replace) && !isUnsure)
      if (bytes === old?.bytes) return await settle(signal)
      if (old !== undefined) await holds?.()
      const condition = {
        ifAbsent: old === undefined && (replace || isUnsure),
        ifMatch: replace ? old?.etag : undefined,
      }
      try {
        if (bytes === undefined) await this.removeVersion(key, condition.ifMatch)
        else if (condition.ifAbsent || condition.ifMatch !== undefined) await this.publish(key, bytes, condition)
        else await this.#put(key, bytes)
        return
      } catch (error) {
        if (!isHyperslabError(error, 'ConflictError') || conflicts === MOST_CONFLICTS) throw error
        if (doubt !== undefined && isUnsure) throw unreadable(doubt, error)
        tried = bytes
        await pause(Math.random() * Math.min(MOST_PAUSE_MS, 2 ** conflicts), signal)
      }
    }
  }

  /** Discards the known folders, because some were removed. */
  forgetFolders(): void {
    this.#folders.clear()
  }

  /** Stores an object if the condition holds. */
  async publish(key: string, bytes: Uint8Array, condition: PublishCondition): Promise<ObjectInfo> {
    await this.#makeFolder(key)
    try {
      const stage = await this.#store.stage(key)
      try {
        const info = await stage.publish(key, bytes, condition)
        this.#absences.written(key, bytes)
        return info
      } finally {
        await stage.discard()
      }
    } finally {
      this.#written(key)
    }
  }

  async #put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#makeFolder(key)
    try {
      await this.#store.put(key, bytes)
      this.#absences.written(key, bytes)
    } finally {
      this.#written(key)
    }
  }

  /**
   * Removes one version of an object or, without `ifMatch`, any version. Only for objects whose new content
   * is "none", such as a chunk of fill values or a released claim. Other removals are {@link remove}.
   */
  async removeVersion(key: string, ifMatch: string | undefined): Promise<void> {
    try {
      await this.#store.delete(key, { ifMatch })
      this.#absences.written(key, undefined)
    } finally {
      this.#written(key)
    }
  }

  async #makeFolder(key: string): Promise<void> {
    const folder = key.slice(0, key.lastIndexOf('/') + 1)
    if (this.#store.files === undefined || this.#folders.has(folder)) return
    await this.#store.files.makeFolder(key)
    if (this.#folders.size === MOST_FOLDERS) this.#folders.clear()
    this.#folders.add(folder)
  }

  /** Returns the conditional writes that the store supports. */
  can(near: string): Promise<ConditionalWrites> {
    this.#conditions ??= this.#ask(near)
    return this.#conditions
  }

  async #ask(near: string): Promise<ConditionalWrites> {
    try {
      return (await this.#store.conditionalWrites?.(near)) ?? NONE
    } catch (error) {
      this.#conditions = undefined
      throw error
    }
  }

  async #alone<T>(key: string, work: () => Promise<T>): Promise<T> {
    const held = this.#locks.get(key) ?? { lock: new Lock(), users: 0 }
    this.#locks.set(key, held)
    held.users++
    try {
      return await held.lock.run(work)
    } finally {
      if (--held.users === 0) this.#locks.delete(key)
    }
  }
}

/** Returns the error for an object that was answered as missing, but exists when it is created. */
function unreadable({ file, answer }: UnprovedAbsence, cause: unknown): HyperslabError {
  const text = `the server answered ${answer}, but there is such an object, which may not be read: it was not changed; give the credentials permission to read it`
  return new HyperslabError('StoreError', text, { file, actual: answer, cause })
}

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i])

const NONE: ConditionalWrites = { replace: false, remove: false }

/** @throws ReadOnlyError for a store that cannot be written to */
function checkWritableStore(store: Store): asserts store is WritableStore {
  if (!isWritable(store) || store.list === undefined) throw new HyperslabError('ReadOnlyError', 'this store cannot be written')
}
