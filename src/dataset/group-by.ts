import type { DiskArray } from '../array/disk-array.ts'
import { isAnyMissing, missingElements, NOT_A_NUMBER } from '../array/missing.ts'
import type { FoldOptions } from '../array/reductions/fold-kinds.ts'
import { type DType, isFloat, isNumeric } from '../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import type { Signal } from '../core/signal.ts'
import { asFloats } from './cast-float.ts'
import { computedOnce } from './computed.ts'
import { type Coords, coordsAlong, type Labelled, labelledDims } from './coords.ts'
import { groupLabels } from './group-labels.ts'
import { type Divided, GroupedReductions, type Over } from './grouped-reductions.ts'
import { LabelIndex } from './label-index.ts'
import type { Label } from './label-values.ts'
import {
  checkReduction,
  type GroupKind,
  keepingMissing,
  namedDims,
  REDUCE_CHECKS,
  type ReduceDimsOptions,
  reducedKind,
  reducedTo,
} from './reductions.ts'
import { NO_COMPONENT } from './time/components.ts'
import { NAT } from './time/instant.ts'
import { arrayOfLabels, Variable } from './variable.ts'

/**
 * Key for grouping positions along a dimension. It is a component of times such as `time.month`, the name of
 * a coordinate, or the edges of bins of one, `{ lat: [-90, 0, 90] }`. A bin excludes its lower edge.
 */
export type GroupKey = string | Readonly<Record<string, readonly number[]>>

/** Groups of positions along a dimension. */
export interface PositionGroups {
  /** Grouped dimension. */
  readonly dim: string
  /** Group of each position; -1 for none. */
  readonly of: Int32Array
  /** Coordinate of the groups, with their labels. */
  readonly coord: Variable
  /** Least number of values of a group with a result. */
  readonly minPeriods?: number | undefined
}

/** Option of dividing into groups. */
export interface MinPeriodsOption {
  /**
   * Least number of values of a group with a result. Groups of fewer are NaN, except in counts. Default: 0
   * for `sum` and `prod`, otherwise 1.
   */
  readonly minPeriods?: number
}

export const MIN_PERIODS_CHECKS: Checks<MinPeriodsOption> = { minPeriods: 'integer from 0' }

/**
 * An array or a dataset in groups. Each reduction is lazy. A group without values is missing, except that
 * `sum` and `count` are 0 and `prod` is 1. The option `minPeriods` makes sums of few values missing.
 * `min` and `max` keep the type of the values, with one exception: if a group has no positions, integers and
 * flags without a missing value become floats.
 */
export class GroupBy<M extends Readonly<Record<GroupKind, unknown>>, L> extends GroupedReductions<M> {
  readonly #divided: Divided
  readonly #over: Over<M[GroupKind]>
  readonly #groups: PositionGroups
  readonly #labelled: (coord: Labelled) => L

  /** @internal */
  constructor(
    divided: Divided,
    key: GroupKey | PositionGroups,
    over: Over<M[GroupKind]>,
    labelled: (coord: Labelled) => L,
    options?: MinPeriodsOption,
  ) {
    super()
    this.#divided = divided
    this.#over = over
    this.#labelled = labelled
    checkOptions('groupBy', options, MIN_PERIODS_CHECKS, divided.label)
    this.#groups = isGroups(key) ? key : { ...makeGroups(divided, key), ...options }
  }

  /** Labels of the groups, as a coordinate. */
  get labels(): L {
    return this.#labelled({ variable: this.#groups.coord, coordinates: new Map() })
  }

  /** @internal */
  protected override reduce<K extends GroupKind>(kind: K, options: ReduceDimsOptions & FoldOptions = {}, q = 0.5): M[K] {
    const { label, lengths } = this.#divided
    checkReduction(kind, options, REDUCE_CHECKS, label)
    const { dim } = this.#groups
    const { axis = dim } = options
    const reduced = namedDims([...lengths.keys()], axis, label)
    if (!reduced.includes(dim)) invalidArgument(`groups are along ${dim}: axis has to name it, too`, axis)
    return this.#over((array) => reducedGroups(array, this.#groups, kind, reduced, options, q), [dim], kind, options, q)
  }
}

function reducedGroups(
  { variable, coordinates }: Labelled,
  { dim, coord, of, minPeriods = 0 }: PositionGroups,
  kind: GroupKind,
  named: readonly string[],
  { skipMissing = true, ddof }: ReduceDimsOptions & FoldOptions,
  q: number,
): Labelled {
  const { dims: all } = variable
  const reduced = named.filter((each) => all.includes(each))
  const isExtreme = kind === 'min' || kind === 'max'
  const own = kind === 'count' ? variable.array : keepingMissing(variable.array, skipMissing)
  const isGapped = isExtreme && isAnyEmpty(of, coord.array.size)
  const array = isGapped ? withMissing(own, variable.name) : own
  const kept = all.filter((each) => each === dim || !reduced.includes(each))
  const dims = kept.map((each) => (each === dim ? coord.name : each))
  const shape = kept.map((each) => (each === dim ? coord.array.size : array.shape[all.indexOf(each)]!))
  const known = reducedKind(variable.with({ array }), kind)
  const isThinned = minPeriods > 0 && !kind.startsWith('count')
  if (isThinned && !isNumeric(known.dtype))
    invalidArgument(`\`minPeriods\` makes numbers missing, but ${kind} of ${variable.name} has ${known.dtype} values`, minPeriods)
  const dtype = isThinned && !isFloat(known.dtype) ? 'float64' : known.dtype
  const missing = isThinned || array !== own ? NOT_A_NUMBER : isGapped && dtype === 'timestamp_ns' ? NO_TIME : known.missing
  const compute = async (signal: Signal) => {
    const { reduceGroups } = await import('./group-reduce.ts')
    const grouped = { dims: all, dim, of, count: coord.array.size, reduced }
    const how = { skipMissing, q, ...(ddof !== undefined && { ddof }) }
    if (isThinned)
      return (await import('./thin-groups.ts')).thinnedGroups(array, grouped, kind, how, { minPeriods, dtype, signal })
    return reduceGroups(array, grouped, kind, how, signal)
  }
  // Other coordinates along the dimension have a value for each position, so they are dropped.
  const others = [...coordinates].filter(([, other]) => !other.dims.includes(dim))
  const values = computedOnce<DType>([variable.array], dtype, shape, compute as never, missing)
  const labelled = new Map(others).set(coord.name, coord)
  return { variable: reducedTo(variable, values, dims, kind), coordinates: coordsAlong(labelled, dims) }
}

