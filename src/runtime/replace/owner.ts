import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { raceAbort, type Signal } from '../../core/signal.ts'
import { randomName } from '../../store/conditions.ts'
import { type FileSystem, fileSystem } from '../../store/fs/file-system.ts'
import { isDead, thisProcess } from '../../store/fs/lock.ts'
import { readWhole, type Store } from '../../store/store.ts'

/** An owner that did not renew its claim for so long has lost it, in ms. */
const LEASE_MS = 30_000
/** A claim is renewed after so long, in ms. */
const RENEWAL_MS = LEASE_MS / 3
/** Wait before the claim of another machine is looked at again, in ms. */
const LOOK_MS = 1000
const MOST_BYTES = 64 * 1024

/** Claims of this process that are held now. */
const held = new Set<string>()
/** Tells this thread, and this copy of the package, from others of the process. */
const instance = randomName()

/** The object that claims a place. */
interface Claim {
  readonly token: string
  /** What is written there, where another process may go on with it. */
  readonly id?: string
  /** Whether the owner has given it back. */
  readonly released?: boolean
  readonly instance?: string
  readonly pid?: number
  readonly machine?: string
  /** When it was taken or renewed, in ms since 1970. */
  readonly time: number
}

/** The sole right to replace a store, claimed by a conditional write and renewed while it is held. */
export class Owner {
  readonly token: string
  /** The id of the write that an earlier owner began and did not end. */
  readonly before: string | undefined
  readonly #store: Store
  readonly #key: string
  readonly #id: string | undefined
  #etag: string
  #renewed: number
  #lost: unknown
  #renewing: Promise<void> = Promise.resolve()
  #timer: unknown

  private constructor(place: { store: Store; key: string; id: string | undefined }, claim: Claim, etag: string, before?: string) {
    this.#store = place.store
    this.#key = place.key
    this.#id = place.id
    this.token = claim.token
    this.before = before
    this.#etag = etag
    this.#renewed = claim.time
    held.add(claim.token)
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), RENEWAL_MS)
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  /**
   * Claims a place. Takes it over from an owner that is dead: its process has ended, or it has not renewed
   * its claim for 30 seconds.
   * @throws ConflictError where another owner has it
   */
  static async take(store: Store, key: string, id: string | undefined, signal: Signal | undefined): Promise<Owner> {
    await store.makeFolder?.(key)
    for (let tries = 0; ; tries++) {
      const found = await readWhole(store, key, { maxBytes: MOST_BYTES, signal })
      const other = found && claimIn(found.bytes)
      if (found !== undefined && (await isAlive(store, key, other, found.etag, signal))) throw taken(store.describe(key))
      const claim = newClaim(randomName(), id)
      const condition = found === undefined ? { ifAbsent: true } : { ifAbsent: false, ifMatch: found.etag }
      try {
        const etag = await publish(store, key, claim, condition)
        return new Owner({ store, key, id }, claim, etag, other?.id)
      } catch (error) {
        if (!isHyperslabError(error, 'ConflictError')) throw error
        if (tries > 0) throw taken(store.describe(key), error)
      }
    }
  }

  /**
   * @param isNow whether the claim is renewed in any case, since much depends on it
   * @throws ConflictError where another process has taken the place over
   */
  async check(isNow = false): Promise<void> {
    if (isNow || Date.now() - this.#renewed > RENEWAL_MS) await this.#renew()
    if (this.#lost !== undefined) throw taken(this.#store.describe(this.#key), this.#lost)
  }

  /**
   * Gives the place back.
   * @param isKept whether another owner may go on with what was written
   */
  async release(isKept: boolean): Promise<void> {
    clearInterval(this.#timer as never)
    await this.#renewing.catch(() => undefined)
    try {
      if (this.#lost !== undefined) return
      if (isKept) {
        const claim = { ...newClaim(this.token, this.#id), released: true }
        await publish(this.#store, this.#key, claim, { ifAbsent: false, ifMatch: this.#etag })
      } else await this.#store.delete!(this.#key, await this.#mine())
    } finally {
      held.delete(this.token)
    }
  }

  async #mine(): Promise<{ readonly ifMatch?: string }> {
    const can = await this.#store.conditionalWrites!(this.#key)
    return can.remove ? { ifMatch: this.#etag } : {}
  }

  #renew(): Promise<void> {
    this.#renewing = this.#renewing.then(async () => {
      if (this.#lost !== undefined) return
      const claim = newClaim(this.token, this.#id)
      try {
        this.#etag = await publish(this.#store, this.#key, claim, { ifAbsent: false, ifMatch: this.#etag })
        this.#renewed = claim.time
      } catch (error) {
        if (isHyperslabError(error, 'ConflictError') || Date.now() - this.#renewed > LEASE_MS / 2) this.#lost = error
      }
    })
    return this.#renewing
  }
}

/** Whether a claim is held, as far as this process can know. */
async function isAlive(
  store: Store,
  key: string,
  claim: Claim | undefined,
  etag: string,
  signal: Signal | undefined,
): Promise<boolean> {
  if (claim?.released === true) return false
  const fs = platform()
  if (claim !== undefined && fs !== undefined) {
    const own = thisProcess(fs)
    if (claim.machine === own.machine && own.machine !== '') {
      if (claim.pid === own.pid && claim.instance === instance) return held.has(claim.token)
      return !isDead(fs, claim) && Date.now() - claim.time <= LEASE_MS
    }
  }
  if (claim?.instance === instance) return held.has(claim.token)
  // The clocks of two machines may differ: it has to stay as it is for all of the lease.
  for (const end = Date.now() + LEASE_MS; Date.now() < end; ) {
    await raceAbort(new Promise<void>((resolve) => void setTimeout(resolve, LOOK_MS)), signal)
    const now = await store.stat(key, { signal })
    if (now === undefined) return false
    if (now.etag !== etag) return true
  }
  return false
}

function claimIn(bytes: Uint8Array): Claim | undefined {
  try {
    const claim: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return typeof claim === 'object' && claim !== null && typeof (claim as Claim).token === 'string'
      ? (claim as Claim)
      : undefined
  } catch {
    // Cut off by a machine that failed.
    return undefined
  }
}

function newClaim(token: string, id: string | undefined): Claim {
  const fs = platform()
  return { token, instance, time: Date.now(), ...(id !== undefined && { id }), ...(fs && thisProcess(fs)) }
}

function platform(): FileSystem | undefined {
  try {
    return fileSystem()
  } catch {
    return undefined
  }
}

async function publish(
  store: Store,
  key: string,
  claim: Claim,
  condition: { readonly ifAbsent: boolean; readonly ifMatch?: string },
): Promise<string> {
  const stage = await store.stage!(key)
  try {
    return (await stage.publish(key, new TextEncoder().encode(JSON.stringify(claim)), condition)).etag
  } finally {
    await stage.discard()
  }
}

/** Whether an object has this claim. */
export async function hasToken(store: Store, key: string, token: string, signal: Signal | undefined): Promise<boolean> {
  const found = await readWhole(store, key, { maxBytes: MOST_BYTES, signal })
  return found !== undefined && claimIn(found.bytes)?.token === token
}

function taken(file: string, cause?: unknown): HyperslabError {
  const text = 'another process is replacing what is at this place; wait until it has ended, then run the command once more'
  return new HyperslabError('ConflictError', text, { file, ...(cause !== undefined && { cause }) })
}

declare function setTimeout(callback: () => void, ms: number): unknown
declare function setInterval(callback: () => void, ms: number): unknown
declare function clearInterval(timer: unknown): void
