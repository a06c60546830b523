import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import type { ObjectInfo, Stage, Store } from '../store/store.ts'
import {
  concerns,
  detailsOf,
  type Fault,
  type FaultDetails,
  type FaultScript,
  type Operation,
  type OperationKind,
} from './faults.ts'
import type { WritableStore } from './writable.ts'

/** Options of `FaultStore`. */
export interface FaultStoreOptions {
  /** Asked before each operation; without it, and without `faultAfter`, nothing goes wrong. */
  readonly faults?: FaultScript
  /**
   * Objects are read before they are replaced or deleted, so that `mixed` reads have an earlier version to
   * take bytes of.
   */
  readonly keepReplaced?: boolean
}

const CHECKS: Checks<FaultStoreOptions> = { faults: 'function', keepReplaced: 'boolean' }

/** The things that tests see of a {@link FaultStore}, and do with it, besides using it as a store. */
export interface FaultControls {
  /**
   * The operations so far as `get a.af`, with a fault as `publish a.1.af: lost`; what is carried out late
   * once more when it is.
   */
  readonly log: string[]
  /** Stages that were opened and not discarded. */
  readonly openStages: number
  /** True after a crash: every operation fails. */
  readonly crashed: boolean
  /** Writes that were reported as failed and wait to be carried out. */
  readonly waiting: number
  /**
   * The operation after `count` more has this fault, once; Infinity takes it back. It comes before the
   * script's.
   */
  faultAfter(count: number, fault?: Fault): void
  /** All operations fail from here on, those under way included. */
  crash(): void
  /**
   * Carries out what waits, oldest first, also after a crash: requests may be on their way. Nobody is told
   * how they end.
   */
  runLate(): Promise<void>
}

/** The store with what it can do, of the contract. */
export type FaultStore<S extends Store = WritableStore> = FaultControls &
  Store & { [K in keyof S as K extends Exclude<keyof Store, 'localPath'> ? K : never]: Wrapped<S[K], K> }

type Wrapped<F, K> = K extends keyof Store ? (undefined extends F ? Store[K] : NonNullable<Store[K]>) : never

interface Late {
  left: number
  readonly run: () => Promise<void>
}

/**
 * What was replaced last under each key, shared by all who wrap one store: the readers of one meet the
 * writers of another.
 */
const replaced = new WeakMap<Store, Map<string, Uint8Array>>()

class Faults implements Store, FaultControls {
  readonly log: string[] = []
  readonly getRanges?: NonNullable<Store['getRanges']>
  readonly getTail?: NonNullable<Store['getTail']>
  readonly get?: NonNullable<Store['get']>
  readonly answersAlike?: NonNullable<Store['answersAlike']>
  readonly identify?: NonNullable<Store['identify']>
  readonly urlNames?: boolean
  readonly list?: NonNullable<Store['list']>
  readonly put?: NonNullable<Store['put']>
  readonly delete?: NonNullable<Store['delete']>
  readonly copy?: NonNullable<Store['copy']>
  readonly rename?: NonNullable<Store['rename']>
  readonly stage?: NonNullable<Store['stage']>
  readonly conditionalWrites?: NonNullable<Store['conditionalWrites']>
  readonly leftovers?: NonNullable<Store['leftovers']>
  readonly makeFolder?: NonNullable<Store['makeFolder']>
  readonly removeFolder?: NonNullable<Store['removeFolder']>
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
    if (inner.get)
      this.get = (key, ...rest) => {
        const read = () => inner.get!(key, ...rest)
        return this.#read('whole', key, read, (whole, half) => ({ ...whole, bytes: half(whole.bytes, 0) }))
      }
    if (inner.put)
      this.put = (key, bytes, ...rest) => {
        // A late one writes what was given at the call.
        const given = new Uint8Array(bytes)
        return this.#step('put', key, () => this.#replacing(key, () => inner.put!(key, given, ...rest)))
      }
    if (inner.delete)
      this.delete = (key, ...rest) => this.#step('delete', key, () => this.#replacing(key, () => inner.delete!(key, ...rest)))
    if (inner.copy)
      this.copy = (from, to, ...rest) => this.#step('copy', to, () => this.#replacing(to, () => inner.copy!(from, to, ...rest)))
    if (inner.rename) this.rename = (from, to, ...rest) => this.#step('rename', to, () => inner.rename!(from, to, ...rest))
    if (inner.conditionalWrites)
      this.conditionalWrites = (near) => this.#step('conditions', near, () => inner.conditionalWrites!(near))
    // What folders there are is of no consequence.
    if (inner.makeFolder) this.makeFolder = (near) => inner.makeFolder!(near)
    if (inner.removeFolder) this.removeFolder = (folder) => inner.removeFolder!(folder)
    if (inner.leftovers) this.leftovers = (near, options) => inner.leftovers!(near, options)
    if (inner.stage) this.stage = async (near) => this.#wrap(await this.#step('stage', near, () => inner.stage!(near)), near)
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
    this.#next = { at: this.#count + count, fault: detailsOf(fault) }
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
        // A process that was killed leaves its stages behind.
        if (this.#crashed) return
        if (open) this.#stages--
        open = false
        await inner.discard()
      },
    }
  }

  /**
   * Publishes the bytes that a stage has now from a stage of their own: the one of the caller, who is told of
   * an error, stays as it was.
   */
  async #publishCopy(
    inner: Stage,
    key: string,
    tail: Uint8Array,
    options: Parameters<Stage['publish']>[2],
  ): Promise<() => Promise<ObjectInfo>> {
    const [bytes, end] = [await inner.read(0, inner.size), new Uint8Array(tail)]
    return async () => {
      const copy = await this.#inner.stage!(key)
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

  /** A read, whose bytes `torn` replaces by what it is told of each piece and its offset in the object. */
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
   * One operation.
   * @param copied prepares what is carried out, or refused, though the caller is told of an error; `work`
   *   itself by default
   * @param tear is told how a read has to be torn
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
        if (effect === 'mixed' && !this.#keepReplaced) invalidArgument("'mixed' reads need the option keepReplaced", fault)
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
    return fault === undefined ? undefined : detailsOf(fault)
  }

  /** What is under way when the process is killed is carried out, but nobody is told. */
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

/** Nobody is told whether it succeeds. */
const unheard = async (work: () => Promise<unknown>): Promise<void> => {
  await work().catch(() => undefined)
}

type Rest<K extends 'stat'> = Parameters<Store[K]> extends [string, ...infer R] ? R : never
type RestOfRange = Parameters<Store['getRange']> extends [string, number, number, ...infer R] ? R : never

/**
 * A store over another one in which chosen operations go wrong: by a script, by a seed (`seededFaults`) or
 * one at a time (`faultAfter`). It can do what the inner one can, but `localPath`, by which workers would
 * read past it. Operations are logged.
 */
export const FaultStore = Faults as new <S extends Store>(inner: S, options?: FaultStoreOptions) => FaultStore<S>
