import { HyperslabError, isHyperslabError, messageOf } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import type { Store, UnprovedAbsence } from './store.ts'

/** A known object of a place, with the end of its bytes. */
export interface Witness {
  readonly key: string
  readonly offset: number
  readonly bytes: Uint8Array
  /** Version; undefined if this process has written the object since. */
  readonly etag: string | undefined
}

/**
 * Reads a known object again, which confirms the absences of other objects.
 * @param doubt answer of the last unproved absence
 * @throws StoreError if the object is absent now, cannot be read, or has other bytes
 */
export async function readWitness(
  store: Pick<Store, 'describe' | 'getRange'>,
  witness: Witness | undefined,
  doubt: UnprovedAbsence | undefined,
  signal: Signal,
): Promise<void> {
  const refusal = (why: string, cause?: unknown): HyperslabError => {
    const said = doubt && `the server answered ${doubt.answer}, which does not prove that there is no such object, and `
    const text = `${said ?? ''}${why}; renew the login, the credentials or the permission to read, then read again`
    return new HyperslabError('StoreError', text, { ...(doubt && { file: doubt.file }), actual: doubt?.answer, cause })
  }
  if (witness === undefined) throw refusal('no object was read there that could be asked for again to tell')
  const { key, offset, bytes, etag } = witness
  const file = store.describe(key)
  let now: Uint8Array | undefined
  let answer: UnprovedAbsence | undefined
  try {
    const onUnproved = (absence: UnprovedAbsence): void => {
      answer = absence
    }
    const pin = etag === undefined || etag === '' ? {} : { ifMatch: etag }
    now = await store.getRange(key, offset, bytes.length, { ...pin, fresh: true, signal, onUnproved })
  } catch (error) {
    signal.throwIfAborted()
    if (!isHyperslabError(error)) throw error
    if (error.tag === 'ConflictError')
      throw refusal(`${file}, which was read before, is another version now; open the place again`, error)
    throw refusal(`${file}, which was read before, cannot be read now: ${messageOf(error)}`, error)
  }
  if (now === undefined) throw refusal(`${file}, which was read before, is now answered ${answer?.answer ?? 'as missing'}, too`)
  if (!now.every((byte, i) => byte === bytes[i])) throw refusal(`${file}, which was read before, now has other bytes`)
}
