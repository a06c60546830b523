import type { Signal } from '../core/signal.ts'
import type { ObjectTail, UnprovedAbsence } from './store.ts'
import type { AbsenceState } from './witness.ts'

/** Number of bytes of the known object that are read again. */
const WITNESS_BYTES = 4096

/** Confirms the absences of a run. Called before the run returns a result that depends on them. */
export type Settle = (signal?: Signal) => Promise<void>

/**
 * Unproved absences in a place, and the known object that confirms them. After a session has ended, a server
 * may answer for every object as it does for missing ones. A run that met such answers therefore reads the
 * known object again before it ends. This is one request, shared by all runs that wait for it. Runs whose
 * absences are all proved need none.
 */
export class Absences {
  readonly #state: AbsenceState

  /** @param forget drops all remembered absences; called after a failed check */
  constructor(store: AbsenceState['store'], forget: () => void = () => undefined) {
    this.#state = { store, forget, unproved: 0, confirmed: 0, failures: 0 }
  }

  /** Records an absence. Passed to reads. */
  readonly onUnproved = (absence: UnprovedAbsence): void => {
    this.#state.unproved++
    this.#state.last = absence
  }

  /** Answer of the last unproved absence that is not confirmed yet. */
  get doubt(): UnprovedAbsence | undefined {
    const { confirmed, unproved, last } = this.#state
    return confirmed < unproved ? last : undefined
  }

  /** Records an object as the known one, unless there is one already. */
  known(key: string, { bytes, size, etag }: ObjectTail): void {
    if (this.#state.witness !== undefined || bytes.length === 0) return
    const end = bytes.slice(-WITNESS_BYTES)
    this.#state.witness = { key, offset: size - end.length, bytes: end, etag }
  }

  /** Records a write of this process. A write to the known object replaces the expected bytes. */
  written(key: string, bytes: Uint8Array | undefined): void {
    if (this.#state.witness?.key !== key) return
    this.#state.witness = undefined
    if (bytes !== undefined) this.known(key, { bytes, size: bytes.length, etag: '' })
  }

  /** Begins a run. The result confirms its absences. */
  begin(): Settle {
    const state = this.#state
    const { failures } = state
    return async (signal) => {
      const { unproved } = state
      if (failures === state.failures && state.confirmed >= unproved) return
      await (await import('./witness.ts')).confirmAbsences(state, { failures, unproved }, signal)
    }
  }

  /** Runs work, and confirms its absences before its result is returned. */
  async settled<T>(work: () => Promise<T>, signal?: Signal): Promise<T> {
    const settle = this.begin()
    const result = await work()
    await settle(signal)
    return result
  }

  /** Reads the known object again, even if all absences are confirmed. */
  recheck(signal?: Signal): Promise<void> {
    this.#state.unproved++
    return this.begin()(signal)
  }
}
