import { allocate, toElement, zeroOf } from '../../../src/core/dtype.ts'
import { sizeOf } from '../../../src/core/shape.ts'
import type { ArrayOptions } from '../../../src/runtime/index.ts'
import { type Plain, pick } from '../../support/oracle.ts'

/** An array as plain data. */
export interface PlainArray extends Plain {
  readonly options: ArrayOptions
  readonly attributes: Map<string, unknown>
  /** The same in all versions of one array, another one when it is defined anew. */
  readonly id: symbol
}

export type Arrays = Map<string, PlainArray>

export interface Edit {
  readonly name: string
  readonly kind: 'define' | 'delete' | 'write' | 'attribute' | 'grow' | 'cut'
  change(arrays: Arrays): void
}

/**
 * State of one handle: the arrays when it last agreed with the flushed state, the arrays that it sees, and
 * its changes in between.
 */
export interface Handle {
  base: Arrays
  seen: Arrays
  edits: Edit[]
  /** The other one has flushed since. */
  stale: boolean
}

export class Model {
  /** Flushed arrays. */
  committed: Arrays
  readonly handles: Handle[]
  /** Arrays after each layer, by its number. */
  readonly past = new Map<number, Arrays>()

  constructor(committed: Arrays, handles: number) {
    this.committed = committed
    this.handles = Array.from({ length: handles }, () => freshHandle(committed))
  }

  /** No other handle has pending changes, and this one has seen all there is. */
  isAlone(handle: number): boolean {
    return !this.handles[handle]!.stale && this.handles.every(({ edits }, i) => i === handle || edits.length === 0)
  }
}

export const freshHandle = (committed: Arrays): Handle => ({
  base: copyOf(committed),
  seen: copyOf(committed),
  edits: [],
  stale: false,
})

export const copyOf = (arrays: Arrays): Arrays =>
  new Map(
    [...arrays].map(([name, array]) => [
      name,
      { ...array, data: [...array.data] as never, attributes: new Map(array.attributes) },
    ]),
  )

export function blank(options: ArrayOptions): PlainArray {
  const { dtype, shape, fillValue } = options
  const data = allocate(dtype, sizeOf(shape))
  ;(data as unknown[]).fill(toElement(dtype, fillValue ?? zeroOf(dtype)))
  return { dtype, shape, data, options, attributes: new Map(), id: Symbol('array') }
}

/** With another shape: what is added is fill. */
export function resized(array: PlainArray, shape: readonly number[]): PlainArray {
  const { data } = blank({ ...array.options, shape })
  const axes = shape.map((length, axis) => ({ start: null, stop: Math.min(length, array.shape[axis]!), step: null }))
  const from = pick(array.shape, axes).flat
  pick(shape, axes).flat.forEach((to, i) => {
    data[to] = array.data[from[i]!]!
  })
  return { ...array, shape, data }
}

/** Puts a value at those of some indices that are in the array. */
export function setAt({ shape, data }: PlainArray, indices: readonly (readonly number[])[], value: unknown): void {
  for (const index of indices) {
    if (!index.every((k, axis) => k < shape[axis]!)) continue
    data[index.reduce((at, k, axis) => at * shape[axis]! + k, 0)] = value as never
  }
}

/** Whether changes made to `before` have nowhere to go in `now`, which another handle has made of it. */
export function isGone(before: PlainArray | undefined, now: PlainArray | undefined, edits: readonly Edit[]): boolean {
  if (before === undefined || now === undefined) return before !== now
  const kinds = new Set(edits.map(({ kind }) => kind))
  const like = ({ options, shape }: PlainArray, withShape: boolean): string =>
    JSON.stringify({ ...options, fillValue: String(options.fillValue), shape: withShape && shape })
  if (like(before, true) === like(now, true)) return false
  // A deleted array must still have its options and shape.
  if (kinds.has('delete') || like(before, false) !== like(now, false)) return true
  return before.id !== now.id && ['write', 'grow', 'cut'].some((kind) => kinds.has(kind as Edit['kind']))
}
