import { HyperslabError } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import { overlay } from '../core/overlay.ts'
import type { ObjectInfo, Store, StoredAt } from '../store/store.ts'
import type { NotFoundOptions } from '../tree/url-options.ts'
import { ANY_PLACE, type Places } from './places.ts'

/** Versions of objects by name: tags or, for files, size and time of the last change. */
export type PinnedVersions = Readonly<Record<string, string>>

/** Number of objects that are checked at once. */
const ASKED_AT_A_TIME = 16

/**
 * Versions of the objects that a source consists of: recorded when a job is planned, and compared when the
 * source is opened for its tasks. Chunks of Zarr are objects that are not included.
 */
export class Pins {
  readonly #known: PinnedVersions | undefined
  readonly #resolver: Places
  readonly #seen = new Map<string, string>()
  /** Recorded objects, to be checked again. */
  readonly #objects: { readonly store: Store; readonly key: string }[] = []
  readonly #places = new Map<string, Promise<StoredAt>>()
  /** One store for all local files, which limits the number of open ones. */
  #files: Store | undefined
  #isOpening = true

  /**
   * @param known the expected versions; if omitted, versions are recorded on first use
   * @param places resolves locations
   */
  constructor(known?: PinnedVersions, places: Places = ANY_PLACE) {
    this.#known = known
    this.#resolver = places
  }

  /** Returns a location with a store that records the versions of objects, until the source is open. */
  place(location: string, options: NotFoundOptions = {}): Promise<StoredAt> {
    const name = JSON.stringify([location, options.notFound])
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const place = this.#resolver.resolve(location, options).then(({ store, path }) => {
      if (store.files?.localPath === undefined) return { store: this.#watched(store), path }
      this.#files ??= this.#watched(store)
      return { store: this.#files, path }
    })
    this.#places.set(name, place)
    return place
  }

  /** Returns the recorded versions. Recording ends with this call. */
  seen(): PinnedVersions {
    this.#isOpening = false
    return Object.fromEntries([...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /**
   * Checks all objects again, because a file that is kept open may have been changed in place.
   * @throws ConflictError if one no longer exists or has another version
   */
  async check(): Promise<void> {
    await forEachLimited(this.#objects, ASKED_AT_A_TIME, async ({ store, key }) => {
      const found = await store.stat(key)
      const version = found && versionOf(store, found)
      const name = store.describe(key)
      if (version !== this.#seen.get(name)) throw changedSince(name, this.#seen.get(name), version)
    })
  }

  /** Returns a store that records its answers about whole objects. */
  #watched(store: Store): Store {
    const note = (key: string, found: Version | undefined): void => {
      if (this.#isOpening && found !== undefined) this.#note(store, key, found)
    }
    return overlay(store, (name, value) => {
      if (typeof value !== 'function' || !WATCHED.includes(name)) return value
      return async (key: string, ...rest: unknown[]): Promise<unknown> => {
        const found = (await value.call(store, key, ...rest)) as Version | undefined
        note(key, found)
        return found
      }
    })
  }

  #note(store: Store, key: string, found: Version): void {
    const name = store.describe(key)
    const version = versionOf(store, found)
    if (!this.#seen.has(name)) this.#objects.push({ store, key })
    this.#seen.set(name, version)
    if (this.#known === undefined || this.#known[name] === version) return
    throw changedSince(name, this.#known[name], version)
  }
}

/** Methods that return the version of an object. */
const WATCHED: readonly string[] = ['stat', 'getTail', 'getStart', 'get'] satisfies (keyof Store)[]

type Version = Pick<ObjectInfo, 'size' | 'etag'>

/** Returns the version of an object. For files, omits the first part, which is the inode. */
const versionOf = ({ files }: Store, { size, etag }: Version): string =>
  files?.localPath === undefined ? etag : `${size}-${etag.replace(/^.*-/, '')}`

/** Returns the error for a source that has changed since the job was planned. */
function changedSince(file: string, expected: string | undefined, actual = 'gone'): HyperslabError {
  const text =
    expected === undefined
      ? 'this file was not part of the source when the job was planned; plan it again'
      : `the source has changed since the job was planned: it was ${expected}, now it is ${actual}; plan it again`
  return new HyperslabError('ConflictError', text, { file, expected, actual })
}
