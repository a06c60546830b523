import type { DiskArray } from '../array/disk-array.ts'
import type { GetAsOptions, GetOptions } from '../array/get.ts'
import type { MapOptions } from '../array/lazy/map.ts'
import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import type { ValuesAsOptions, ValuesOptions } from '../array/read-whole.ts'
import type { Histogram, HistogramOptions } from '../array/reductions/histogram.ts'
import type { AxisLengths } from '../array/reductions/windows.ts'
import type { DType, ScalarOf } from '../core/dtype.ts'
import { invalidArgument } from '../core/errors.ts'
import { checkOptions, checkValue } from '../core/options.ts'
import type { Selector } from '../grid/selection.ts'
import { ARITHMETIC_CHECKS, type Arithmetic, type ArithmeticOptions, combineArrays, whereTrue } from './arithmetic.ts'
import { type Attrs, checkAttrs } from './attributes.ts'
import { asFloats } from './cast-float.ts'
import { findAxisKind } from './cf/axis-kind.ts'
import { type ClimatologyOptions, computeClimatology } from './climatology.ts'
import { type ComparedValue, type Comparison, compared, logical, negated } from './comparisons.ts'
import { type Coords, checkLabelled, coordsAlong, type Labelled, takeCoords } from './coords.ts'
import { cumulated, type DiffOptions, differences, expanded, type ShiftOptions, shifted, squeezed, transposed } from './dims.ts'
import {
  absoluteValues,
  castTo,
  clipped,
  computedElements,
  filled,
  mappedElements,
  nullness,
  type Replacement,
  rounded,
} from './elements.ts'
import { type ExtremeKind, extremesAlong, type OneDimOptions } from './extremes.ts'
import { GroupBy, type GroupKey, type MinPeriodsOption } from './group-by.ts'
import type { Divided, Over } from './grouped-reductions.ts'
import type { InterpLabels, InterpOptions } from './interp.ts'
import { isPointList, SEL_CHECKS, takenByLabel, takenByPosition } from './label-selection.ts'
import type { LabelSelector, SelOptions, Taken } from './label-selectors.ts'
import { createOrigin, type Origin } from './origin.ts'
import type { ArrowRecordBatch } from './out/arrow.ts'
import type { TableOptions } from './out/csv.ts'
import {
  indexedPoints,
  type LabelledPoints,
  type PointIndices,
  type PointLabels,
  type PointsOptions,
  type SelPointsOptions,
  selectedPoints,
} from './points.ts'
import type { FloatsOf, MaskedDType, MeanDType, ReadKind, ReadValues, ReducedDType, ValuesOf } from './reduced-types.ts'
import { Reducible } from './reducible.ts'
import {
  type DescribeValuesOptions,
  describeValues,
  type GroupKind,
  type KeepDimsOptions,
  quantileAlong,
  type ReduceDimsOptions,
  type ReduceKind,
  reduceAlong,
  type ValuesDescription,
} from './reductions.ts'
import { describeArray } from './repr.ts'
import { type ResampleOptions, resampledGroups } from './resample.ts'
import type { SortOptions } from './sort-by.ts'
import type { CFTime } from './time/instant.ts'
import type { Variable } from './variable.ts'
import { Weighted } from './weighted.ts'
import { type CoarsenOptions, coarsenedBlocks, type RollingOptions, rollingWindows, type WindowedArray } from './windows.ts'

/** Results of reductions of an array: of all dimensions, and along some. */
export type ReducedArrays<D extends DType> = {
  readonly [K in ReduceKind]: readonly [whole: DataArray<ReducedDType<D, K>, 'scalar'>, along: DataArray<ReducedDType<D, K>>]
}

/** Results of reductions of the parts of an array. */
export type GroupedArrays<D extends DType> = {
  readonly [K in GroupKind]: DataArray<K extends 'sum' | 'prod' | 'min' | 'max' ? DType : ReducedDType<D, K>>
}

/** Result whose types the signature of its method states. */
// biome-ignore lint/suspicious/noExplicitAny: operations on variables do not know the declared types
type AnyArray = DataArray<any, any>

/**
 * An array with named dimensions, coordinates and attributes, as in xarray. Operations are lazy: only `get`,
 * `values` and `dates` read or compute.
 */
