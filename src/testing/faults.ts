import { invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'

/**
 * An operation of a store: `read` and `append` of a stage, `get` is `getRange`, `ranges` is `getRanges`,
 * `tail` is `getTail`, `whole` is `get`, `compare` is `answersAlike`, `conditions` is `conditionalWrites`.
 */
export type OperationKind =
  | 'stat'
  | 'get'
  | 'ranges'
  | 'tail'
  | 'whole'
  | 'list'
  | 'compare'
  | 'conditions'
  | 'stage'
  | 'append'
  | 'read'
  | 'put'
  | 'delete'
  | 'copy'
  | 'rename'
  | 'publish'

/** One operation of a store, of some `kind`, as a script of faults is asked about it. */
export interface Operation {
  /** Counted from 0, over all operations of the store and of its stages. */
  readonly number: number
  readonly kind: OperationKind
  /** The object; of a stage before publishing the key it was opened near. */
  readonly key: string
}

/**
 * Kinds of faults of an operation:
 *
 * - `delay`: it takes longer
 * - `error`: it fails and nothing has happened
 * - `lost`: a write is carried out, or refused, but its answer is lost: the caller is told that it failed
 * - `late`: a write is reported as failed and carried out afterwards
 * - `short`: a read returns the first half of the bytes
 * - `mixed`: a read returns its second half from the previous version of the object
 * - `crash`: this operation and all that follow fail, and stages are left behind, as when the process is
 *   killed
 *
 * A fault that an operation cannot have, as `lost` of a read, is an `error`. Writes are `put`, `delete`,
 * `copy`, `rename` and `publish`.
 */
export type FaultKind = 'delay' | 'error' | 'lost' | 'late' | 'short' | 'mixed' | 'crash'

/** A fault of some `kind` with its details. */
export interface FaultDetails {
  readonly kind: FaultKind
  /** Length of a `delay` in ms; 1 by default. */
  readonly ms?: number
  /**
   * The operation of a `late` write, which is carried out right before the n-th further operation of the
   * store, the next one by default, or at `runLate()`.
   */
  readonly after?: number
  /** True when a `crash` comes after the write is carried out. */
  readonly done?: boolean
  /** The error that the caller gets, in place of a `StoreError`. */
  readonly error?: Error
}

/** A kind alone stands for that kind with its defaults. */
export type Fault = FaultKind | FaultDetails

/**
 * Says of each operation before it begins which fault it has. A promise holds the operation up, so that tests
 * can put them into any order.
 */
export type FaultScript = (operation: Operation) => Fault | undefined | Promise<Fault | undefined>

const KINDS: readonly FaultKind[] = ['delay', 'error', 'lost', 'late', 'short', 'mixed', 'crash']
const WRITES: readonly OperationKind[] = ['put', 'delete', 'copy', 'rename', 'publish']
const OBJECT_READS: readonly OperationKind[] = ['get', 'ranges', 'tail', 'whole']
const DETAILS: readonly string[] = ['kind', 'ms', 'after', 'done', 'error']

/** Whether an operation can have a fault other than by failing. */
export function concerns(fault: FaultKind, operation: OperationKind): boolean {
  if (fault === 'lost' || fault === 'late') return WRITES.includes(operation)
  if (fault === 'short') return OBJECT_READS.includes(operation) || operation === 'read'
  return fault !== 'mixed' || OBJECT_READS.includes(operation)
}

/** @throws InvalidArgumentError for an unknown kind or detail */
export function detailsOf(fault: Fault): FaultDetails {
  const details = typeof fault === 'string' ? { kind: fault } : fault
  if (!KINDS.includes(details.kind)) invalidArgument(`a fault is one of ${KINDS.join(', ')}, not ${details.kind}`, fault)
  const unknown = Object.keys(details).find((name) => !DETAILS.includes(name))
  if (unknown !== undefined) invalidArgument(`a fault has no '${unknown}'; there are ${DETAILS.join(', ')}`, fault)
  return details
}

/** Options of `seededFaults`. */
export interface SeededFaultsOptions {
  /** The share of operations that have a fault; 0.1 by default. */
  readonly rate?: number
  /**
   * Kinds of faults; by default those that a store may have that keeps its contract: `delay`, `error`, `lost`
   * and `late`.
   */
  readonly kinds?: readonly FaultKind[]
  /** Delays are up to so long, in ms; 5 by default. */
  readonly maxDelay?: number
}

const CHECKS: Checks<SeededFaultsOptions> = { rate: 'number', kinds: 'list', maxDelay: 'number from 0' }

/**
 * Faults at random, the same ones for the same seed and order of operations.
 * @throws InvalidArgumentError for an unknown option or kind, or a rate outside [0, 1]
 */
export function seededFaults(seed: number, options: SeededFaultsOptions = {}): FaultScript {
  checkOptions('seededFaults', options, CHECKS)
  const { rate = 0.1, kinds = ['delay', 'error', 'lost', 'late'], maxDelay = 5 } = options
  if (!(rate >= 0 && rate <= 1)) invalidArgument('rate is a share between 0 and 1', rate)
  for (const kind of kinds) detailsOf(kind)
  const random = randomNumbers(seed)
  return ({ kind: operation }) => {
    const [drawn, which, amount] = [random(), random(), random()]
    const possible = kinds.filter((kind) => concerns(kind, operation))
    const kind = possible[Math.floor(which * possible.length)]
    if (drawn >= rate || kind === undefined) return undefined
    if (kind === 'delay') return { kind, ms: Math.floor(amount * (maxDelay + 1)) }
    if (kind === 'late') return { kind, after: 1 + Math.floor(amount * 8) }
    return kind === 'crash' ? { kind, done: amount < 0.5 } : kind
  }
}

/** Numbers in [0, 1): a Weyl sequence, mixed as in MurmurHash3. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
}