const NO_TIME = { values: [NAT], nan: false }

/** Whether a group has no positions, as for an empty bin or an empty period in between. */
const isAnyEmpty = (of: Int32Array, count: number): boolean => {
  const groups = new Set(of)
  return groups.size - (groups.has(-1) ? 1 : 0) < count
}

/** Returns an array whose type can represent missing values. Other numbers and flags become floats. */
const withMissing = (array: DiskArray, name: string): DiskArray =>
  (isNumeric(array.dtype) || array.dtype === 'bool') && !isAnyMissing(missingElements(array.source))
    ? asFloats(array, name)
    : array

const isGroups = (key: GroupKey | PositionGroups): key is PositionGroups =>
  typeof key === 'object' && key !== null && key['coord'] instanceof Variable

/** @throws InvalidArgumentError for an invalid key */
function makeGroups({ label, coordinates }: Divided, key: GroupKey): PositionGroups {
  if (typeof key === 'object' && key !== null) return groupByBins(label, coordinates, key)
  if (typeof key !== 'string')
    return invalidArgument("groupBy takes a key like 'time.month', the name of a coordinate, or bins", key)
  const [name = '', component] = key.split('.')
  const along = indexCoord(label, coordinates, name)
  const labels = groupLabels(along, component === undefined ? name : key)
  const sorted = [...new Set(Array.from(labels))].filter((label) => !isNoLabel(label)).sort((a, b) => (a < b ? -1 : 1))
  // xarray keeps the order of labels that all differ.
  if (component === undefined && along.index!.direction < 0) sorted.reverse()
  const at = new Map(sorted.map((label, i) => [label, i]))
  const of = Int32Array.from(labels, (label) => at.get(label) ?? -1)
  const dim = along.dims[0]!
  if (component !== undefined) return { dim, of, coord: coordOfGroups(component, sorted, { dim: name, key }) }
  // Grouping by its own labels keeps one position of each label, with all attributes of the coordinate.
  const positions = Float64Array.from(sorted, (_, group) => of.indexOf(group))
  return { dim, of, coord: along.take(new Map([[dim, { parts: [{ positions, shift: 0 }] }]])) }
}

/** Whether a label is missing and therefore in no group. */
const isNoLabel = (label: Label | undefined): boolean =>
  label === undefined || label === NO_COMPONENT || label === NAT || Number.isNaN(label)

function groupByBins(label: Divided['label'], coords: Coords, bins: Readonly<Record<string, readonly number[]>>): PositionGroups {
  const [[name, edges] = ['', []], ...more] = Object.entries(bins)
  if (more.length > 0) invalidArgument('groupBy takes bins of one coordinate', bins)
  const along = indexCoord(label, coords, name)
  if (
    !(
      Array.isArray(edges) &&
      edges.length > 1 &&
      edges.every((edge, i) => typeof edge === 'number' && (i === 0 || edge > edges[i - 1]!))
    )
  )
    invalidArgument(`bins of ${name} are two edges or more, in ascending order`, edges)
  const values = along.index!.values as ArrayLike<number>
  const of = Int32Array.from(values, (value) => edges.findIndex((edge, i) => i > 0 && value > edges[i - 1]! && value <= edge) - 1)
  for (const [at, group] of of.entries()) if (group < 0) of[at] = -1
  const labels = edges.slice(1).map((edge, i) => `(${edges[i]}, ${edge}]`)
  return { dim: along.dims[0]!, of, coord: coordOfGroups(`${name}_bins`, labels, undefined) }
}

function indexCoord(label: Divided['label'], coords: Coords, name: string): Variable {
  const coord = coords.get(name)
  if (coord?.index !== undefined) return coord
  const known = labelledDims(coords)
  const text = `there are no labels ${quoted(name)} to group by: there are ${known.join(', ') || 'none'}`
  throw new HyperslabError('InvalidArgumentError', text, { ...label, actual: name, expected: known })
}

function coordOfGroups(name: string, labels: readonly Label[], grouped: Variable['grouped']): Variable {
  const dtype = typeof labels[0] === 'string' ? 'string' : 'float64'
  const values = dtype === 'string' ? labels : Float64Array.from(labels, Number)
  const index = new LabelIndex(name, values, { dtype })
  return new Variable({ name, array: arrayOfLabels(index, dtype), dims: [name], attrs: {}, index, grouped })
}