export class DataArray<D extends DType = DType, R extends ReadKind = ReadKind> extends Reducible<ReducedArrays<D>> {
  /** @internal */
  readonly variable: Variable
  /** @internal */
  readonly coordinates: Coords

  /** @internal */
  readonly origin: Origin | undefined

  /** @internal */
  constructor(variable: Variable, coords: Coords, origin?: Origin) {
    super()
    this.origin = origin
    this.variable = variable
    this.coordinates = coordsAlong(coords, variable.dims)
  }

  /** Name in the dataset. */
  get name(): string {
    return this.variable.name
  }

  /** Decoded values as a lazy array, whose axes are `dims`. */
  get array(): DiskArray<D> {
    return this.variable.array as DiskArray as DiskArray<D>
  }

  /** Data type of the decoded values. */
  get dtype(): D {
    return this.array.dtype
  }

  /** Names of the dimensions, in the order of the axes. */
  get dims(): readonly string[] {
    return this.variable.dims
  }

  /** Length of each dimension. */
  get shape(): readonly number[] {
    return this.array.shape
  }

  /** Attributes, without those that decoding has used; these are in `encoding`. */
  get attrs(): Attrs {
    return this.variable.attrs
  }

  /** Encoding: the stored data type, the chunks, and the attributes used by decoding. */
  get encoding(): Attrs {
    return this.variable.encoding
  }

  /** Coordinates by name: those along the dimensions, and single values left by selections. */
  get coords(): Readonly<Record<string, DataArray>> {
    return Object.fromEntries(
      [...this.coordinates].map(([name, coord]) => [
        name,
        new DataArray(coord, this.coordinates, createOrigin(this, 'get', name)),
      ]),
    )
  }

  /** Selects points, as {@link selPoints}. */
  sel(points: readonly PointLabels[], options?: SelPointsOptions): DataArray<D>
  /**
   * Selects by labels. A label drops its dimension; a range (`between`, or a partial date) or a list keeps
   * it.
   * @throws InvalidSelectionError for labels that do not exist, with their neighbours; InvalidArgumentError
   *   for dimensions that do not exist or have no labels
   * @example
   * const coords = { lat: [50, 52.5, 55] }
   * const ds = new Dataset({ t: { dims: ['lat'], data: [281, 285, 290] } }, { coords })
   * console.log(await ds.get('t').sel({ lat: 52.5 }).get()) // 285
   */
  sel(labels: Readonly<Record<string, LabelSelector>>, options?: SelOptions): DataArray<D>
  sel(labels: Readonly<Record<string, LabelSelector>> | readonly PointLabels[], options: SelPointsOptions = {}): DataArray<D> {
    if (isPointList(labels)) return this.selPoints(labels, options)
    checkOptions('sel', options, SEL_CHECKS, { array: this.name })
    return this.#taken(takenByLabel(labels, this.coordinates, this.dims, options), 'sel', labels, options)
  }

  /**
   * Selects points by positions along a new dimension, which replaces theirs: `isel([{ lat: 3, lon: 0 },
   * …])`. The labels of the replaced dimensions become coordinates along the new one.
   */
  isel(points: readonly PointIndices[], options?: PointsOptions): DataArray<D>
  /**
   * Selects by positions. An integer drops its dimension; a `slice` or a list keeps it.
   * @throws InvalidSelectionError
   */
  isel(positions: Readonly<Record<string, Selector>>): DataArray<D>
  isel(positions: Readonly<Record<string, Selector>> | readonly PointIndices[], options?: PointsOptions): DataArray<D> {
    if (isPointList(positions)) return this.#then('isel of points')(indexedPoints(this, positions, options))
    checkOptions('isel', options, {}, { array: this.name })
    return this.#taken(takenByPosition(positions, this.dims, this.shape), 'isel')
  }

  /**
   * Selects points along a new dimension, which replaces the dimensions of their labels: `selPoints([{ lat,
   * lon }, …])`. Named points, `selPoints({ Potsdam: { lat, lon } })`, are labelled by their names.
   * Two-dimensional latitudes and longitudes, such as those of swaths, are read once, with the first values;
   * for these, `method: 'nearest'` finds the nearest cell along the great circle. Their `tolerance` is text,
   * such as `25km` or `0.25deg`. Without it, a point is outside if it is further from the nearest cell than
   * the neighbours of this cell are.
   * @throws InvalidSelectionError for points that do not exist and, when read, for places that are outside;
   *   InvalidArgumentError as `sel`
   */
  selPoints(points: LabelledPoints, options?: SelPointsOptions): DataArray<D> {
    return this.#then('selPoints')(selectedPoints(this, points, options))
  }

