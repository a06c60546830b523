import { HyperslabError } from '../core/errors.ts'
import { isLongKey, MAX_KEY_BYTES, showKey } from '../core/foreign-key.ts'

/** One page of a listing. */
export interface ListPage {
  readonly keys: readonly string[]
  /** Whether more pages follow. */
  readonly truncated: boolean
  /** Position of the next page. */
  readonly next: string | undefined
}

/** Most keys of one listing. A larger folder holds no container, and its names take too much memory. */
const MAX_KEYS = 1_000_000
/** Most characters of all keys of one listing. */
const MAX_CHARACTERS = 2 ** 28
/** Most pages of one listing. A page of S3 or R2 has up to 1000 keys, but may have fewer. */
const MAX_PAGES = 10_000
/** Most pages in a row without a new key, as keys under deletion produce them. */
const MAX_IDLE_PAGES = 20

/**
 * Returns the keys of all pages, each once.
 * @param page returns the first page, or the page that begins at `from`
 * @throws StoreError if the server announces more keys without their position, repeats pages, or lists a key
 *   that no store has; TooLargeError for more than a million keys, or 2^28 characters
 */
export async function listPages(file: string, page: (from: string | undefined) => Promise<ListPage>): Promise<string[]> {
  const keys = new Set<string>()
  let from: string | undefined
  let characters = 0
  for (let [pages, idle] = [1, 0]; ; pages++) {
    const before = keys.size
    const { keys: more, truncated, next } = await page(from)
    for (const key of more) {
      if (isLongKey(key)) {
        const text = `the server lists a key of more than ${MAX_KEY_BYTES} bytes, ${showKey(key)}`
        throw new HyperslabError('StoreError', text, { file, actual: key.length, expected: MAX_KEY_BYTES })
      }
      if (keys.has(key)) continue
      keys.add(key)
      characters += key.length
    }
    if (characters > MAX_CHARACTERS) {
      const text = `the keys of a listing have more than ${MAX_CHARACTERS} characters; list a folder with fewer objects`
      throw new HyperslabError('TooLargeError', text, { file, actual: characters, expected: MAX_CHARACTERS })
    }
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
