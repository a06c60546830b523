import { HyperslabError } from '../core/errors.ts'

/** A part of a listing. */
export interface ListPage {
  readonly keys: readonly string[]
  /** Whether more follow. */
  readonly truncated: boolean
  /** Where they do. */
  readonly next: string | undefined
}

/** What one listing may hold: a folder of more files is not one of containers, and names take memory. */
const MAX_KEYS = 1_000_000
/** A page of S3 and of R2 has up to a thousand keys, but may have fewer. */
const MAX_PAGES = 10_000
/** Pages without a new key, as of keys that are being deleted. */
const MAX_IDLE_PAGES = 20

/**
 * The keys of all pages, each once.
 * @param page gives the first page, or the one that begins where another one said
 * @throws StoreError when the server says that more follows and not where, or nothing new comes;
 *   TooLargeError
 */
export async function listPages(file: string, page: (from: string | undefined) => Promise<ListPage>): Promise<string[]> {
  const keys = new Set<string>()
  let from: string | undefined
  for (let [pages, idle] = [1, 0]; ; pages++) {
    const before = keys.size
    const { keys: more, truncated, next } = await page(from)
    for (const key of more) keys.add(key)
    if (!truncated) return [...keys]
    if (!next) throw new HyperslabError('StoreError', 'the server lists a part and does not say where the rest begins', { file })
    idle = keys.size > before ? 0 : idle + 1
    if (next === from || idle > MAX_IDLE_PAGES)
      throw new HyperslabError('StoreError', 'the server lists the same page for ever', { file, actual: pages })
    if (keys.size > MAX_KEYS || pages >= MAX_PAGES) {
      const text = `a listing goes on after ${keys.size} keys on ${pages} pages; up to ${MAX_KEYS} keys on ${MAX_PAGES} pages are taken`
      throw new HyperslabError('TooLargeError', text, { file, actual: keys.size, expected: MAX_KEYS })
    }
    from = next
  }
}
