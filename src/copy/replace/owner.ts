import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { raceAbort, type Signal } from '../../core/signal.ts'
import { randomName } from '../../store/conditions.ts'
import { errorCode } from '../../store/fs/errors.ts'
import { type FileSystem, fileSystem } from '../../store/fs/file-system.ts'
import { isDead, thisProcess } from '../../store/fs/lock.ts'
import { publishBytes } from '../../store/publish-bytes.ts'
import type { PublishCondition, Store } from '../../store/store.ts'
import { readWhole } from '../../store/whole.ts'
import { asWritable } from '../../store/writer.ts'

/** Time in ms after which an owner that did not renew its claim has lost it. */
const LEASE_MS = 30_000
/** Interval of renewals in ms. */
const RENEWAL_MS = LEASE_MS / 3
/** Time in ms after which an owner that did not renew its claim counts as dead: a day. */
const FORGOTTEN_MS = 86_400_000
/** Wait in ms before the claim of another machine is read again. */
const LOOK_MS = 1000
const MOST_BYTES = 64 * 1024

/** Claims that this process holds now. */
const held = new Set<string>()
/** Distinguishes this thread, and this copy of the package, from others in the process. */
const instance = randomName()

/** Content of the object that claims a place. */
interface Claim {
  readonly token: string
  /** Id of the write in progress, if another process may resume it. */
  readonly id?: string
  /** Name of the draft that the owner writes. It is the token of the owner that began the write. */
  readonly draft: string
  /**
   * Drafts of earlier owners that did not renew their claims, and may still run, with the times of their
   * loss in ms since 1970.
   */
  readonly uncertain?: Readonly<Record<string, number>>
  /** Whether the owner has released it. */
  readonly released?: boolean
  readonly instance?: string
  readonly pid?: number
  readonly machine?: string
  /** Time of the last renewal, in ms since 1970. */
  readonly time: number
}

/** Exclusive right to replace a store. It is claimed by a conditional write, and renewed while it is held. */
export class Owner {
  readonly token: string
  /** Name of the draft. It is not the token if this owner resumes the write of an earlier one. */
  draft: string
  readonly #uncertain: ReadonlyMap<string, number>
  readonly #store: Store
  readonly #key: string
  readonly #id: string | undefined
  #etag: string
  #renewed: number
  #lost: unknown
  #renewing: Promise<void> = Promise.resolve()
  #timer: unknown