  /**
   * Interpolates linearly between labels: `interp({ lat: 52.3, lon: [13, 13.5] })`. The result is lazy.
   * Values outside the labels or beside missing values are NaN. Longitudes around the globe have no outside.
   * @throws InvalidArgumentError for dimensions that do not exist or lack ordered labels; UnsupportedError
   *   for values that are not numbers
   */
  async interp(labels: InterpLabels, options: InterpOptions = {}): Promise<DataArray> {
    return this.#then('interp', labels)((await import('./interp.ts')).interpolated(this, labels, options))
  }

  /**
   * Reads the values as a tensor; without dimensions, as a single value. `as` converts them, as `get` of
   * arrays does.
   */
  async get(options?: GetOptions<D>): Promise<ReadValues<D, R>>
  async get<K extends DType>(options: GetAsOptions<K>): Promise<ReadValues<K, R>>
  async get(options: GetOptions<D> & { readonly as?: D } = {}): Promise<unknown> {
    return this.array.get(this.dims.length === 0 ? [] : null, options)
  }

  /**
   * Reads the values as a typed array in C order; text and binaries as a list.
   * @throws InvalidArgumentError if `out` is of another type or length
   */
  async values(options?: ValuesOptions<D>): Promise<ValuesOf<D>>
  async values<K extends DType>(options: ValuesAsOptions<K>): Promise<ValuesOf<K>>
  async values(options: ValuesOptions<D> & { readonly as?: D } = {}): Promise<unknown> {
    return this.array.values(options as ValuesOptions<D>)
  }

  /**
   * Reads times as a flat list of Dates, or of {@link CFTime}s if their calendar differs from that of Dates.
   * Missing times are null.
   * @throws InvalidArgumentError if the values are not times
   */
  async dates(): Promise<(Date | CFTime | null)[]> {
    const { times, index, scalar } = this.variable
    const isDecoded = this.dtype === 'timestamp_ns'
    if (times === undefined && !isDecoded) invalidArgument(`${this.name} has no times, but ${this.dtype} values`, this.dtype)
    const calendar = times?.calendar ?? 'proleptic_gregorian'
    const labels = (index ?? scalar)?.values as ArrayLike<bigint> | undefined
    const [values, { toDates }] = await Promise.all([labels ?? this.values(), import('./time/dates.ts')])
    const isMissing = missingTest(missingElements(this.array.source))
    const counted = labels === undefined && !isDecoded && times !== undefined ? { times, isMissing } : undefined
    return toDates(values as ArrayLike<bigint>, calendar, counted)
  }

  /** Returns the positions of the smallest values along a dimension; of equal ones, the first. */
  argMin(options?: OneDimOptions): DataArray {
    return this.#extremes('argMin', options)
  }

  /** Returns the positions of the greatest values along a dimension; of equal ones, the first. */
  argMax(options?: OneDimOptions): DataArray {
    return this.#extremes('argMax', options)
  }

  /**
   * Returns the labels of the smallest values along a dimension; NaN or NaT where there are no values.
   * @throws InvalidArgumentError for a dimension without labels; when read, EmptyReductionError where there
   *   are no values, if labels are text or 64-bit integers
   * @example
   * const t = { dims: ['lat'], data: [281, 270, 290] }
   * const ds = new Dataset({ t }, { coords: { lat: [50, 60, 70] } })
   * console.log(await ds.get('t').idxMin().get()) // 60
   */
  idxMin(options?: OneDimOptions): DataArray {
    return this.#extremes('idxMin', options)
  }

  /** Returns the labels of the greatest values along a dimension; as {@link idxMin} otherwise. */
  idxMax(options?: OneDimOptions): DataArray {
    return this.#extremes('idxMax', options)
  }

