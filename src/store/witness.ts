import { HyperslabError, isHyperslabError, messageOf } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import { SingleFlight } from '../core/single-flight.ts'
import type { Store, UnprovedAbsence } from './store.ts'

/** A known object of a place, with the end of its bytes. */
interface Witness {
  readonly key: string
  readonly offset: number
  readonly bytes: Uint8Array
  /** Version; undefined if this process has written the object since. */
  readonly etag: string | undefined
}

/** Unproved absences in a place, and the known object that confirms them. */
export interface AbsenceState {
  readonly store: Pick<Store, 'describe' | 'getRange'>
  /** Drops all remembered absences. Called after a failed check. */
  readonly forget: () => void
  witness?: Witness | undefined
  /** Number of absences that were unproved when they were met. */
  unproved: number
  /** Number of confirmed ones among them. */
  confirmed: number
  last?: UnprovedAbsence
  /** Number of failed checks. A run discards its results if it changes meanwhile. */
  failures: number
  failure?: unknown
  /** The check under way, shared by all runs that wait for it. */
  checks?: SingleFlight<'', void>
}

/**
 * Confirms the absences that a run has met.
 * @param run number of failed checks when the run began, and of unproved absences when it ended
 * @throws errors of {@link readWitness}, also those of checks for other runs meanwhile
 */
export async function confirmAbsences(
  state: AbsenceState,
  { failures, unproved }: Pick<AbsenceState, 'failures' | 'unproved'>,
  signal: Signal | undefined,
): Promise<void> {
  state.checks ??= new SingleFlight()
  while (failures === state.failures && state.confirmed < unproved)
    // A check that began earlier does not cover later absences, so another one follows.
    await state.checks.share('', (shared) => check(state, shared), signal)
  if (failures !== state.failures) throw state.failure
}

async function check(state: AbsenceState, signal: Signal): Promise<void> {
  const upTo = state.unproved
  try {
    await readWitness(state.store, state.witness, state.last, signal)
  } catch (error) {
    signal.throwIfAborted()
    state.failures++
    state.failure = error
    state.forget()
    throw error
  } finally {
    // A failed check counts as well: `forget` has dropped the absences, and the reads that met them fail.
    if (!signal.aborted) state.confirmed = upTo
  }
}

/**
 * Reads a known object again, which confirms the absences of other objects.
 * @param doubt answer of the last unproved absence
 * @throws StoreError if the object is absent now, cannot be read, or has other bytes
 */
async function readWitness(
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
