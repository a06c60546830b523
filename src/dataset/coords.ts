import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import type { Attrs } from './attributes.ts'
import type { Taken } from './label-selectors.ts'
import { isSameLabel } from './label-values.ts'
import type { Origin } from './origin.ts'
import { Variable } from './variable.ts'

/** Coordinates by name. */
export type Coords = ReadonlyMap<string, Variable>

/** A variable with the coordinates along its dimensions; the operand and result of operations. */
export interface Labelled {
  readonly variable: Variable
  readonly coordinates: Coords
}

/** Whether a value that a caller passed is a labelled array. */
export const isLabelled = (value: unknown): value is Labelled => (Object(value) as Partial<Labelled>).variable instanceof Variable

/** @throws InvalidArgumentError for a value that is not a labelled array */
export function checkLabelled(call: string, value: unknown): asserts value is Labelled {
  if (isLabelled(value)) return
  invalidArgument(`${call} takes an array with labels (a DataArray), got ${quoted(value)}`, value)
}

/** Groups of a place that a dataset does not contain. */
export interface OmittedGroups {
  readonly file: string
  readonly names: readonly string[]
}

/** Parts of a dataset. */
export interface DatasetParts {
  readonly variables: ReadonlyMap<string, Variable>
  readonly coords: Coords
  readonly attrs: Attrs
  readonly decodeErrors?: ReadonlyMap<string, HyperslabError> | undefined
  /** Warnings about the file, one per line. */
  readonly warnings?: readonly string[] | undefined
  readonly close?: (() => Promise<void>) | undefined
  /** Returns the version of the files that the dataset was opened from. */
  readonly version?: (() => Promise<string>) | undefined
  /**
   * Returns the names of groups that the place has beside these variables, if all of these were opened and no
   * group was chosen. Derived datasets have none.
   */
  readonly groupsLeft?: (() => Promise<OmittedGroups>) | undefined
  /** Operation that made the dataset, if known. */
  readonly origin?: Origin | undefined
}

/** Selects along dimensions of coordinates. A coordinate selected at a single position becomes a scalar. */
export const takeCoords = (coords: Coords, taken: ReadonlyMap<string, Taken>): Coords =>
  new Map([...coords].map(([name, coord]) => [name, coord.take(taken)]))

/** Returns the names of dimensions with labels. */
export const labelledDims = (coords: Coords): string[] =>
  [...coords].flatMap(([name, { index }]) => (index === undefined ? [] : [name]))

/** Returns the coordinates whose dimensions are all among `dims`. */
export const coordsAlong = (coords: Coords, dims: readonly string[]): Coords =>
  new Map([...coords].filter(([, coord]) => coord.dims.every((dim) => dims.includes(dim))))

/**
 * Merges the coordinates of two operands. If two coordinates of one name differ, the one that labels a
 * dimension is kept. Others are dropped (`drop`), taken from the first operand (`keep`), or refused, as in
 * xarray.
 * @throws InvalidArgumentError if labels along a dimension differ, and for refused coordinates
 */
export function mergeCoords(a: Coords, b: Coords, others: 'drop' | 'keep' | 'refuse'): Coords {
  const merged = new Map(a)
  for (const [name, coord] of b) {
    const own = a.get(name)
    if (own === undefined) merged.set(name, coord)
    else if (own.index !== undefined && coord.index !== undefined) checkSameLabels(name, own, coord, others === 'drop')
    else if (own.array === coord.array || others === 'keep') continue
    else if (others === 'refuse') {
      const text = 'there are two coordinates of this name, which are not the same: rename or drop one'
      throw new HyperslabError('InvalidArgumentError', text, { array: name })
    } else if (coord.index !== undefined) merged.set(name, coord)
    else if (own.index === undefined) merged.delete(name)
  }
  return merged
}

/** @param mayJoin whether the operation has an option that joins labels which differ */
function checkSameLabels(dim: string, a: Variable, b: Variable, mayJoin: boolean): void {
  const [one, other] = [a.index!, b.index!]
  if (one === other || one.equals(other)) return
  const same = one.length === other.length
  let at = 0
  while (same && isSameLabel(one.at(at), other.at(at))) at++
  const text = same
    ? `labels along ${dim} differ, first at position ${at}: ${one.show(one.at(at))} and ${other.show(other.at(at))}`
    : `there are ${one.length} labels along ${dim}, and ${other.length}`
  const hint = mayJoin ? "; `join: 'inner'` takes those that both have" : ''
  throw new HyperslabError('InvalidArgumentError', text + hint, {
    array: a.name,
    actual: other.length,
    expected: one.length,
  })
}
