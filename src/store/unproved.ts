import { HyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import type { Store, UnprovedAbsence } from './store.ts'

/**
 * Returns the size and version of an object before a write.
 * @throws StoreError if the answer proves neither presence nor absence
 */
export async function statToWrite(store: Pick<Store, 'stat'>, key: string, signal?: Signal): ReturnType<Store['stat']> {
  return store.stat(key, { signal, onUnproved: refuseUnproved })
}

/**
 * Refuses an absence that is not proved, before a write that depends on it.
 * @throws StoreError
 */
export function refuseUnproved({ file, answer }: UnprovedAbsence): never {
  const text = `the server answered ${answer}, which does not show whether an object exists already; nothing is written there. Give the credentials permission to read and to list`
  throw new HyperslabError('StoreError', text, { file, actual: answer })
}
