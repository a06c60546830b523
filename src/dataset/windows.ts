import { DiskArray } from '../array/disk-array.ts'
import { broadcastSource } from '../array/lazy/broadcast.ts'
import type { FoldOptions, RankOptions } from '../array/reductions/fold-kinds.ts'
import { type AxisLengths, coarsenBy, rollingBy } from '../array/reductions/windows.ts'
import type { DType } from '../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { member } from '../core/member.ts'
import { type Check, type Checks, checkOptions } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { sizeOf } from '../core/shape.ts'
import { asFloats, presence } from './cast-float.ts'
import { computedOnce } from './computed.ts'
import { type Coords, type Labelled, takeCoords } from './coords.ts'
import { type Divided, GroupedReductions, type Over } from './grouped-reductions.ts'
import { LabelIndex } from './label-index.ts'
import type { Taken } from './label-selectors.ts'
import {
  checkDim,
  checkReduction,
  type GroupKind,
  isOfTimes,
  keepingMissing,
  ofTimes,
  type ReduceDimsOptions,
  reducedKind,
  reducedTo,
  skipping,
} from './reductions.ts'
import { withInstants } from './replace-times.ts'
import { packInstants } from './time/instant.ts'
import { arrayOfLabels, type Variable } from './variable.ts'

/** Options of `rolling`. */
export interface RollingOptions {
  /** Whether a window is labelled by its middle instead of its last position. Default: false. */
  readonly center?: boolean
  /** Number of values below which a window is missing. Default: all values of the window. */
  readonly minPeriods?: number
}

/** Options of `coarsen`. */
export interface CoarsenOptions {
  /**
   * Rule for an axis that is not divisible. `exact` (default) refuses it, `trim` drops the rest, `pad` makes
   * a shorter block of it.
   */
  readonly boundary?: 'exact' | 'trim' | 'pad'
}

const ROLLING: Checks<RollingOptions> = { center: 'boolean', minPeriods: 'integer from 0' }
const COARSEN: Checks<CoarsenOptions> = { boundary: ['exact', 'trim', 'pad'] }
const SKIP: Checks<Pick<ReduceDimsOptions, 'skipMissing'>> = { skipMissing: 'boolean' }

/** Reduces windows. */
type ReduceWindows<A> = (kind: GroupKind, options: WindowOptions) => A
type WindowOptions = Pick<ReduceDimsOptions, 'skipMissing'> & FoldOptions & RankOptions

/**
 * An array or a dataset in windows or blocks of neighbouring positions. Reductions return one value for each.
 */
export class WindowedArray<M extends Readonly<Record<GroupKind, unknown>>> extends GroupedReductions<M> {
  readonly #reduce: ReduceWindows<M[GroupKind]>
  readonly #label: Divided['label']
  readonly #checks: Readonly<Record<string, Check>>

  /**
   * @internal
   * @param checks checks of the options of its reductions
   */
  constructor(label: Divided['label'], checks: Readonly<Record<string, Check>>, reduce: ReduceWindows<M[GroupKind]>) {
    super()
    this.#label = label
    this.#checks = checks
    this.#reduce = reduce
  }

