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
 * An array with names for its dimensions, coordinates along them and attributes, as xarray's. All that gives
 * another one is lazy: nothing is read or computed before `get`, `values` or `dates` are called.
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

  /** Its name in the dataset. */
  get name(): string {
    return this.variable.name
  }

  /** The values as an array, lazy, decoded; its axes are `dims`. */
  get array(): DiskArray {
    return this.variable.array
  }

  /** The data type of the values, decoded. */
  get dtype(): DType {
    return this.array.dtype
  }

  /** The names of the dimensions, in the order of the axes. */
  get dims(): readonly string[] {
    return this.variable.dims
  }

  /** The length of each dimension. */
  get shape(): readonly number[] {
    return this.array.shape
  }

  /** Attributes, without those that decoding has used; these are in `encoding`. */
  get attrs(): Attrs {
    return this.variable.attrs
  }

  /** The way it is stored: data type, chunks, and what decoding took from the attributes. */
  get encoding(): Attrs {
    return this.variable.encoding
  }

  /** Coordinates by name: those along its dimensions, and single values that selections have left. */
  get coords(): Readonly<Record<string, DataArray>> {
    return Object.fromEntries(
      [...this.coordinates].map(([name, coord]) => [name, new DataArray(coord, this.coordinates, originOf(this, 'get', name))]),
    )
  }

  /**
   * Selects by labels: a label drops its dimension, a range (`between`, or a date that is told in
   * part) and a list keep it.
   * @throws InvalidSelectionError for labels that are not there, with what is near them; InvalidArgumentError
   *   for dimensions that are not there, or have no labels
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
   * Selects by positions: an integer drops its dimension, a `slice` or a list keeps it.
   * @throws InvalidSelectionError
   */
  isel(positions: Readonly<Record<string, Selector>>): DataArray {
    return this.#taken(takenByPosition(positions, this.dims, this.shape), 'isel')
  }

  /**
   * Selects points, along a dimension in place of those they are told by: `selPoints([{ lat, lon }, …])`, or
   * by name, `selPoints({ Potsdam: { lat, lon } })`, which labels them. Latitudes and longitudes of two
   * dimensions, as of swaths, are read once; `method: 'nearest'` finds the cell that is nearest along the
   * great circle, `tolerance` is text there, such as `25km` or `0.25deg`. Without it, a place that is further
   * from a cell than the neighbours of that is outside.
   * @throws InvalidSelectionError for points that are not there, or outside; InvalidArgumentError as `sel`
   */
  async selPoints(points: LabelledPoints, options: SelPointsOptions = {}): Promise<DataArray> {
    return this.#then('selPoints')(await (await import('./points.ts')).pointsOf(this, points, options))
  }

  /**
   * Interpolates between labels, linearly, and lazily once the promise is there: `interp({ lat: 52.3,
   * lon: [13, 13.5] })`. Outside, and beside what is missing, is NaN; longitudes that go round the globe have
   * no outside.
   * @throws InvalidArgumentError for dimensions that are not there or have no labels in order;
   *   UnsupportedError for values that are no numbers
   */
  async interp(labels: InterpLabels, options: InterpOptions = {}): Promise<DataArray> {
    return this.#then('interp', labels)((await import('./interp.ts')).interpolated(this, labels, options))
  }

  /** The values: a tensor, or, of no dimensions, the value itself. */
  async get(options: GetOptions<DType> = {}): Promise<Tensor | ScalarOf<DType>> {
    return (await this.array.get(this.dims.length === 0 ? [] : null, options)) as Tensor | ScalarOf<DType>
  }

  /** The values one after another, in C order. */
  async values(): Promise<ArrayLike<unknown>> {
    const result = await this.array.toTensor()
    return result.data as ArrayLike<unknown>
  }

  /**
   * Times one after another: as Dates where their calendar is that of Dates, else as {@link CFTime}; missing
   * ones are null.
   * @throws InvalidArgumentError where the values are no times
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
   * The sum along some dimensions; of nothing, 0.
   * @throws UnsupportedError for times: only their ends, mean and number mean something
   */
  sum(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('sum', options)
  }

  /**
   * The mean along some dimensions, as float64; of nothing, NaN. That of times is a time, to the nearest
   * nanosecond.
   */
  mean(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('mean', options)
  }

  /** The least value along some dimensions; of nothing, NaN. */
  min(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('min', options)
  }

  /** The greatest value along some dimensions; of nothing, NaN. */
  max(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('max', options)
  }

  /** The product along some dimensions; of nothing, 1. */
  prod(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('prod', options)
  }

  /** The number of values along some dimensions that are not missing. */
  count(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('count', options)
  }

  /** The variance along some dimensions, divided by the number of values. */
  variance(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('variance', options)
  }

  /** The standard deviation along some dimensions, the root of {@link variance}. */
  std(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('std', options)
  }

  /** The median along some dimensions. */
  median(options?: ReduceDimsOptions): DataArray {
    return this.#reduced('median', options)
  }

  /**
   * The value that a share of the values along some dimensions is not above, between values in proportion; a
   * list of shares gives a leading dimension `quantile`.
   * @throws InvalidArgumentError for shares outside 0 to 1
   */
  quantile(q: number | readonly number[], options?: ReduceDimsOptions): DataArray {
    return this.#then('quantile', q, options)(quantileAlong(this, q, options))
  }

  /** The number of values in each of some bins; missing ones are in none. */
  histogram(options?: HistogramOptions): Promise<Histogram> {
    return asFloats(this.array).histogram(options)
  }

  /**
   * The means of the times of one unit (`month`, `season`, `dayofyear`, …), over all years or a `period` of
   * them.
   * @throws InvalidArgumentError where there are not times along one dimension; InvalidSelectionError where
   *   the data do not reach to an end of the period
   */
  climatology(unit: string, options?: ClimatologyOptions): DataArray {
    return climatologyOf<DataArray>(this, unit, options)
  }

  /** The difference of the values from their {@link climatology}. */
  anomaly(unit: string, options?: ClimatologyOptions): DataArray {
    return this.sub(climatologyOf<DataArray>(this, unit, options, 'anomaly'))
  }

  /**
   * The values in groups along a dimension, to be reduced: by a component of times (`time.month`,
   * `time.season`, `time.year`), by a coordinate of one dimension, or by bins of one,
   * `{ lat: [-90, 0, 90] }`.
   * @throws InvalidArgumentError for what is no such key
   */
  groupBy(key: GroupKey): GroupBy<DataArray> {
    return new GroupBy(this, key, this.#then('groupBy', key))
  }

  /**
   * The values in the periods of a frequency of pandas, to be reduced: `resample({ time: 'MS' }).mean()`.
   * @throws InvalidArgumentError for what is no frequency, and for dimensions without times
   */
  resample(by: Readonly<Record<string, string>>): GroupBy<DataArray> {
    return new GroupBy(this, resampledGroups(this, by), this.#then('resample', by))
  }

  /**
   * The values in windows of neighbouring positions, to be reduced: `rolling({ time: 3 }).mean()`; a window
   * is labelled by its last position.
   * @throws InvalidArgumentError for dimensions that are not there, and lengths that are none
   */
  rolling(lengths: Lengths, options: RollingOptions = {}): WindowedArray<DataArray> {
    return rollingWindows(this, lengths, options, this.#then('rolling', lengths, options))
  }

  /**
   * The values in blocks of neighbouring positions, to be reduced: `coarsen({ lat: 2, lon: 2 }).mean()`.
   * @throws InvalidArgumentError as {@link rolling}, and where an axis does not divide evenly
   */
  coarsen(lengths: Lengths, options: CoarsenOptions = {}): WindowedArray<DataArray> {
    return coarsenedBlocks(this, lengths, options, this.#then('coarsen', lengths, options))
  }

  /**
   * The values with weights along one dimension, to be reduced: `weighted(cos(ds.get('lat'))).mean()`.
   * @throws InvalidArgumentError for weights along other dimensions
   */
  weighted(weights: DataArray): Weighted<DataArray> {
    checkLabelled('weighted', weights)
    return new Weighted(this, weights, this.#then('weighted', weights))
  }

  /** The sum with another array, matched by names of dimensions and by labels, or a number. */
  add(other: DataArray | number, options?: ArithmeticOptions): DataArray {
    return this.#combined('add', other, options)
  }

  /**
   * The difference; that of times of a year and a climatology takes what belongs to each:
   * `tas.sub(tas.groupBy('time.month').mean())`.
   */
  sub(other: DataArray | number, options?: ArithmeticOptions): DataArray {
    return this.#combined('sub', other, options)
  }

  /** The product. */
  mul(other: DataArray | number, options?: ArithmeticOptions): DataArray {
    return this.#combined('mul', other, options)
  }

  /** The quotient, as floats. */
  div(other: DataArray | number, options?: ArithmeticOptions): DataArray {
    return this.#combined('div', other, options)
  }

  /** A table in long form as text, piece by piece, as that of `Dataset`. */
  async *toCSV(options: TableOptions = {}): AsyncGenerator<string, void, undefined> {
    yield* (await import('./out/csv.ts')).csvOf([this.variable], this.coordinates, options)
  }

  /** A table in long form as record batches of Apache Arrow, as that of `Dataset`. */
  async *toTable(options: TableOptions = {}): AsyncGenerator<ArrowRecordBatch, void, undefined> {
    yield* (await import('./out/arrow.ts')).arrowOf([this.variable], this.coordinates, options)
  }

  /**
   * Code that computes the same with xarray, from the file that the dataset was opened from: a script at
   * whose end `array` is the result. What is done otherwise on purpose is listed in docs/xarray.md.
   * @throws UnsupportedError for operations that xarray has no equivalent of, and for what was not opened
   *   from a file that it reads
   */
  async toPython(): Promise<string> {
    return (await import('./out/python.ts')).pythonOf(this)
  }

  /**
   * The values for which a question is answered yes, or a condition is true (neither 0 nor missing), matched
   * as in arithmetic; the others are missing, so that integers become floats.
   */
  where(condition: DataArray | ((value: number) => boolean), options?: ArithmeticOptions): DataArray {
    return this.#then('where', condition)(whereTrue(this, condition, options))
  }

  /** The same values under another name. */
  rename(name: string): DataArray {
    checkValue('rename', 'name', name, 'string')
    return new DataArray(this.variable.with({ name }), this.coordinates, originOf(this, 'rename', name))
  }

  /** The same values with other attributes beside, or in place of, those it has. */
  assignAttrs(attrs: Attrs): DataArray {
    checkAttrs('assignAttrs', attrs)
    return this.#then(
      'assignAttrs',
      attrs,
    )({ variable: this.variable.with({ attrs: { ...this.attrs, ...attrs } }), coordinates: this.coordinates })
  }

  /** Dimensions, coordinates and attributes, as xarray shows them. */
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

  /** What makes an array of a result, by which it is known how it was made: `more` is what reduces groups. */
  #then(name: string, ...args: readonly unknown[]): (result: Labelled, ...more: readonly unknown[]) => DataArray {
    return ({ variable, coordinates }, ...more) => new DataArray(variable, coordinates, originOf(this, name, ...args, ...more))
  }
}

/**
 * The cosine of each value, lazily, as float64: of degrees where the units say so, or there are none and it
 * is a latitude or longitude; else of radians. Cells of a regular grid of latitudes are as large as the
 * cosines of these.
 * @throws UnsupportedError for values that are no numbers
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
