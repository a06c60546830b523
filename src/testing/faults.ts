import { invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'

/**
 * Kind of an operation of a store or stage. `read` and `append` belong to a stage. `get` is `getRange`,
 * `ranges` is `getRanges`, `tail` is `getTail`, `start` is `getStart`, `whole` is `get`, `compare` is
 * `answersAlike`, `conditions` is `conditionalWrites`.
 */
export type OperationKind =
  | 'stat'
  | 'get'
  | 'ranges'
  | 'tail'
  | 'start'
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

/** One operation of a store, of some `kind`, as a script of faults receives it. */
export interface Operation {
  /** Number of the operation, from 0, over all operations of the store and its stages. */
  readonly number: number
  readonly kind: OperationKind
  /** Key of the object; for a stage before publishing, the key that it was opened near. */
  readonly key: string
}

/**
 * Kind of a fault:
 *
 * - `delay`: the operation takes longer
 * - `error`: the operation fails without effect
 * - `lost`: a write is carried out, or refused, but reported as failed
 * - `late`: a write is reported as failed and carried out later
 * - `short`: a read returns the first half of the bytes
 * - `mixed`: a read returns its second half from the previous version of the object
 * - `crash`: this and all later operations fail, and stages are left behind, as after a process is killed
 *
 * A fault that does not fit the operation, such as `lost` for a read, acts as `error`. Writes are `put`,
 * `delete`, `copy`, `rename` and `publish`.
 */
export type FaultKind = 'delay' | 'error' | 'lost' | 'late' | 'short' | 'mixed' | 'crash'

/** A fault of some `kind` with its details. */
export interface FaultDetails {
  readonly kind: FaultKind
  /** Length of a `delay` in ms. Default: 1. */
  readonly ms?: number
  /**
   * Number of operations after which a `late` write is carried out, right before the last of them, unless
   * `runLate()` does it before. Default: 1.
   */
  readonly after?: number
  /** Whether a write is carried out before its `crash`. Default: false. */
  readonly done?: boolean
  /** Error that the caller gets instead of a `StoreError`. */
  readonly error?: Error
}

/** A fault. A kind alone has its default details. */
export type Fault = FaultKind | FaultDetails

/**
 * Chooses the fault of each operation before it begins. A returned promise delays the operation, so that
 * tests can order operations.
 */
export type FaultScript = (operation: Operation) => Fault | undefined | Promise<Fault | undefined>

const KINDS: readonly FaultKind[] = ['delay', 'error', 'lost', 'late', 'short', 'mixed', 'crash']
const WRITES: readonly OperationKind[] = ['put', 'delete', 'copy', 'rename', 'publish']
const OBJECT_READS: readonly OperationKind[] = ['get', 'ranges', 'tail', 'whole']
const DETAILS: readonly string[] = ['kind', 'ms', 'after', 'done', 'error']

/** Whether a fault fits an operation. */
export function concerns(fault: FaultKind, operation: OperationKind): boolean {
  if (fault === 'lost' || fault === 'late') return WRITES.includes(operation)
  if (fault === 'short') return OBJECT_READS.includes(operation) || operation === 'read'
  return fault !== 'mixed' || OBJECT_READS.includes(operation)
}

/** @throws InvalidArgumentError for an unknown kind or detail */
export function toFaultDetails(fault: Fault): FaultDetails {
  const details = typeof fault === 'string' ? { kind: fault } : fault
  if (!KINDS.includes(details.kind)) invalidArgument(`a fault is one of ${KINDS.join(', ')}, not ${details.kind}`, fault)
  const unknown = Object.keys(details).find((name) => !DETAILS.includes(name))
  if (unknown !== undefined) invalidArgument(`a fault has no '${unknown}'; there are ${DETAILS.join(', ')}`, fault)
  return details
}

/** Options of {@link seededFaults}. */
export interface SeededFaultsOptions {
  /** Share of operations with a fault, from 0 to 1. Default: 0.1. */
  readonly rate?: number
  /**
   * Kinds of faults. Default: `delay`, `error`, `lost` and `late`, which a store within its contract may
   * have.
   */
  readonly kinds?: readonly FaultKind[]
  /** Longest delay in ms. Default: 5. */
  readonly maxDelay?: number
}

const CHECKS: Checks<SeededFaultsOptions> = { rate: 'number', kinds: 'list', maxDelay: 'number from 0' }

/**
 * Returns random faults, which are the same for the same seed and order of operations.
 * @throws InvalidArgumentError for an unknown option or kind, or a rate outside [0, 1]
 */
export function seededFaults(seed: number, options: SeededFaultsOptions = {}): FaultScript {
  checkOptions('seededFaults', options, CHECKS)
  const { rate = 0.1, kinds = ['delay', 'error', 'lost', 'late'], maxDelay = 5 } = options
  if (!(rate >= 0 && rate <= 1)) invalidArgument('rate is a share between 0 and 1', rate)
  for (const kind of kinds) toFaultDetails(kind)
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

/** Returns a generator of numbers in [0, 1): a Weyl sequence, mixed as in MurmurHash3. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }
}
