import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { withMembers } from '../core/overlay.ts'
import type { LocalFiles, ObjectInfo, Stage, Store, WritableStore } from '../store/store.ts'
import {
  concerns,
  type Fault,
  type FaultDetails,
  type FaultScript,
  type Operation,
  type OperationKind,
  toFaultDetails,
} from './faults.ts'
import type { ListedStore } from './writable.ts'

/** Options of {@link FaultStore}. */
export interface FaultStoreOptions {
  /** Script that chooses a fault before each operation. Default: no faults, except by `faultAfter`. */
  readonly faults?: FaultScript
  /**
   * Whether objects are read before they are replaced or deleted, so that `mixed` reads can use the earlier
   * version. Default: false.
   */
  readonly keepReplaced?: boolean
}

const CHECKS: Checks<FaultStoreOptions> = { faults: 'function', keepReplaced: 'boolean' }

/** Members of a {@link FaultStore} for tests, besides those of the store. */
export interface FaultControls {
  /**
   * Operations so far, such as `get a.af`, or `publish a.1.af: lost` with a fault. A late write is logged
   * again when it is carried out.
   */
  readonly log: string[]
  /** Number of stages that were opened and not discarded. */
  readonly openStages: number
  /** Whether the store has crashed, so that every operation fails. */
  readonly crashed: boolean
  /** Number of writes that were reported as failed and will be carried out later. */
  readonly waiting: number
  /**
   * Gives the operation after `count` more a fault, once. It takes precedence over the script. A count of
   * Infinity cancels it.
   */
  faultAfter(count: number, fault?: Fault): void
  /** Makes all operations fail from now on, including those under way. */
  crash(): void
  /**
   * Carries out late writes, oldest first. This also works after a crash, because requests may still be on
   * their way. Their results are ignored.
   */
  runLate(): Promise<void>
}

/** A store with faults that supports the methods of the wrapped store. */
export type FaultStore<S extends Store = ListedStore> = FaultControls &
  Store & { [K in keyof S as K extends keyof WritableStore ? K : never]: Wrapped<S[K], K> }

type Wrapped<F, K> = K extends keyof WritableStore
  ? undefined extends F
    ? WritableStore[K]
    : NonNullable<WritableStore[K]>
  : never

interface Late {
  left: number
  readonly run: () => Promise<void>
}

/**
 * Previous content of each key, shared by all wrappers of one store, because readers of one wrapper may meet
 * writers of another.
 */
const replaced = new WeakMap<Store, Map<string, Uint8Array>>()

class Faults implements Store, FaultControls {
  readonly log: string[] = []
  readonly getRanges?: NonNullable<Store['getRanges']>
  readonly getTail?: NonNullable<Store['getTail']>
  readonly getStart?: NonNullable<Store['getStart']>
  readonly get?: NonNullable<Store['get']>
  readonly answersAlike?: NonNullable<Store['answersAlike']>
  readonly identify?: NonNullable<Store['identify']>
  readonly urlNames?: boolean
  readonly list?: NonNullable<Store['list']>
  readonly put?: NonNullable<WritableStore['put']>
  readonly delete?: NonNullable<WritableStore['delete']>
  readonly copy?: NonNullable<WritableStore['copy']>
  readonly rename?: NonNullable<WritableStore['rename']>
  readonly stage?: NonNullable<WritableStore['stage']>
  readonly conditionalWrites?: NonNullable<WritableStore['conditionalWrites']>
  readonly files?: LocalFiles
  readonly #inner: Store
  readonly #script: FaultScript | undefined
  readonly #keepReplaced: boolean
  #count = 0
  #next: { readonly at: number; readonly fault: FaultDetails } | undefined
  #late: Late[] = []
  #stages = 0
  #crashed = false

