import type { AxisIndices } from '../core/axis-indices.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { findCoordinateMemory } from './coordinate-memory.ts'
import { type Coords, isLabelled, type Labelled, mergeCoords } from './coords.ts'
import type { Taken } from './label-selectors.ts'
import { checkDim, keepingMissing } from './reductions.ts'
import { NAT } from './time/instant.ts'
import type { Variable } from './variable.ts'

/** Options of `sortBy`. */
export interface SortOptions {
  /** Whether smaller values come first. If false, the order is reversed. Default: true. */
  readonly ascending?: boolean
}

/** Key of an order: the name of a coordinate, or an array along one dimension. */
export type SortKey = string | Labelled

const SORT: Checks<SortOptions> = { ascending: 'boolean' }

/**
 * Returns the positions of each sorted dimension. Equal values keep their order, missing ones come last; a
 * descending order is the reverse of this one. Of several keys along a dimension, the first counts most.
 * Labels are in memory; other keys are read, within the limit for coordinates.
 * @throws InvalidArgumentError for keys that do not exist or do not lie along one dimension, and for labels
 *   that differ; TooLargeError for keys beyond the limit
 */
export async function sortedPositions(
  { variable, coordinates }: Labelled,
  keys: SortKey | readonly SortKey[],
  options: SortOptions = {},
): Promise<Map<string, Taken>> {
  const { name, dims } = variable
  checkOptions('sortBy', options, SORT, { array: name })
  const byDim = new Map<string, ArrayLike<unknown>[]>()
  for (const key of Array.isArray(keys) ? (keys as readonly SortKey[]) : [keys as SortKey]) {
    const along = keyOf(key, name, coordinates)
    const [dim] = along.dims
    if (dim === undefined || along.dims.length > 1) {
      const text = `a key of sortBy lies along one dimension, ${along.name} along [${along.dims.join(', ')}]`
      throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: along.dims })
    }
    checkDim(dim, dims, { array: name })
    const [length, expected] = [along.array.size, variable.array.shape[dims.indexOf(dim)]]
    if (length !== expected) {
      const text = `${along.name} has ${length} values along ${dim}, which is of length ${expected}`
      throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: length, expected })
    }
    byDim.set(dim, [...(byDim.get(dim) ?? []), await valuesOf(along)])
  }
  const taken = new Map<string, Taken>()
  for (const [dim, values] of byDim)
    taken.set(dim, { parts: [{ positions: sortPositions(values, options.ascending ?? true), shift: 0 }] })
  return taken
}

function keyOf(key: unknown, array: string, coordinates: Coords): Variable {
  if (typeof key === 'string') {
    const coord = coordinates.get(key)
    if (coord !== undefined) return coord
    const known = [...coordinates.keys()]
    const text = `there is no coordinate ${quoted(key)} to sort by: there are ${known.join(', ') || 'none'}`
    throw new HyperslabError('InvalidArgumentError', text, { array, actual: key, expected: known })
  }
  if (!isLabelled(key)) return invalidArgument('sortBy takes names of coordinates or arrays of a dataset', key)
  // Compares labels.
  mergeCoords(coordinates, key.coordinates, 'drop')
  return key.variable
}

async function valuesOf(key: Variable): Promise<ArrayLike<unknown>> {
  if (key.index !== undefined) return key.index.values as ArrayLike<unknown>
  findCoordinateMemory(key.array).take(key)
  return (await keepingMissing(key.array, false).toTensor()).data as ArrayLike<unknown>
}

function sortPositions(keys: readonly ArrayLike<unknown>[], ascending: boolean): AxisIndices<Float64Array> {
  const { length } = keys[0]!
  const order = Float64Array.from({ length }, (_, at) => at)
  const compare = (a: number, b: number): number => {
    for (const values of keys) {
      const found = compareValues(values[a], values[b])
      if (found !== 0) return found
    }
    return a - b
  }
  order.sort(compare)
  if (!ascending) order.reverse()
  const [first, last] = [order[0] ?? 0, order[length - 1] ?? 0]
  const step = last >= first ? 1 : -1
  // Reads of ranges are cheaper than those of lists.
  return order.every((at, i) => at === first + i * step) ? { start: first, step, length } : order
}

function compareValues(a: unknown, b: unknown): number {
  const [isNone, isOther] = [a, b].map((value) => value === NAT || Number.isNaN(value))
  if (isNone || isOther) return Number(isNone) - Number(isOther)
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0
}