  /**
   * Returns the sums up to each position along some dimensions, by default along all, one after another.
   * Missing values add nothing; with `skipMissing: false`, the sums after them are missing.
   * @throws UnsupportedError for times, text and binaries
   * @example
   * const ds = new Dataset({ t: { dims: ['x'], data: [1, NaN, 3] } })
   * console.log(await ds.get('t').cumsum('x').values()) // Float64Array(3) [ 1, 1, 4 ]
   */
  cumsum(axis?: string | readonly string[], options?: Pick<ReduceDimsOptions, 'skipMissing'>): DataArray {
    return this.#then('cumsum', axis, options)(cumulated(this, axis, options))
  }

  /**
   * Returns statistics of all values from one read of each chunk: the numbers of values and of missing ones,
   * minimum, maximum, mean and standard deviation. NaN is missing, as in other reductions. Extremes of times
   * are nanoseconds since 1970; their mean and deviation are NaN.
   * @throws UnsupportedError for text and binaries
   * @example
   * const ds = new Dataset({ t: { dims: ['x'], data: [1, NaN, 3] } })
   * console.log(await ds.get('t').describe()) // { count: 2, missing: 1, min: 1, max: 3, mean: 2, std: 1 }
   */
  describe(options?: DescribeValuesOptions): Promise<ValuesDescription> {
    return describeValues(this.variable, options)
  }

  /** Counts the values in bins; missing values are in no bin. */
  histogram(options?: HistogramOptions): Promise<Histogram> {
    return asFloats(this.array).histogram(options)
  }

  /**
   * Returns the means over all times that share one component (`month`, `season`, `dayofyear`, …), for all
   * years or those of a `period`.
   * @throws InvalidArgumentError unless exactly one dimension has times; InvalidSelectionError if the data do
   *   not reach an end of the period
   */
  climatology(unit: string, options?: ClimatologyOptions): DataArray<MeanDType<D>> {
    return computeClimatology<DataArray>(this as unknown as DataArray, unit, options) as AnyArray
  }

  /** Subtracts the {@link climatology} from the values. */
  anomaly(unit: string, options?: ClimatologyOptions): DataArray<'float32' | 'float64'> {
    return this.sub(computeClimatology<DataArray>(this as unknown as DataArray, unit, options, 'anomaly'))
  }

