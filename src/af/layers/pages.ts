import { isHyperslabError } from '../../core/errors.ts'
import type { Store, StoreOptions } from '../../store/store.ts'

/**
 * Whether a file that could not be read, or that contradicts its name, is a page that the server returns for
 * every name.
 * @param error the error of reading it
 */
export async function isAnsweredAlike(store: Store, key: string, error: unknown, options: StoreOptions): Promise<boolean> {
  const mayBePage = error === undefined || isHyperslabError(error, 'FormatError', 'UnsupportedError')
  if (!mayBePage || store.answersAlike === undefined) return false
  const nothing = `${key.slice(0, key.lastIndexOf('/') + 1)}no-such-${Math.random().toString(36).slice(2)}.af`
  try {
    return await store.answersAlike(key, nothing, options)
  } catch {
    options.signal?.throwIfAborted()
    // The first error says more than a failure of this request.
    return false
  }
}