  private constructor(place: { store: Store; key: string }, claim: Claim, etag: string) {
    this.#store = place.store
    this.#key = place.key
    this.#id = claim.id
    this.token = claim.token
    this.draft = claim.draft
    this.#uncertain = new Map(Object.entries(claim.uncertain ?? {}))
    this.#etag = etag
    this.#renewed = claim.time
    held.add(claim.token)
    this.#timer = setInterval(() => void this.#renew().catch(() => undefined), RENEWAL_MS)
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  /**
   * Claims a place. Takes it over from a dead owner: its process has ended, or it has not renewed its claim
   * for 30 seconds.
   * @param id id of the write. The write of a dead owner with the same id is resumed. An owner that may still
   *   run keeps its draft.
   * @throws ConflictError if another owner holds it
   */
  static async take(store: Store, key: string, id: string | undefined, signal: Signal | undefined): Promise<Owner> {
    for (let tries = 0; ; tries++) {
      await store.files?.makeFolder(key)
      const { found, other, state } = await readClaim(store, key, signal)
      if (state === 'alive') throw taken(store.describe(key))
      const token = randomName()
      const isResumed = id !== undefined && other?.id === id && state === 'dead'
      const earlier = Object.entries(other?.uncertain ?? {}).filter(([, time]) => Date.now() - time < FORGOTTEN_MS)
      const uncertain = Object.fromEntries(earlier)
      if (other !== undefined && state === 'uncertain') uncertain[other.draft] = Date.now()
      const claim = newClaim({ token, draft: isResumed ? other.draft : token, uncertain, ...(id !== undefined && { id }) })
      const condition = found === undefined ? { ifAbsent: true } : { ifAbsent: false, ifMatch: found.etag }
      try {
        const etag = await publish(store, key, claim, condition)
        return new Owner({ store, key }, claim, etag)
      } catch (error) {
        // An owner that ends removes the empty folder of the claim.
        const isFolderGone = isHyperslabError(error, 'StoreError') && errorCode(error.cause) === 'ENOENT'
        if (!isFolderGone && !isHyperslabError(error, 'ConflictError')) throw error
        if (tries > 0) throw taken(store.describe(key), error)
      }
    }
  }

  /**
   * Checks that no other owner holds a place, after an error that its work can cause. Unlike {@link take},
   * this writes nothing.
   * @throws ConflictError if another owner holds it
   */
  static async checkFree(store: Store, key: string, cause: unknown, signal: Signal | undefined): Promise<void> {
    if ((await readClaim(store, key, signal)).state === 'alive') throw taken(store.describe(key), cause)
  }

  /**
   * Checks that the claim is still held.
   * @param isNow whether to renew the claim in any case, before a critical step
   * @throws ConflictError if another process has taken over the location
   */
  async check(isNow = false): Promise<void> {
    if (isNow || Date.now() - this.#renewed > RENEWAL_MS) await this.#renew()
    if (this.#lost !== undefined) throw taken(this.#store.describe(this.#key), this.#lost)
  }

  /** Whether the owner of a draft may still run. Such owners keep their drafts, since they may claim late. */
  isUncertain(draft: string): boolean {
    return this.#uncertain.has(draft)
  }

  /** Starts its own draft instead of resuming another one. */
  async beginAnew(): Promise<void> {
    if (this.draft === this.token) return
    this.draft = this.token
    await this.check(true)
  }

  /**
   * Checks the claim, and runs one step of work. A process that was paused since the check may have lost its
   * claim before the step. The step is then undone.
   * @throws ConflictError if another process has taken over the location
   */
  async step(work: () => Promise<void>, undo: () => Promise<void>): Promise<void> {
    await this.check()
    await work()
    if (Date.now() - this.#renewed < LEASE_MS) return
    try {
      await this.check(true)
    } catch (error) {
      await undo()
      throw error
    }
  }

  /**
   * Releases the place.
   * @param isKept whether another owner may resume the write
   */
  async release(isKept: boolean): Promise<void> {
    clearInterval(this.#timer as never)
    await this.#renewing.catch(() => undefined)
    try {
      if (this.#lost !== undefined) return
      // The next owner must know the drafts whose owners may still run.
      if (isKept || this.#uncertain.size > 0) {
        const claim = { ...this.#claim(), released: true }
        await publish(this.#store, this.#key, claim, { ifAbsent: false, ifMatch: this.#etag })
      } else await asWritable(this.#store).delete(this.#key, await this.#mine())
    } finally {
      held.delete(this.token)
    }
  }

  #claim(): Claim {
    const { token, draft } = this
    const uncertain = Object.fromEntries(this.#uncertain)
    return newClaim({ token, draft, uncertain, ...(this.#id !== undefined && { id: this.#id }) })
  }

  async #mine(): Promise<{ readonly ifMatch?: string }> {
    const can = await asWritable(this.#store).conditionalWrites!(this.#key)
    return can.remove ? { ifMatch: this.#etag } : {}
  }

  #renew(): Promise<void> {
    this.#renewing = this.#renewing.then(async () => {
      if (this.#lost !== undefined) return
      const claim = this.#claim()
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

/** Reads the claim at a key, and the state of its owner. Without a claim, there is no living owner. */
async function readClaim(store: Store, key: string, signal: Signal | undefined) {
  const found = await readWhole(store, key, { maxBytes: MOST_BYTES, signal })
  const other = found && claimIn(found.bytes)
  const state = found === undefined ? 'dead' : await readState(store, key, other, found.etag, signal)
  return { found, other, state }
}

/** State of the owner of a claim, as far as this process knows. `uncertain`: it did not renew the claim. */
async function readState(
  store: Store,
  key: string,
  claim: Claim | undefined,
  etag: string,
  signal: Signal | undefined,
): Promise<'alive' | 'dead' | 'uncertain'> {
  const ownState = (token: string): 'alive' | 'dead' => (held.has(token) ? 'alive' : 'dead')
  if (claim?.released === true) return 'dead'
  const fs = platform()
  if (claim !== undefined && fs !== undefined) {
    const own = thisProcess(fs)
    if (claim.machine === own.machine && own.machine !== '') {
      if (claim.pid === own.pid && claim.instance === instance) return ownState(claim.token)
      return isDead(fs, claim) ? 'dead' : Date.now() - claim.time <= LEASE_MS ? 'alive' : 'uncertain'
    }
  }
  if (claim?.instance === instance) return ownState(claim.token)
  // Clocks of two machines may differ, so the claim has to stay unchanged for the whole lease.
  for (const end = Date.now() + LEASE_MS; Date.now() < end; ) {
    await raceAbort(new Promise<void>((resolve) => void setTimeout(resolve, LOOK_MS)), signal)
    const now = await store.stat(key, { signal })
    if (now === undefined) return 'dead'
    if (now.etag !== etag) return 'alive'
  }
  return 'uncertain'
}

const isName = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f]{24}$/.test(value)

function claimIn(bytes: Uint8Array): Claim | undefined {
  try {
    const claim: unknown = parseJson(bytes, 'the claim', { maxBytes: MOST_BYTES, exact: false })
    const isClaim = typeof claim === 'object' && claim !== null && [(claim as Claim).token, (claim as Claim).draft].every(isName)
    return isClaim ? (claim as Claim) : undefined
  } catch {
    // The text was truncated when a machine failed.
    return undefined
  }
}

function newClaim(owner: Pick<Claim, 'token' | 'draft' | 'uncertain' | 'id'>): Claim {
  const fs = platform()
  return { ...owner, instance, time: Date.now(), ...(fs && thisProcess(fs)) }
}

function platform(): FileSystem | undefined {
  try {
    return fileSystem()
  } catch {
    return undefined
  }
}

async function publish(store: Store, key: string, claim: Claim, condition: PublishCondition): Promise<string> {
  return (await publishBytes(store, key, new TextEncoder().encode(JSON.stringify(claim)), condition)).etag
}

/** Whether an object contains this claim. */
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
