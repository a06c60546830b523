import type { CacheLike } from '../../src/store/persistent/browser-backend.ts'

/** Cache API in memory with a quota. Its writes are visible as a whole, after a turn of the event loop. */
export class FakeCaches {
  readonly caches = new Map<string, Map<string, Response>>()
  /** Most bytes of a cache. */
  quota = Infinity

  async open(name: string): Promise<CacheLike> {
    const entries = this.caches.get(name) ?? new Map<string, Response>()
    this.caches.set(name, entries)
    const sizes = new Map<string, number>()
    return {
      match: async (url) => entries.get(url)?.clone(),
      put: async (url, response) => {
        const { length } = new Uint8Array(await (response as Response).clone().arrayBuffer())
        sizes.delete(url)
        const used = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)
        if (used + length > this.quota) throw new DOMException('Quota exceeded.', 'QuotaExceededError')
        sizes.set(url, length)
        entries.set(url, response as Response)
      },
      delete: async (url) => {
        sizes.delete(url)
        return entries.delete(url)
      },
      keys: async () => [...entries.keys()].map((url) => new Request(url)),
    }
  }
}
