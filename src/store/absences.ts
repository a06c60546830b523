import { HyperslabError, isHyperslabError, messageOf } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import { SingleFlight } from '../core/single-flight.ts'
import type { Store, Tail, UnprovedAbsence } from './store.ts'

/** Bytes of the known object that are read again. */
const WITNESS_BYTES = 4096

/** An object that was read, and the end of its bytes. */
interface Witness {
  readonly key: string
  readonly offset: number
  readonly bytes: Uint8Array
  /** Undefined where this process has written the object since. */
  readonly etag: string | undefined
}

/** Confirms what a run found absent. Called before the run returns anything that depends on it. */
export type Settle = (signal?: Signal) => Promise<void>

/**
 * Absences in a place that answers have not proved, and the known object that confirms them. A server whose
 * session has ended may answer for every object as it does for missing ones, so a run that met such answers
 * reads the known object again before it ends: one request, shared by all runs that wait for it. Runs whose
 * absences are all proved cost none.
 */
export class Absences {
  readonly #store: Pick<Store, 'describe' | 'getRange'>
  readonly #forget: () => void
  readonly #checks = new SingleFlight<'', void>()
  #witness: Witness | undefined
  /** Absences that were not proved when they were met, counted, and how many of them are confirmed. */
  #unproved = 0
  #confirmed = 0
  #last: UnprovedAbsence | undefined
  /** Checks that failed: what a run has read meanwhile is not to be believed. */
  #failures = 0
  #failure: unknown

  /** @param forget drops all that is remembered of absences, as a check has failed */
  constructor(store: Pick<Store, 'describe' | 'getRange'>, forget: () => void = () => undefined) {
    this.#store = store
    this.#forget = forget
  }

  /** Takes note of an absence; to be passed to reads. */
  readonly onUnproved = (absence: UnprovedAbsence): void => {
    this.#unproved++
    this.#last = absence
  }

  /** The last answer that did not prove an absence which is not confirmed yet. */
  get doubt(): UnprovedAbsence | undefined {
    return this.#confirmed < this.#unproved ? this.#last : undefined
  }

  /** Takes an object that was read as the known one, unless there is one. */
  known(key: string, { bytes, size, etag }: Tail): void {
    if (this.#witness !== undefined || bytes.length === 0) return
    const end = bytes.slice(-WITNESS_BYTES)
    this.#witness = { key, offset: size - end.length, bytes: end, etag }
  }

  /** Takes what this process has written: of the known object it is what is there from now on. */
  written(key: string, bytes: Uint8Array | undefined): void {
    if (this.#witness?.key !== key) return
    this.#witness = undefined
    if (bytes !== undefined) this.known(key, { bytes, size: bytes.length, etag: '' })
  }

  /** Begins a run. The result settles it. */
  begin(): Settle {
    const failures = this.#failures
    return async (signal) => {
      const target = this.#unproved
      while (failures === this.#failures && this.#confirmed < target)
        // A check that had begun before says nothing of what came later: then another one follows.
        await this.#checks.share('', (shared) => this.#check(shared), signal)
      if (failures !== this.#failures) throw this.#failure
    }
  }

  /** Runs work, and settles it before its result is returned. */
  async settled<T>(work: () => Promise<T>, signal?: Signal): Promise<T> {
    const settle = this.begin()
    const result = await work()
    await settle(signal)
    return result
  }

  /** Reads the known object again, also where nothing is in doubt. */
  recheck(signal?: Signal): Promise<void> {
    this.#unproved++
    return this.begin()(signal)
  }

  async #check(signal: Signal): Promise<void> {
    const upTo = this.#unproved
    try {
      await this.#readWitness(signal)
    } catch (error) {
      signal.throwIfAborted()
      this.#failures++
      this.#failure = error
      this.#forget()
      throw error
    } finally {
      // After a failure, too: what was in doubt is forgotten, and its runs fail.
      if (!signal.aborted) this.#confirmed = upTo
    }
  }

  async #readWitness(signal: Signal): Promise<void> {
    const witness = this.#witness
    if (witness === undefined) throw this.#refuse('no object was read there that could be asked for again to tell')
    const { key, offset, bytes, etag } = witness
    const file = this.#store.describe(key)
    let now: Uint8Array | undefined
    let answer: UnprovedAbsence | undefined
    try {
      const onUnproved = (absence: UnprovedAbsence): void => {
        answer = absence
      }
      const pin = etag === undefined || etag === '' ? {} : { ifMatch: etag }
      now = await this.#store.getRange(key, offset, bytes.length, { ...pin, fresh: true, signal, onUnproved })
    } catch (error) {
      signal.throwIfAborted()
      if (!isHyperslabError(error)) throw error
      if (error.tag === 'ConflictError')
        throw this.#refuse(`${file}, which was read before, is another version now; open the place again`, error)
      throw this.#refuse(`${file}, which was read before, cannot be read now: ${messageOf(error)}`, error)
    }
    if (now === undefined)
      throw this.#refuse(`${file}, which was read before, is now answered ${answer?.answer ?? 'as missing'}, too`)
    if (!now.every((byte, i) => byte === bytes[i])) throw this.#refuse(`${file}, which was read before, now has other bytes`)
  }

  #refuse(why: string, cause?: unknown): HyperslabError {
    const doubt = this.#last
    const said = doubt && `the server answered ${doubt.answer}, which does not prove that there is no such object, and `
    const text = `${said ?? ''}${why}; renew the login, the credentials or the permission to read, then read again`
    return new HyperslabError('StoreError', text, { ...(doubt && { file: doubt.file }), actual: doubt?.answer, cause })
  }
}

/**
 * Size and version of an object at a place to be written to.
 * @throws StoreError where the answer proves neither that there is one nor that there is none
 */
export async function statToWrite(store: Pick<Store, 'stat'>, key: string, signal?: Signal): ReturnType<Store['stat']> {
  return store.stat(key, { signal, onUnproved: refuseUnproved })
}

/** @throws StoreError */
function refuseUnproved({ file, answer }: UnprovedAbsence): never {
  const text = `the server answered ${answer}, which does not tell whether there is an object already; nothing is written there. Give the credentials permission to read and to list`
  throw new HyperslabError('StoreError', text, { file, actual: answer })
}
