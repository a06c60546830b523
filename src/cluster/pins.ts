import { HyperslabError } from '../core/errors.ts'
import { resolveLocation } from '../runtime/location.ts'
import type { Store } from '../store/store.ts'

/** The versions of objects, by their names: tags, of files their size and when they were changed. */
export type PinnedVersions = Readonly<Record<string, string>>

/**
 * The versions of the objects that a recipe is opened from: noted when a job is planned, and compared when
 * the source is opened for its tasks. Chunks of Zarr are objects that nobody looks at for that.
 */
export class Pins {
  readonly #known: PinnedVersions | undefined
  readonly #seen = new Map<string, string>()
  readonly #places = new Map<string, Promise<{ readonly store: Store; readonly path: string }>>()
  #isOpening = true

  /** @param known what the versions have to be; noted when left out */
  constructor(known?: PinnedVersions) {
    this.#known = known
  }

  /** A location, with a store that sees the versions of what is read until it was opened. */
  place(location: string): Promise<{ readonly store: Store; readonly path: string }> {
    const known = this.#places.get(location)
    if (known !== undefined) return known
    const place = resolveLocation(location).then(({ store, path }) => ({ store: this.#watched(store), path }))
    this.#places.set(location, place)
    return place
  }

  /** The versions that were seen; from there on, none is looked at. */
  seen(): PinnedVersions {
    this.#isOpening = false
    return Object.fromEntries([...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** A store whose answers about whole objects are noted. */
  #watched(store: Store): Store {
    const note = (key: string, found: { readonly size: number; readonly etag: string } | undefined): void => {
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

  #note(store: Store, key: string, { size, etag }: { readonly size: number; readonly etag: string }): void {
    const name = store.describe(key)
    // The first part of the version of a file is its number on the machine that has it.
    const version = store.localPath === undefined ? etag : `${size}-${etag.replace(/^.*-/, '')}`
    this.#seen.set(name, version)
    if (this.#known === undefined || this.#known[name] === version) return
    throw changedSince(name, this.#known[name], version)
  }
}

/** The source is not what was planned for any more. */
function changedSince(file: string, expected: string | undefined, actual: string): HyperslabError {
  const text =
    expected === undefined
      ? 'this file was not part of the source when the job was planned; plan it again'
      : `the source has changed since the job was planned: it was ${expected}, now it is ${actual}; plan it again`
  return new HyperslabError('ConflictError', text, { file, expected, actual })
}