  /**
   * Groups the values along a dimension for a reduction. The key is a component of times (`time.month`,
   * `time.season`, `time.year`), the labels of a dimension, or bins of them, `{ lat: [-90, 0, 90] }`. For
   * other coordinates, `swapDims` makes labels of them first.
   * @throws InvalidArgumentError for an invalid key
   */
  groupBy(key: GroupKey, options: MinPeriodsOption = {}): GroupBy<GroupedArrays<D>, DataArray> {
    return new GroupBy(this.#divided, key, this.#over('groupBy', key, options), this.#then('labels'), options)
  }

  /**
   * Groups the values by periods of a pandas frequency for a reduction: `resample({ time: 'MS' }).mean()`.
   * @throws InvalidArgumentError for an invalid frequency, and for dimensions without times
   */
  resample(by: Readonly<Record<string, string>>, options: ResampleOptions = {}): GroupBy<GroupedArrays<D>, DataArray> {
    const groups = resampledGroups(this.#divided, by, options)
    return new GroupBy(this.#divided, groups, this.#over('resample', by, options), this.#then('labels'))
  }

  /**
   * Forms windows of neighbouring positions for a reduction: `rolling({ time: 3 }).mean()`. A window is
   * labelled by its last position.
   * @throws InvalidArgumentError for dimensions that do not exist, and for invalid lengths
   */
  rolling(lengths: AxisLengths, options: RollingOptions = {}): WindowedArray<GroupedArrays<D>> {
    return rollingWindows(this.#divided, lengths, options, this.#over('rolling', lengths, options))
  }

  /**
   * Forms blocks of neighbouring positions for a reduction: `coarsen({ lat: 2, lon: 2 }).mean()`.
   * @throws InvalidArgumentError as {@link rolling}, and if an axis is not divisible
   */
  coarsen(lengths: AxisLengths, options: CoarsenOptions = {}): WindowedArray<GroupedArrays<D>> {
    return coarsenedBlocks(this.#divided, lengths, options, this.#over('coarsen', lengths, options))
  }

  /**
   * Weights the values along some dimensions for a reduction: `weighted(cos(ds.get('lat'))).mean()`, or
   * `weighted(ds.get('areacella')).mean()`.
   * @throws InvalidArgumentError for weights along other dimensions
   */
  weighted(weights: DataArray): Weighted<DataArray<'float32' | 'float64'>, DataArray<'float32' | 'float64', 'scalar'>> {
    checkLabelled('weighted', weights)
    return new Weighted(this, weights, this.#then('weighted', weights))
  }

  /**
   * Adds another array, matched by dimension names and labels, or a number. Units and the standard name stay
   * if both arrays have the same units; adding a number drops them, because 273.15 makes other units.
   */
  add(other: number, options?: ArithmeticOptions): DataArray<FloatsOf<D>, R>
  add(other: DataArray | number, options?: ArithmeticOptions): DataArray<'float32' | 'float64'>
  add(other: DataArray | number, options?: ArithmeticOptions): AnyArray {
    return this.#combined('add', other, options)
  }

  /**
   * Subtracts another array or a number. Units stay if both arrays have the same. Subtracting a climatology
   * from times uses the value of each time's group: `tas.sub(tas.groupBy('time.month').mean())`.
   */
  sub(other: number, options?: ArithmeticOptions): DataArray<FloatsOf<D>, R>
  sub(other: DataArray | number, options?: ArithmeticOptions): DataArray<'float32' | 'float64'>
  sub(other: DataArray | number, options?: ArithmeticOptions): AnyArray {
    return this.#combined('sub', other, options)
  }

  /** Multiplies by another array or a number. The result has no units. */
  mul(other: number, options?: ArithmeticOptions): DataArray<FloatsOf<D>, R>
  mul(other: DataArray | number, options?: ArithmeticOptions): DataArray<'float32' | 'float64'>
  mul(other: DataArray | number, options?: ArithmeticOptions): AnyArray {
    return this.#combined('mul', other, options)
  }

  /** Divides by another array or a number; the result has floats, without units. */
  div(other: number, options?: ArithmeticOptions): DataArray<FloatsOf<D>, R>
  div(other: DataArray | number, options?: ArithmeticOptions): DataArray<'float32' | 'float64'>
  div(other: DataArray | number, options?: ArithmeticOptions): AnyArray {
    return this.#combined('div', other, options)
  }

  /**
   * Whether each value is less than another one, matched as in arithmetic. Missing values are not.
   * @throws InvalidArgumentError for values of another kind: numbers, times and text compare among themselves
   * @example
   * const ds = new Dataset({ t: { dims: ['x'], data: [271, NaN, 280] } })
   * console.log(await ds.get('t').lt(273.15).values()) // Uint8Array(3) [ 1, 0, 0 ]
   */
  lt(other: DataArray | ComparedValue, options?: ArithmeticOptions): DataArray<'bool'> {
    return this.#compared('lt', other, options)
  }

  /** Whether each value is at most another one; as {@link lt} otherwise. */
  le(other: DataArray | ComparedValue, options?: ArithmeticOptions): DataArray<'bool'> {
    return this.#compared('le', other, options)
  }

  /** Whether each value is greater than another one; as {@link lt} otherwise. */
  gt(other: DataArray | ComparedValue, options?: ArithmeticOptions): DataArray<'bool'> {
    return this.#compared('gt', other, options)
  }

  /** Whether each value is at least another one; as {@link lt} otherwise. */
  ge(other: DataArray | ComparedValue, options?: ArithmeticOptions): DataArray<'bool'> {
    return this.#compared('ge', other, options)
  }

  /** Whether each value equals another one; as {@link lt} otherwise. */
  eq(other: DataArray | ComparedValue, options?: ArithmeticOptions): DataArray<'bool'> {
    return this.#compared('eq', other, options)
  }

  /** Whether each value differs from another one. Missing values differ from all, as NaN does. */
  ne(other: DataArray | ComparedValue, options?: ArithmeticOptions): DataArray<'bool'> {
    return this.#compared('ne', other, options)
  }

  /**
   * Whether both booleans are true, matched as in arithmetic.
   * @throws InvalidArgumentError for arrays of other types
   */
  and(other: DataArray, options?: ArithmeticOptions): DataArray<'bool'> {
    return this.#then('and', other)(logical(this, other, 'and', options))
  }

  /** Whether one of two booleans is true; as {@link and} otherwise. */
  or(other: DataArray, options?: ArithmeticOptions): DataArray<'bool'> {
    return this.#then('or', other)(logical(this, other, 'or', options))
  }

  /** Negates booleans; as {@link and} otherwise. */
  not(): DataArray<'bool', R> {
    return this.#then('not')(negated(this))
  }

  /**
   * Applies a function to each value. Missing values stay missing, and the function does not get them. The
   * result has no units and no standard name.
   * @throws InvalidArgumentError as `map` of arrays
   * @example
   * const ds = new Dataset({ t: { dims: ['x'], data: [20, NaN, 30] } })
   * console.log(await ds.get('t').map((t) => 1.8 * t + 32).values()) // Float64Array(3) [ 68, NaN, 86 ]
   */
  map<E extends DType = D>(fn: (value: number) => ScalarOf<E>, options?: MapOptions<D, E>): DataArray<E, R> {
    return this.#then('map', fn, options)(this.#as(mappedElements(this.variable, fn as never, options)))
  }

  /** Returns absolute values, of the same type and units. */
  abs(): DataArray<D | FloatsOf<D>, R> {
    return this.#then('abs')(this.#as(absoluteValues(this.variable)))
  }

  /** Returns square roots as floats, without units; NaN for negative numbers. */
  sqrt(): DataArray<FloatsOf<D>, R> {
    return this.#then('sqrt')(this.#as(computedElements(this.variable, 'sqrt')))
  }

  /** Returns natural logarithms as floats, without units; NaN for negative numbers. */
  log(): DataArray<FloatsOf<D>, R> {
    return this.#then('log')(this.#as(computedElements(this.variable, 'log')))
  }

  /** Returns powers of e as floats, without units. */
  exp(): DataArray<FloatsOf<D>, R> {
    return this.#then('exp')(this.#as(computedElements(this.variable, 'exp')))
  }

  /** Yields a table in long form as CSV text, as `Dataset.toCSV`. */
  async *toCSV(options: TableOptions = {}): AsyncGenerator<string, void, undefined> {
    yield* (await import('./out/csv.ts')).writeCsv([this.variable], this.coordinates, options)
  }

  /** Yields a table in long form as record batches of Apache Arrow, as `Dataset.toTable`. */
  async *toTable(options: TableOptions = {}): AsyncGenerator<ArrowRecordBatch, void, undefined> {
    yield* (await import('./out/arrow.ts')).writeArrow([this.variable], this.coordinates, options)
  }

  /**
   * Returns Python code that computes the same array with xarray from the file of the dataset. The script
   * assigns the result to `array`. Intentional differences are listed in docs/xarray.md.
   * @throws UnsupportedError for operations without an equivalent in xarray, and for data that were not
   *   opened from a file that xarray reads
   */
  async toPython(): Promise<string> {
    return (await import('./out/python.ts')).writePython(this)
  }

  /**
   * Keeps the values for which a function or an array of booleans is true. The others become missing, so
   * integers become floats. An array is matched as in arithmetic. Functions are for numbers.
   * @throws InvalidArgumentError for an array of another type, which {@link ne} compares first:
   *   `where(mask.ne(0))`
   */
  where(condition: DataArray | ((value: number) => boolean), options?: ArithmeticOptions): DataArray<MaskedDType<D>> {
    return this.#then('where', condition)(whereTrue(this, condition, options))
  }

  /**
   * Replaces missing values by one value, or by the values of another array, matched as in arithmetic. A type
   * that has the value stays the same; otherwise, it becomes float64.
   * @throws InvalidArgumentError for a value of another kind
   */
  fillna(value: Replacement | DataArray, options: ArithmeticOptions = {}): DataArray<D | FloatsOf<D>> {
    const then = this.#then('fillna', value)
    if (value instanceof DataArray) return then(combineArrays(this, value, 'fillna', options))
    checkOptions('fillna', options, ARITHMETIC_CHECKS, { array: this.name })
    return then(this.#as(filled(this.variable, value)))
  }

  /** Whether each value is missing. NaN and NaT are missing. */
  isnull(): DataArray<'bool', R> {
    return this.#then('isnull')(this.#as(nullness(this.variable, true)))
  }

  /** Whether each value is not missing; the reverse of {@link isnull}. */
  notnull(): DataArray<'bool', R> {
    return this.#then('notnull')(this.#as(nullness(this.variable, false)))
  }

  /**
   * Limits the values to a range. Missing values stay missing. Integers stay integers if nothing is missing
   * and the bounds are of their type.
   * @throws InvalidArgumentError without bounds; UnsupportedError for values that are not numbers
   * @example
   * const ds = new Dataset({ t: { dims: ['x'], data: [-1, 0.5, 2] } })
   * console.log(await ds.get('t').clip(0, 1).values()) // Float64Array(3) [ 0, 0.5, 1 ]
   */
  clip(min?: number, max?: number): DataArray<D | FloatsOf<D>, R> {
    return this.#then('clip', min, max)(this.#as(clipped(this.variable, min, max)))
  }

  /**
   * Rounds the values to some decimals, halves to the even neighbour. Negative numbers round to tens,
   * hundreds and so on.
   * @throws UnsupportedError for values that are not numbers
   */
  round(decimals = 0): DataArray<FloatsOf<D>, R> {
    return this.#then('round', decimals)(this.#as(rounded(this.variable, decimals)))
  }

  /**
   * Converts the values to another data type. Missing values become NaN in floats, and stay missing in
   * integers. Conversion to integers truncates fractions.
   * @throws UnsupportedError for times, text and binaries; when read, InvalidArgumentError for values that
   *   are out of range, and for missing values without a counterpart in the type
   */
  astype<K extends DType>(dtype: K): DataArray<K, R> {
    return this.#then('astype', dtype)(this.#as(castTo(this.variable, dtype)))
  }

  /**
   * Reorders the dimensions; by default, it reverses them.
   * @throws InvalidArgumentError unless each dimension is named once
   */
  transpose(order?: readonly string[]): DataArray<D, R> {
    return this.#then('transpose', order)(transposed(this, order))
  }

  /**
   * Drops dimensions of length 1: the named ones, or all. Their labels stay as single values.
   * @throws InvalidArgumentError for dimensions of another length
   */
  squeeze(axis?: string | readonly string[]): DataArray<D> {
    return this.#taken(squeezed(this.variable, axis), 'isel')
  }

  /**
   * Adds a dimension of length 1. A single value of its name, which a selection has left, becomes its label.
   * @param axis position of the new dimension; negative ones count from the end
   * @throws InvalidArgumentError if the name is used
   */
  expandDims(name: string, axis = 0): DataArray<D> {
    return this.#then('expandDims', name, axis)(expanded(this, name, axis))
  }

  /**
   * Sorts the values along a dimension by a coordinate, or by an array along the dimension. Of several keys
   * along a dimension, the first counts most. Equal keys keep their order, and missing ones come last;
   * `ascending: false` reverses this. Only the keys are read.
   * @throws InvalidArgumentError for keys that do not exist or do not lie along one dimension; TooLargeError
   *   for keys beyond `limits.coordinateBytes`
   */
  async sortBy(keys: string | DataArray | readonly (string | DataArray)[], options: SortOptions = {}): Promise<DataArray<D, R>> {
    const taken = await (await import('./sort-by.ts')).sortedPositions(this, keys, options)
    const sorted = { variable: this.variable.take(taken), coordinates: takeCoords(this.coordinates, taken) }
    return this.#then('sortBy', keys, options)(sorted)
  }

  /**
   * Returns the differences of neighbours along a dimension. The dimension becomes shorter by one.
   * @throws UnsupportedError for values that are not numbers
   * @example
   * const t = { dims: ['x'], data: [1, 4, 9] }
   * const ds = new Dataset({ t }, { coords: { x: [10, 20, 30] } })
   * const steps = ds.get('t').diff('x')
   * console.log(await steps.values()) // Float64Array(2) [ 3, 5 ]
   * console.log(await steps.coords['x'].values()) // Float64Array(2) [ 20, 30 ]
   */
  diff(axis: string, options?: DiffOptions): DataArray<FloatsOf<D>, R> {
    return this.#then('diff', axis, options)(differences(this, axis, options))
  }

  /**
   * Moves the values along dimensions, while labels stay: `shift({ time: 1 })` gives each time the value
   * before it. Positions that become free are missing, so integers become floats, or have the `fillValue`.
   * @throws UnsupportedError for text without a `fillValue`
   */
  shift(by: Readonly<Record<string, number>>, options?: ShiftOptions): DataArray {
    return this.#then('shift', by, options)(shifted(this, by, options))
  }

  /** Returns the same values under another name. */
  rename(name: string): DataArray<D, R> {
    checkValue('rename', 'name', name, 'string')
    return new DataArray<D, R>(this.variable.with({ name }), this.coordinates, createOrigin(this, 'rename', name))
  }

  /** Returns the same values with added or replaced attributes. */
  assignAttrs(attrs: Attrs): DataArray<D, R> {
    checkAttrs('assignAttrs', attrs)
    return this.#then(
      'assignAttrs',
      attrs,
    )({ variable: this.variable.with({ attrs: { ...this.attrs, ...attrs } }), coordinates: this.coordinates })
  }

  /** Describes dimensions, coordinates and attributes, in the layout of xarray. */
  override toString(): string {
    return describeArray(this)
  }

  #taken(taken: ReadonlyMap<string, Taken>, name: string, ...args: readonly unknown[]): AnyArray {
    return this.#then(
      name,
      taken,
      ...args,
    )({ variable: this.variable.take(taken), coordinates: takeCoords(this.coordinates, taken) })
  }

  /** @internal */
  protected override reduce(kind: ReduceKind, options: KeepDimsOptions | undefined, q?: number | readonly number[]): AnyArray {
    if (kind === 'quantile') return this.#then('quantile', q, options)(quantileAlong(this, q!, options))
    return this.#then('reduce', kind, options)(reduceAlong(this, kind, options))
  }

  #extremes(kind: ExtremeKind, options: OneDimOptions | undefined): AnyArray {
    return this.#then('reduce', kind, options)(extremesAlong(this, kind, options))
  }

  #combined(operation: Arithmetic, other: DataArray | number, options: ArithmeticOptions | undefined): AnyArray {
    return this.#then(operation, other)(combineArrays(this, other, operation, options))
  }

  #compared(comparison: Comparison, other: DataArray | ComparedValue, options: ArithmeticOptions | undefined): AnyArray {
    return this.#then(comparison, other)(compared(this, other, comparison, options))
  }

  /** Returns the variable with the coordinates of this array. */
  #as(variable: Variable): Labelled {
    return { variable, coordinates: this.coordinates }
  }

