import { HyperslabError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import type { CacheBackend, StoredEntry } from './backend.ts'

/** The used part of a `Response`. */
interface ResponseLike {
  readonly headers: { get(name: string): string | null }
  arrayBuffer(): Promise<ArrayBuffer>
}

/** The used part of a `Cache`. */
export interface CacheLike {
  match(url: string): Promise<ResponseLike | undefined>
  put(url: string, response: object): Promise<void>
  delete(url: string): Promise<boolean>
  keys(): Promise<readonly { readonly url: string }[]>
}

/** The used part of a `CacheStorage`. */
interface CacheStorageLike {
  open(name: string): Promise<CacheLike>
}

interface LocksLike {
  request<T>(name: string, work: () => Promise<T>): Promise<T>
}

declare const caches: CacheStorageLike | undefined
declare const navigator: { readonly locks?: LocksLike } | undefined
declare const Response: new (body: Uint8Array, init: { headers: Record<string, string> }) => object

/** Start of the URLs of entries. The Cache API accepts only URLs as keys. No request is sent to these. */
const URL_START = 'https://hyperslab.invalid/'
/** Entry with the sizes and times of use of all others, because the Cache API does not list them. */
const INDEX = `${URL_START}index`

const BYTES = 'x-hyperslab-bytes'
const WRITTEN = 'x-hyperslab-written'

type Index = Map<string, StoredEntry>

/** Entries in a cache of the Cache API, which all tabs and workers of an origin share. */
export class BrowserBackend implements CacheBackend {
  readonly #cache: CacheLike
  readonly #lock: string

  private constructor(cache: CacheLike, lock: string) {
    this.#cache = cache
    this.#lock = lock
  }

  /** @throws UnsupportedError if there is no Cache API; errors of the browser, such as in private windows */
  static async open(name: string): Promise<BrowserBackend> {
    if (typeof caches === 'undefined')
      throw new HyperslabError(
        'UnsupportedError',
        'there is no Cache API here; pages have it if they are loaded from https: or localhost',
      )
    const full = `hyperslab:${name}`
    return new BrowserBackend(await caches.open(full), full)
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    const response = await this.#cache.match(URL_START + name)
    return response && new Uint8Array(await response.arrayBuffer())
  }

  write(name: string, bytes: Uint8Array): Promise<void> {
    const headers = { [BYTES]: String(bytes.length), [WRITTEN]: String(Date.now()) }
    return this.#cache.put(URL_START + name, new Response(bytes, { headers }))
  }

  async remove(name: string): Promise<void> {
    await this.#cache.delete(URL_START + name)
  }

  async list(): Promise<StoredEntry[]> {
    const [keys, index] = [await this.#cache.keys(), await this.#index()]
    const names = keys.map(({ url }) => url.slice(URL_START.length)).filter((name) => /^[0-9a-f]{64}$/.test(name))
    const entries = await Promise.all(names.map(async (name) => index.get(name) ?? (await this.#entryOf(name))))
    return entries.filter((entry) => entry !== undefined)
  }

  async touch(uses: ReadonlyMap<string, number>): Promise<void> {
    if (uses.size === 0) return
    const update = async (): Promise<void> => {
      const entries = await this.list()
      const index = entries.map(({ name, bytes, used }) => [name, bytes, Math.max(used, uses.get(name) ?? 0)])
      await this.#cache.put(INDEX, new Response(new TextEncoder().encode(JSON.stringify(index)), { headers: {} }))
    }
    const locks = typeof navigator === 'undefined' ? undefined : navigator.locks
    // Without locks, tabs may overwrite each other's uses, which changes only the order of eviction.
    await (locks === undefined ? update() : locks.request(this.#lock, update))
  }

  /** Returns name, size and time of an entry from its headers. */
  async #entryOf(name: string): Promise<StoredEntry | undefined> {
    const headers = (await this.#cache.match(URL_START + name))?.headers
    if (headers === undefined) return undefined
    return { name, bytes: Number(headers.get(BYTES)) || 0, used: Number(headers.get(WRITTEN)) || 0 }
  }

  /** Returns the entries of the index. An index that cannot be parsed counts as empty. */
  async #index(): Promise<Index> {
    const response = await this.#cache.match(INDEX)
    if (response === undefined) return new Map()
    try {
      const list = parseJson(new Uint8Array(await response.arrayBuffer()), 'the index of the cache') as [string, number, number][]
      return new Map(list.map(([name, bytes, used]) => [name, { name, bytes: Number(bytes), used: Number(used) }]))
    } catch {
      return new Map()
    }
  }
}
