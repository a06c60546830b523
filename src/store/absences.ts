import { HyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import { SingleFlight } from '../core/single-flight.ts'
import type { Store, Tail, UnprovedAbsence } from './store.ts'
import type { Witness } from './witness.ts'

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
  readonly #store: Pick<Store, 'describe' | 'getRange'>
  readonly #forget: () => void
  readonly #checks = new SingleFlight<'', void>()
  #witness: Witness | undefined
  /** Number of absences that were unproved when they were met, and number of confirmed ones among them. */
  #unproved = 0
  #confirmed = 0
  #last: UnprovedAbsence | undefined
  /** Number of failed checks. A run discards its results if it changes meanwhile. */
  #failures = 0
  #failure: unknown

  /** @param forget drops all remembered absences; called after a failed check */
  constructor(store: Pick<Store, 'describe' | 'getRange'>, forget: () => void = () => undefined) {
    this.#store = store
    this.#forget = forget
  }

  /** Records an absence. Passed to reads. */
  readonly onUnproved = (absence: UnprovedAbsence): void => {
    this.#unproved++
    this.#last = absence
  }

  /** Answer of the last unproved absence that is not confirmed yet. */
  get doubt(): UnprovedAbsence | undefined {
    return this.#confirmed < this.#unproved ? this.#last : undefined
  }

  /** Records an object as the known one, unless there is one already. */
  known(key: string, { bytes, size, etag }: Tail): void {
    if (this.#witness !== undefined || bytes.length === 0) return
    const end = bytes.slice(-WITNESS_BYTES)
    this.#witness = { key, offset: size - end.length, bytes: end, etag }
  }

  /** Records a write of this process. A write to the known object replaces the expected bytes. */
  written(key: string, bytes: Uint8Array | undefined): void {
    if (this.#witness?.key !== key) return
    this.#witness = undefined
    if (bytes !== undefined) this.known(key, { bytes, size: bytes.length, etag: '' })
  }

  /** Begins a run. The result confirms its absences. */
  begin(): Settle {
    const failures = this.#failures
    return async (signal) => {
      const target = this.#unproved
      while (failures === this.#failures && this.#confirmed < target)
        // A check that began earlier does not cover later absences, so another one follows.
        await this.#checks.share('', (shared) => this.#check(shared), signal)
      if (failures !== this.#failures) throw this.#failure
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
    this.#unproved++
    return this.begin()(signal)
  }

  async #check(signal: Signal): Promise<void> {
    const upTo = this.#unproved
    try {
      const { readWitness } = await import('./witness.ts')
      await readWitness(this.#store, this.#witness, this.#last, signal)
    } catch (error) {
      signal.throwIfAborted()
      this.#failures++
      this.#failure = error
      this.#forget()
      throw error
    } finally {
      // Also after a failure: its absences are forgotten, and the runs that met them fail.
      if (!signal.aborted) this.#confirmed = upTo
    }
  }
}

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
  const text = `the server answered ${answer}, which does not tell whether there is an object already; nothing is written there. Give the credentials permission to read and to list`
  throw new HyperslabError('StoreError', text, { file, actual: answer })
}
