import type { DiskArray } from '../array/disk-array.ts'
import type { GetOptions } from '../array/get.ts'
import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import type { Histogram, HistogramOptions } from '../array/reductions/histogram.ts'
import type { Lengths } from '../array/reductions/windows.ts'
import type { DType, ScalarOf } from '../core/dtype.ts'
import { invalidArgument } from '../core/errors.ts'
import { Printable } from '../core/inspect.ts'
import { checkOptions, checkValue } from '../core/options.ts'
import type { Tensor } from '../core/tensor.ts'
import type { Selector } from '../grid/selection.ts'
import { type Arithmetic, type ArithmeticOptions, combineArrays, whereTrue } from './arithmetic.ts'
import { asFloats } from './as-floats.ts'
import { type Attrs, checkAttrs } from './attributes.ts'
import { axisKindOf } from './cf/axis-kind.ts'
import { type ClimatologyOptions, climatologyOf } from './climatology.ts'
import { type Coords, checkLabelled, coordsAlong, type Labelled, takeCoords } from './coords.ts'
import { GroupBy, type GroupKey } from './group-by.ts'
import type { InterpLabels, InterpOptions } from './interp.ts'
import { SEL_CHECKS, takenByLabel, takenByPosition } from './label-selection.ts'
import type { LabelSelector, SelOptions, Taken } from './label-selectors.ts'
import { type Origin, originOf } from './origin.ts'
import type { ArrowRecordBatch } from './out/arrow.ts'
import type { TableOptions } from './out/csv.ts'
import type { LabelledPoints, SelPointsOptions } from './points.ts'
import { quantileAlong, type ReduceDimsOptions, type ReduceKind, reduceAlong } from './reductions.ts'
import { describeArray } from './repr.ts'
import { resampledGroups } from './resample.ts'
import type { CFTime } from './time/instant.ts'
import type { Variable } from './variable.ts'
import { Weighted } from './weighted.ts'
import { type CoarsenOptions, coarsenedBlocks, type RollingOptions, rollingWindows, type WindowedArray } from './windows.ts'

/**
 * An array with named dimensions, coordinates and attributes, as in xarray. Operations are lazy: only `get`,
 * `values` and `dates` read or compute.
 */
export class DataArray extends Printable {
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
  get array(): DiskArray {
    return this.variable.array
  }