  /** @internal */
  protected override reduce<K extends GroupKind>(kind: K, options: ReduceDimsOptions = {}, q?: number): M[K] {
    checkReduction(kind, options, this.#checks, this.#label)
    return this.#reduce(kind, { ...options, ...(q !== undefined && { q }) })
  }
}

/**
 * Forms windows of given lengths, each ending at the position of its label, or centred on it. Windows with
 * too few values are missing.
 * @throws InvalidArgumentError for invalid lengths
 */
export function rollingWindows<M extends Readonly<Record<GroupKind, unknown>>>(
  divided: Divided,
  lengths: AxisLengths,
  options: RollingOptions,
  over: Over<M[GroupKind]>,
): WindowedArray<M> {
  checkOptions('rolling', options, ROLLING, divided.label)
  checkLengths(divided, lengths)
  const most = sizeOf(Object.values(lengths))
  if ((options.minPeriods ?? 0) > most)
    invalidArgument(
      `\`minPeriods\` is at most ${most}, the number of positions that are reduced together, got ${options.minPeriods}`,
      options.minPeriods,
    )
  return new WindowedArray(divided.label, {}, (kind, own) =>
    over((array) => rolled(array, lengths, options, kind, own), Object.keys(lengths), kind, ownOptions(own)),
  )
}

function rolled(
  { variable, coordinates }: Labelled,
  lengths: AxisLengths,
  rolling: RollingOptions,
  kind: GroupKind,
  options: WindowOptions,
): Labelled {
  const { center = false, minPeriods } = rolling
  const sizes = sizesAlong(variable, lengths)
  const widths = sizes.map((size) => (center ? [size >> 1, size - 1 - (size >> 1)] : [size - 1, 0]) as [number, number])
  const { dtype, missing } = reducedKind(variable, kind)
  if (isOfTimes(dtype, kind) && kind !== 'mean') {
    const ranks = ofTimes(variable.array, kind, true, (array, by, _, signal) => {
      const part = rolled({ variable: variable.with({ array }), coordinates }, lengths, rolling, by, options)
      return part.variable.array.toTensor({ signal })
    })
    return result(
      variable,
      computedOnce<DType>([variable.array], dtype, variable.array.shape, ranks, missing) as DiskArray,
      coordinates,
      kind,
    )
  }
  const padded = asFloats(variable.array, variable.name).pad(widths, { value: Number.NaN })
  // The number of present values decides which windows are missing.
  const all = minPeriods === undefined && !kind.startsWith('count')
  const skip = { skipMissing: !all, skipNaN: !all }
  const fold = (of: DiskArray, by: GroupKind) => rollingBy(of, sizes, by, { ...skip, ...(by === kind && ownOptions(options)) })
  if (all) return result(variable, fold(padded, kind), coordinates, kind)
  const counts = fold(padded, 'count')
  const values = kind === 'count' ? counts : fold(padded, kind)
  const least = minPeriods ?? sizeOf(sizes)
  const enough = (value: number, count: number): number => (count >= least ? value : Number.NaN)
  return result(variable, new DiskArray(broadcastSource(enough, [values.source, counts.source])) as DiskArray, coordinates, kind)
}

/**
 * Forms blocks of given lengths. Coordinates become the means of each block.
 * @throws InvalidArgumentError for invalid lengths, and for an axis that is not divisible
 */
export function coarsenedBlocks<M extends Readonly<Record<GroupKind, unknown>>>(
  divided: Divided,
  lengths: AxisLengths,
  options: CoarsenOptions,
  over: Over<M[GroupKind]>,
): WindowedArray<M> {
  checkOptions('coarsen', options, COARSEN, divided.label)
  checkLengths(divided, lengths)
  const rest = checkRest(divided, lengths, options.boundary ?? 'exact')
  let coordinates: Coords | undefined
  // The same for all variables of a dataset.
  const coarse = (): Coords => {
    coordinates ??= coarsenedCoords(takeCoords(divided.coordinates, rest), lengths)
    return coordinates
  }
  return new WindowedArray(divided.label, SKIP, (kind, own) =>
    over(({ variable }) => coarsened(variable.take(rest), coarse(), lengths, kind, own), Object.keys(lengths), kind, {
      skipMissing: own.skipMissing ?? true,
      ...ownOptions(own),
    }),
  )
}

/** Returns the options that belong to a kind of reduction. */
const ownOptions = ({ skipMissing, ...own }: WindowOptions): FoldOptions & RankOptions => own

/** @param variable without positions after the last whole block */
function coarsened(
  variable: Variable,
  coordinates: Coords,
  lengths: AxisLengths,
  kind: GroupKind,
  { skipMissing = true, ...options }: WindowOptions,
): Labelled {
  const sizes = sizesAlong(variable, lengths)
  const blocks = sizes.map((size, axis) => Math.ceil(variable.array.shape[axis]! / size))
  const own = kind === 'count' ? presence(variable.array) : keepingMissing(variable.array, skipMissing)
  const { dtype, missing } = reducedKind(kind === 'count' ? variable : variable.with({ array: own }), kind)
  const fold = (of: DiskArray, by: GroupKind, skip: object): DiskArray =>
    coarsenBy(of, sizes, by, { ...skip, ...ownOptions(options) })
  const values = isOfTimes(dtype, kind)
    ? computedOnce<DType>(
        [own],
        dtype,
        blocks,
        ofTimes(own, kind, skipMissing, (part, by, skip, signal) => fold(part, by, skip).toTensor({ signal })),
        missing,
      )
    : fold(own, kind, skipping(own, skipMissing))
  return result(variable, values as DiskArray, coordinates, kind)
}

const result = (variable: Variable, array: DiskArray, coordinates: Coords, kind: GroupKind): Labelled => ({
  variable: reducedTo(variable, array, variable.dims, kind),
  coordinates,
})

/** Checks lengths by dimension. */
function checkLengths({ label, lengths: dims }: Divided, lengths: AxisLengths): void {
  if (Object(lengths) !== lengths) invalidArgument(`lengths by dimension are an object, got ${quoted(lengths)}`, lengths)
  for (const [dim, size] of Object.entries(lengths)) {
    checkDim(dim, [...dims.keys()], label)
    if (!(Number.isSafeInteger(size) && size >= 1)) invalidArgument(`the length along ${dim} is an integer from 1`, size)
  }
}

const sizesAlong = ({ dims }: Variable, lengths: AxisLengths): number[] => dims.map((dim) => member(lengths, dim) ?? 1)

/**
 * Returns the selection of whole blocks.
 * @throws InvalidArgumentError for an axis that is not divisible, if it has to be
 */
function checkRest(
  { label, lengths: dims }: Divided,
  lengths: AxisLengths,
  boundary: 'exact' | 'trim' | 'pad',
): Map<string, Taken> {
  const taken = new Map<string, Taken>()
  for (const [axis, [dim, length]] of [...dims].entries()) {
    const size = member(lengths, dim) ?? 1
    if (boundary === 'pad' || length % size === 0) continue
    if (boundary === 'exact') {
      const text = `${dim}, of length ${length}, does not divide by ${size}; \`boundary: 'trim'\` or 'pad' take it all the same`
      throw new HyperslabError('InvalidArgumentError', text, { ...label, axis, actual: length, expected: size })
    }
    taken.set(dim, { parts: [{ positions: { start: 0, step: 1, length: length - (length % size) }, shift: 0 }] })
  }
  return taken
}

function coarsenedCoords(coordinates: Coords, lengths: AxisLengths): Coords {
  const coords = [...coordinates].map(([dim, coord]) => [dim, coarsenedCoord(coord, lengths)] as const)
  return new Map(coords.filter(([, coord]) => coord !== undefined) as [string, Variable][])
}

/** Returns a coordinate of blocks: means of labels or other numbers. Undefined for values without a mean. */
function coarsenedCoord(coord: Variable, lengths: AxisLengths): Variable | undefined {
  if (!coord.dims.some((dim) => Object.hasOwn(lengths, dim))) return coord
  const { index, array, dims } = coord
  const sizes = dims.map((dim) => member(lengths, dim) ?? 1)
  if (index !== undefined && typeof index.values[0] !== 'string') {
    const size = sizes[0]!
    const means = Array.from({ length: Math.ceil(index.length / size) }, (_, block) =>
      meanLabel(index, block * size, (block + 1) * size),
    )
    if (index.kind.calendar !== undefined) return withInstants(coord, packInstants(means as bigint[]))
    const labels = new LabelIndex(index.dim, Float64Array.from(means, Number), { ...index.kind, dtype: 'float64' })
    return coord.with({ index: labels, array: arrayOfLabels(labels, 'float64'), encoding: {} })
  }
  if (array.dtype === 'string' || array.dtype === 'binary' || array.dtype === 'timestamp_ns') return undefined
  return coord.with({ array: coarsenBy(array, sizes, 'mean', {}), encoding: {} })
}

function meanLabel({ values }: LabelIndex, start: number, stop: number): number | bigint {
  const length = Math.min(stop, values.length) - start
  const block = Array.from({ length }, (_, i) => values[start + i] as number | bigint)
  if (typeof block[0] === 'bigint') {
    const first = block[0]
    return first + (block as bigint[]).reduce((sum, each) => sum + (each - first), 0n) / BigInt(block.length)
  }
  return (block as number[]).reduce((sum, each) => sum + each, 0) / block.length
}