  get #divided(): Divided {
    const { name, dims, shape, coordinates } = this
    return { label: { array: name }, lengths: new Map(dims.map((dim, axis) => [dim, shape[axis]!])), coordinates }
  }

  /** Returns a function that reduces the parts of this array and records the reduction. */
  #over(name: string, ...args: readonly unknown[]): Over<DataArray> {
    const then = this.#then(name, ...args)
    return (reduce, _, ...more) => then(reduce(this), ...more)
  }

  /**
   * Returns a function that wraps a result as an array and records its origin. Grouped reductions pass their
   * arguments as `more`.
   */
  #then(name: string, ...args: readonly unknown[]): (result: Labelled, ...more: readonly unknown[]) => AnyArray {
    return ({ variable, coordinates }, ...more) =>
      new DataArray(variable, coordinates, createOrigin(this, name, ...args, ...more))
  }
}

/**
 * Returns the cosine of each value, lazily, as float64. Values are in degrees if their units say so, or if a
 * latitude or longitude has no units; otherwise in radians. On a regular grid of latitudes, the cosine is
 * proportional to the area of a cell.
 * @throws UnsupportedError for values that are not numbers
 */
export function cos(array: DataArray): DataArray {
  checkLabelled('cos', array)
  const { name, attrs } = array
  const kind = findAxisKind(name, attrs)
  const units = attrs['units'] ?? (kind === 'latitude' || kind === 'longitude' ? 'degrees' : '')
  const isDegrees = /^degree/.test(String(units))
  const cosine = (value: number): number => Math.cos(isDegrees ? (value * Math.PI) / 180 : value)
  const values = (asFloats(array.array) as DiskArray<'float64'>).map<'float64'>(cosine, { dtype: 'float64' })
  return new DataArray(
    array.variable.with({ array: values as DiskArray, index: undefined, attrs: {}, encoding: {} }),
    array.coordinates,
    createOrigin(array, 'cos', isDegrees),
  )
}