  /** Data type of the decoded values. */
  get dtype(): DType {
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
      [...this.coordinates].map(([name, coord]) => [name, new DataArray(coord, this.coordinates, originOf(this, 'get', name))]),
    )
  }

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
  sel(labels: Readonly<Record<string, LabelSelector>>, options: SelOptions = {}): DataArray {
    checkOptions('sel', options, SEL_CHECKS, { array: this.name })
    return this.#taken(takenByLabel(labels, this.coordinates, this.dims, options), 'sel', labels, options)
  }

  /**
   * Selects by positions. An integer drops its dimension; a `slice` or a list keeps it.
   * @throws InvalidSelectionError
   */
  isel(positions: Readonly<Record<string, Selector>>): DataArray {
    return this.#taken(takenByPosition(positions, this.dims, this.shape), 'isel')
  }

  /**
   * Selects points along a new dimension, which replaces the dimensions of their labels: `selPoints([{ lat,
   * lon }, …])`. Named points, `selPoints({ Potsdam: { lat, lon } })`, are labelled by their names.
   * Two-dimensional latitudes and longitudes, such as those of swaths, are read once; for these, `method:
   * 'nearest'` finds the nearest cell along the great circle. Their `tolerance` is text, such as `25km` or
   * `0.25deg`. Without it, a point is outside if it is further from the nearest cell than the neighbours of
   * this cell are.
   * @throws InvalidSelectionError for points that do not exist or are outside; InvalidArgumentError as `sel`
   */
  async selPoints(points: LabelledPoints, options: SelPointsOptions = {}): Promise<DataArray> {
    return this.#then('selPoints')(await (await import('./points.ts')).pointsOf(this, points, options))
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

  /** Reads the values as a tensor; without dimensions, as a single value. */
  async get(options: GetOptions<DType> = {}): Promise<Tensor | ScalarOf<DType>> {
    return (await this.array.get(this.dims.length === 0 ? [] : null, options)) as Tensor | ScalarOf<DType>
  }

  /** Reads the values as a flat list, in C order. */
  async values(): Promise<ArrayLike<unknown>> {
    const result = await this.array.toTensor()
    return result.data as ArrayLike<unknown>
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
    const [values, { datesOf }] = await Promise.all([labels ?? this.values(), import('./time/dates.ts')])
    const isMissing = missingTest(missingElements(this.array.source))
    const counted = labels === undefined && !isDecoded && times !== undefined ? { times, isMissing } : undefined
    return datesOf(values as ArrayLike<bigint>, calendar, counted)
  }

  /**
   * Returns the sum along some dimensions; 0 if there are no values.
   * @throws UnsupportedError for times, which only have `min`, `max`, `mean` and `count`
   */
  sum(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('sum', options)
  }

  /**
   * Returns the mean along some dimensions, as float64; NaN if there are no values. The mean of times is a
   * time, rounded to the nanosecond.
   */
  mean(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('mean', options)
  }

  /** Returns the smallest value along some dimensions; NaN if there are no values. */
  min(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('min', options)
  }

  /** Returns the greatest value along some dimensions; NaN if there are no values. */
  max(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('max', options)
  }

  /** Returns the product along some dimensions; 1 if there are no values. */
  prod(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('prod', options)
  }

  /** Counts the values along some dimensions that are not missing. */
  count(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('count', options)
  }

  /** Returns the variance along some dimensions, divided by the number of values. */
  variance(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('variance', options)
  }

  /** Returns the standard deviation along some dimensions, the root of {@link variance}. */
  std(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('std', options)
  }

  /** Returns the median along some dimensions. */
  median(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('median', options)
  }

  /**
   * Returns the quantile along some dimensions, interpolated linearly between values. A list of shares adds a
   * leading dimension `quantile`.
   * @param q share from 0 to 1, or a list of shares
   * @throws InvalidArgumentError for shares outside 0 to 1
   */
  quantile(q: number | readonly number[], options?: ReduceDimsOptions): DataArray {
    return this.#then('quantile', q, options)(quantileAlong(this, q, options))
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
  climatology(unit: string, options?: ClimatologyOptions): DataArray {
    return climatologyOf<DataArray>(this, unit, options)
  }

  /** Subtracts the {@link climatology} from the values. */
  anomaly(unit: string, options?: ClimatologyOptions): DataArray {
    return this.sub(climatologyOf<DataArray>(this, unit, options, 'anomaly'))
  }

  /**
   * Groups the values along a dimension for a reduction. The key is a component of times (`time.month`,
   * `time.season`, `time.year`), a one-dimensional coordinate, or bins of one, `{ lat: [-90, 0, 90] }`.
   * @throws InvalidArgumentError for an invalid key
   */
  groupBy(key: GroupKey): GroupBy<DataArray> {
    return new GroupBy(this, key, this.#then('groupBy', key))
  }

  /**
   * Groups the values by periods of a pandas frequency for a reduction: `resample({ time: 'MS' }).mean()`.
   * @throws InvalidArgumentError for an invalid frequency, and for dimensions without times
   */
  resample(by: Readonly<Record<string, string>>): GroupBy<DataArray> {
    return new GroupBy(this, resampledGroups(this, by), this.#then('resample', by))
  }

  /**
   * Forms windows of neighbouring positions for a reduction: `rolling({ time: 3 }).mean()`. A window is
   * labelled by its last position.
   * @throws InvalidArgumentError for dimensions that do not exist, and for invalid lengths
   */
  rolling(lengths: Lengths, options: RollingOptions = {}): WindowedArray<DataArray> {
    return rollingWindows(this, lengths, options, this.#then('rolling', lengths, options))
  }

  /**
   * Forms blocks of neighbouring positions for a reduction: `coarsen({ lat: 2, lon: 2 }).mean()`.
   * @throws InvalidArgumentError as {@link rolling}, and if an axis is not divisible
   */
  coarsen(lengths: Lengths, options: CoarsenOptions = {}): WindowedArray<DataArray> {
    return coarsenedBlocks(this, lengths, options, this.#then('coarsen', lengths, options))
  }

  /**
   * Weights the values along one dimension for a reduction: `weighted(cos(ds.get('lat'))).mean()`.
   * @throws InvalidArgumentError for weights along other dimensions
   */
  weighted(weights: DataArray): Weighted<DataArray> {
    checkLabelled('weighted', weights)
    return new Weighted(this, weights, this.#then('weighted', weights))
  }

  /** Adds another array, matched by dimension names and labels, or a number. */
  add(other: DataArray | number, options?: ArithmeticOptions): DataArray {
    return this.#combined('add', other, options)
  }

  /**
   * Subtracts another array or a number. Subtracting a climatology from times uses the value of each time's
   * group: `tas.sub(tas.groupBy('time.month').mean())`.
   */
  sub(other: DataArray | number, options?: ArithmeticOptions): DataArray {
    return this.#combined('sub', other, options)
  }

  /** Multiplies by another array or a number. */
  mul(other: DataArray | number, options?: ArithmeticOptions): DataArray {
    return this.#combined('mul', other, options)
  }

  /** Divides by another array or a number; the result has floats. */
  div(other: DataArray | number, options?: ArithmeticOptions): DataArray {
    return this.#combined('div', other, options)
  }

  /** Yields a table in long form as CSV text, as `Dataset.toCSV`. */
  async *toCSV(options: TableOptions = {}): AsyncGenerator<string, void, undefined> {
    yield* (await import('./out/csv.ts')).csvOf([this.variable], this.coordinates, options)
  }

  /** Yields a table in long form as record batches of Apache Arrow, as `Dataset.toTable`. */
  async *toTable(options: TableOptions = {}): AsyncGenerator<ArrowRecordBatch, void, undefined> {
    yield* (await import('./out/arrow.ts')).arrowOf([this.variable], this.coordinates, options)
  }

  /**
   * Returns Python code that computes the same array with xarray from the file of the dataset. The script
   * assigns the result to `array`. Intentional differences are listed in docs/xarray.md.
   * @throws UnsupportedError for operations without an equivalent in xarray, and for data that were not
   *   opened from a file that xarray reads
   */
  async toPython(): Promise<string> {
    return (await import('./out/python.ts')).pythonOf(this)
  }

  /**
   * Keeps the values for which a function or a condition (neither 0 nor missing) is true. The others become
   * missing, so integers become floats. A condition is matched as in arithmetic.
   */
  where(condition: DataArray | ((value: number) => boolean), options?: ArithmeticOptions): DataArray {
    return this.#then('where', condition)(whereTrue(this, condition, options))
  }

  /** Returns the same values under another name. */
  rename(name: string): DataArray {
    checkValue('rename', 'name', name, 'string')
    return new DataArray(this.variable.with({ name }), this.coordinates, originOf(this, 'rename', name))
  }

  /** Returns the same values with added or replaced attributes. */
  assignAttrs(attrs: Attrs): DataArray {
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

  #taken(taken: ReadonlyMap<string, Taken>, name: string, ...args: readonly unknown[]): DataArray {
    return this.#then(
      name,
      taken,
      ...args,
    )({ variable: this.variable.take(taken), coordinates: takeCoords(this.coordinates, taken) })
  }

  #reduced(kind: ReduceKind, options: ReduceDimsOptions | undefined): DataArray {
    return this.#then('reduce')(reduceAlong(this, kind, options), kind, options)
  }

  #combined(operation: Arithmetic, other: DataArray | number, options: ArithmeticOptions | undefined): DataArray {
    return this.#then(operation, other)(combineArrays(this, other, operation, options))
  }

  /**
   * Returns a function that wraps a result as an array and records its origin. Grouped reductions pass their
   * arguments as `more`.
   */
  #then(name: string, ...args: readonly unknown[]): (result: Labelled, ...more: readonly unknown[]) => DataArray {
    return ({ variable, coordinates }, ...more) => new DataArray(variable, coordinates, originOf(this, name, ...args, ...more))
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
  const kind = axisKindOf(name, attrs)
  const units = attrs['units'] ?? (kind === 'latitude' || kind === 'longitude' ? 'degrees' : '')
  const isDegrees = /^degree/.test(String(units))
  const cosine = (value: number): number => Math.cos(isDegrees ? (value * Math.PI) / 180 : value)
  const values = (asFloats(array.array) as DiskArray<'float64'>).map<'float64'>(cosine, { dtype: 'float64' })
  return new DataArray(
    array.variable.with({ array: values as DiskArray, index: undefined, attrs: {}, encoding: {} }),
    array.coordinates,
    originOf(array, 'cos', isDegrees),
  )
}
