import { HyperslabError } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import type { ObjectInfo, Store } from '../store/store.ts'
import type { NotFoundOptions } from '../tree/location.ts'
import { ANY_PLACE, type Places } from './places.ts'

/** The versions of objects, by their names: tags, of files their size and when they were changed. */
export type PinnedVersions = Readonly<Record<string, string>>

/** Objects that are asked for at the same time. */
const ASKED_AT_A_TIME = 16

/**
 * The versions of the objects that a recipe is opened from: noted when a job is planned, and compared when
 * the source is opened for its tasks. Chunks of Zarr are objects that nobody looks at for that.
 */
export class Pins {
  readonly #known: PinnedVersions | undefined
  readonly #resolver: Places
  readonly #seen = new Map<string, string>()
  /** Where what was seen is asked for again. */
  readonly #objects: { readonly store: Store; readonly key: string }[] = []
  readonly #places = new Map<string, Promise<{ readonly store: Store; readonly path: string }>>()
  /** Local files by way of one store, which bounds how many of them are open. */
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

  /** A location, with a store that sees the versions of what is read until it was opened. */
  place(location: string, options: NotFoundOptions = {}): Promise<{ readonly store: Store; readonly path: string }> {
    const name = JSON.stringify([location, options.notFound])
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const place = this.#resolver.resolve(location, options).then(({ store, path }) => {
      if (store.localPath === undefined) return { store: this.#watched(store), path }
      this.#files ??= this.#watched(store)
      return { store: this.#files, path }
    })
    this.#places.set(name, place)
    return place
  }

  /** The versions that were seen; from there on, none is looked at. */
  seen(): PinnedVersions {
    this.#isOpening = false
    return Object.fromEntries([...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /**
   * Looks at all objects once more: a file that is kept open may have been changed where it lies.
   * @throws ConflictError where one is gone or another version
   */
  async check(): Promise<void> {
    await forEachLimited(this.#objects, ASKED_AT_A_TIME, async ({ store, key }) => {
      const found = await store.stat(key)
      const version = found && versionOf(store, found)
      const name = store.describe(key)
      if (version !== this.#seen.get(name)) throw changedSince(name, this.#seen.get(name), version)
    })
  }

  /** A store whose answers about whole objects are noted. */
  #watched(store: Store): Store {
    const note = (key: string, found: Version | undefined): void => {
      if (this.#isOpening && found !== undefined) this.#note(store, key, found)
    }
    const watched: Partial<Record<keyof Store, unknown>> = {}
    for (const name of ['stat', 'getTail', 'get'] as const) {
      const method = store[name]?.bind(store) as ((key: string, ...rest: unknown[]) => Promise<never>) | undefined
      if (method === undefined) continue
      watched[name] = async (key: string, ...rest: unknown[]) => {
        const found = await method(key, ...rest)
        note(key, found)
        return found
      }
    }
    return new Proxy(store, {
      get(target, name) {
        if (Object.hasOwn(watched, name)) return watched[name as keyof Store]
        const value = Reflect.get(target, name, target) as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
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

type Version = Pick<ObjectInfo, 'size' | 'etag'>

/** The first part of the version of a file is its number on the machine that has it. */
const versionOf = ({ localPath }: Store, { size, etag }: Version): string =>
  localPath === undefined ? etag : `${size}-${etag.replace(/^.*-/, '')}`

/** The source is not what was planned for any more. */
function changedSince(file: string, expected: string | undefined, actual = 'gone'): HyperslabError {
  const text =
    expected === undefined
      ? 'this file was not part of the source when the job was planned; plan it again'
      : `the source has changed since the job was planned: it was ${expected}, now it is ${actual}; plan it again`
  return new HyperslabError('ConflictError', text, { file, expected, actual })
}