  constructor(inner: Store, options: FaultStoreOptions = {}) {
    checkOptions('FaultStore', options, CHECKS)
    const { faults, keepReplaced = false } = options
    this.#inner = inner
    const writes = inner as Partial<WritableStore>
    this.#script = faults
    this.#keepReplaced = keepReplaced
    if (inner.urlNames) this.urlNames = true
    if (inner.identify) this.identify = (key, etag) => inner.identify!(key, etag)
    if (inner.answersAlike)
      this.answersAlike = (key, ...rest) => this.#step('compare', key, () => inner.answersAlike!(key, ...rest))
    if (inner.list) this.list = (prefix, ...rest) => this.#step('list', prefix, () => inner.list!(prefix, ...rest))
    if (inner.getRanges)
      this.getRanges = (key, ranges, ...rest) => {
        const read = () => inner.getRanges!(key, ranges, ...rest)
        return this.#read('ranges', key, read, (parts, half) => parts.map((bytes, i) => half(bytes, ranges[i]!.offset)))
      }
    if (inner.getTail)
      this.getTail = (key, length, ...rest) => {
        const read = () => inner.getTail!(key, length, ...rest)
        return this.#read('tail', key, read, (tail, half) => ({
          ...tail,
          bytes: half(tail.bytes, tail.size - tail.bytes.length),
        }))
      }
    if (inner.getStart)
      this.getStart = (key, length, ...rest) => {
        const read = () => inner.getStart!(key, length, ...rest)
        return this.#read('start', key, read, ({ tail, ...start }, half) => ({
          ...start,
          bytes: half(start.bytes, 0),
          ...(tail && { tail: half(tail, start.size - tail.length) }),
        }))
      }
    if (inner.get)
      this.get = (key, ...rest) => {
        const read = () => inner.get!(key, ...rest)
        return this.#read('whole', key, read, (whole, half) => ({ ...whole, bytes: half(whole.bytes, 0) }))
      }
    if (writes.put)
      this.put = (key, bytes, ...rest) => {
        // Copy, because a late write must store the bytes passed to the call.
        const given = new Uint8Array(bytes)
        return this.#step('put', key, () => this.#replacing(key, () => writes.put!(key, given, ...rest)))
      }
    if (writes.delete)
      this.delete = (key, ...rest) => this.#step('delete', key, () => this.#replacing(key, () => writes.delete!(key, ...rest)))
    if (writes.copy)
      this.copy = (from, to, ...rest) => this.#step('copy', to, () => this.#replacing(to, () => writes.copy!(from, to, ...rest)))
    if (writes.rename) this.rename = (from, to, ...rest) => this.#step('rename', to, () => writes.rename!(from, to, ...rest))
    if (writes.conditionalWrites)
      this.conditionalWrites = (near) => this.#step('conditions', near, () => writes.conditionalWrites!(near))
    // Faults of folders have no consequences, so these calls pass through. Workers would read past this
    // store, so it has no local paths.
    if (inner.files) this.files = withMembers(inner.files, { localPath: undefined })
    if (writes.stage) this.stage = async (near) => this.#wrap(await this.#step('stage', near, () => writes.stage!(near)), near)
  }

  get openStages(): number {
    return this.#stages
  }

  get crashed(): boolean {
    return this.#crashed
  }

  get waiting(): number {
    return this.#late.length
  }

  faultAfter(count: number, fault: Fault = 'error'): void {
    this.#next = { at: this.#count + count, fault: toFaultDetails(fault) }
  }

  crash(): void {
    this.#crashed = true
  }

  async runLate(): Promise<void> {
    for (let next = this.#late.shift(); next !== undefined; next = this.#late.shift()) await next.run()
  }

  describe(key: string): string {
    return this.#inner.describe(key)
  }

  stat(key: string, ...rest: Rest<'stat'>): ReturnType<Store['stat']> {
    return this.#step('stat', key, () => this.#inner.stat(key, ...rest))
  }

  getRange(key: string, offset: number, length: number, ...rest: RestOfRange): ReturnType<Store['getRange']> {
    const read = () => this.#inner.getRange(key, offset, length, ...rest)
    return this.#read('get', key, read, (bytes, half) => half(bytes, offset))
  }

  async close(): Promise<void> {
    await this.#inner.close?.()
  }

  #wrap(inner: Stage, near: string): Stage {
    let open = true
    this.#stages++
    return {
      get size() {
        return inner.size
      },
      get broken() {
        return inner.broken ?? false
      },
      append: (bytes) => this.#step('append', near, () => inner.append(bytes)),
      ...(inner.prepare && { prepare: (key, tail) => this.#step('append', key, () => inner.prepare!(key, tail)) }),
      read: (offset, length) =>
        this.#read(
          'read',
          near,
          () => inner.read(offset, length),
          (bytes, half) => half(bytes, offset),
        ),
      publish: (key, tail, options) =>
        this.#step(
          'publish',
          key,
          () => this.#replacing(key, () => inner.publish(key, tail, options)),
          () => this.#publishCopy(inner, key, tail, options),
        ),
      discard: async () => {
        // A killed process leaves its stages behind.
        if (this.#crashed) return
        if (open) this.#stages--
        open = false
        await inner.discard()
      },
    }
  }

  /**
   * Publishes the present bytes of a stage from another stage. The stage of the caller, who gets an error,
   * stays unchanged.
   */
  async #publishCopy(
    inner: Stage,
    key: string,
    tail: Uint8Array,
    options: Parameters<Stage['publish']>[2],
  ): Promise<() => Promise<ObjectInfo>> {
    const [bytes, end] = [await inner.read(0, inner.size), new Uint8Array(tail)]
    return async () => {
      const copy = await (this.#inner as WritableStore).stage(key)
      try {
        if (bytes.length > 0) await copy.append(bytes)
        return await this.#replacing(key, () => copy.publish(key, end, options))
      } finally {
        await copy.discard()
      }
    }
  }

  async #replacing<T>(key: string, work: () => Promise<T>): Promise<T> {
    const info = this.#keepReplaced ? await this.#inner.stat(key) : undefined
    const bytes = info && (await this.#inner.getRange(key, 0, info.size))
    const result = await work()
    if (bytes !== undefined) {
      const known = replaced.get(this.#inner) ?? new Map<string, Uint8Array>()
      replaced.set(this.#inner, known.set(key, bytes))
    }
    return result
  }

  /**
   * Runs a read. `torn` builds a damaged result from the damaged bytes of each piece, given its offset in the
   * object.
   */
  async #read<T>(
    kind: OperationKind,
    key: string,
    read: () => Promise<T>,
    torn: (result: NonNullable<T>, half: (bytes: Uint8Array, offset: number) => Uint8Array) => T,
  ): Promise<T> {
    let tear: 'short' | 'mixed' | undefined
    const result = await this.#step(kind, key, read, undefined, (which) => {
      tear = which
    })
    if (tear === undefined || result === undefined || result === null) return result
    if (tear === 'short') return torn(result, (bytes) => bytes.slice(0, bytes.length >>> 1))
    const old = replaced.get(this.#inner)?.get(key)
    return torn(result, (bytes, offset) => {
      const mixed = new Uint8Array(bytes)
      const half = bytes.length >>> 1
      mixed.set(old?.slice(offset + half, offset + bytes.length) ?? [], half)
      return mixed
    })
  }

  /**
   * Runs one operation.
   * @param copied prepares work that is carried out although the caller gets an error; default: `work` itself
   * @param tear receives the kind of damage of a read
   */
  async #step<T>(
    kind: OperationKind,
    key: string,
    work: () => Promise<T>,
    copied: () => Promise<() => Promise<unknown>> = async () => work,
    tear?: (how: 'short' | 'mixed') => void,
  ): Promise<T> {
    const number = this.#count++
    const at = this.log.push(`${kind} ${key}`) - 1
    const fault = this.#crashed ? undefined : await this.#faultOf({ number, kind, key })
    const effect = fault && (concerns(fault.kind, kind) ? fault.kind : 'error')
    if (effect !== undefined) this.log[at] += `: ${effect}`
    await this.#runDue()
    switch (effect) {
      case 'delay':
        await new Promise((resolve) => setTimeout(resolve, fault?.ms ?? 1))
        return this.#alive(kind, key, work)
      case 'short':
      case 'mixed':
        if (effect === 'mixed' && !this.#keepReplaced) invalidArgument("'mixed' reads need the option `keepReplaced`", fault)
        tear?.(effect)
        return this.#alive(kind, key, work)
      case 'lost':
        await unheard(await copied())
        break
      case 'late': {
        const run = await copied()
        const carriedOut = (): Promise<void> => {
          this.log.push(`${kind} ${key}: carried out late`)
          return unheard(run)
        }
        this.#late.push({ left: fault?.after ?? 1, run: carriedOut })
        break
      }
      case 'crash':
        if (fault?.done === true && concerns('lost', kind)) await unheard(await copied())
        this.crash()
        break
      case undefined:
        return this.#alive(kind, key, work)
    }
    throw fault?.error ?? this.#failed(kind, key)
  }

  async #faultOf(operation: Operation): Promise<FaultDetails | undefined> {
    if (this.#next?.at === operation.number) {
      const { fault } = this.#next
      this.#next = undefined
      return fault
    }
    const fault = await this.#script?.(operation)
    return fault === undefined ? undefined : toFaultDetails(fault)
  }

  /**
   * Runs work unless the store has crashed. Work under way during a crash is carried out, but its result is
   * lost.
   */
  async #alive<T>(kind: OperationKind, key: string, work: () => Promise<T>): Promise<T> {
    if (this.#crashed) throw this.#failed(kind, key)
    const result = await work()
    if (this.#crashed) throw this.#failed(kind, key)
    return result
  }

  async #runDue(): Promise<void> {
    for (const late of this.#late) late.left--
    const due = this.#late.filter(({ left }) => left <= 0)
    this.#late = this.#late.filter(({ left }) => left > 0)
    for (const { run } of due) await run()
  }

  #failed(kind: OperationKind, key: string): HyperslabError {
    const what = this.#crashed ? 'crashed before' : 'fault at'
    return new HyperslabError('StoreError', `${what} ${kind} ${key}`, { file: this.#inner.describe(key) })
  }
}

/** Runs work and ignores its result. */
const unheard = async (work: () => Promise<unknown>): Promise<void> => {
  await work().catch(() => undefined)
}

type Rest<K extends 'stat'> = Parameters<Store[K]> extends [string, ...infer R] ? R : never
type RestOfRange = Parameters<Store['getRange']> extends [string, number, number, ...infer R] ? R : never

/**
 * A store over another one with chosen faults: by a script, by a seed (`seededFaults`) or one at a time
 * (`faultAfter`). It supports the methods of the inner store except `files.localPath`, through which workers
 * would bypass it. Operations are logged.
 */
export const FaultStore = Faults as new <S extends Store>(inner: S, options?: FaultStoreOptions) => FaultStore<S>
