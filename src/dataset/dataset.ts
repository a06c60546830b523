/// <reference lib="esnext.disposable" preserve="true" />

import { DiskArray } from '../array/disk-array.ts'
import { inMemory } from '../array/lazy/generate.ts'
import type { FoldOptions } from '../array/reductions/fold-kinds.ts'
import type { AxisLengths } from '../array/reductions/windows.ts'
import { allocate, type DataOf, type DType, toElement } from '../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { isTensorLike, type Tensor, type TensorLike, tensorOf } from '../core/tensor.ts'
import type { Selector } from '../grid/selection.ts'
import { type ArithmeticOptions, whereTrue } from './arithmetic.ts'
import { type Attrs, checkAttrs, plainAttrs } from './attributes.ts'
import { type Coords, type DatasetParts, type Labelled, mergeCoords, type OmittedGroups, takeCoords } from './coords.ts'
import { DataArray } from './data-array.ts'
import type { DatasetFile, DecodeOptions } from './dataset-file.ts'
import type { Replacement } from './elements.ts'
import { GroupBy, type GroupKey, type MinPeriodsOption } from './group-by.ts'
import type { Divided, Over } from './grouped-reductions.ts'
import type { InterpLabels, InterpOptions } from './interp.ts'
import { isPointList, SEL_CHECKS, takenByLabel, takenByPosition } from './label-selection.ts'
import type { LabelSelector, SelOptions, Taken } from './label-selectors.ts'
import { mapVariables } from './map-variables.ts'
import { createOrigin, type Origin } from './origin.ts'
import type { ArrowRecordBatch } from './out/arrow.ts'
import type { TableOptions } from './out/csv.ts'
import type { Location, WriteDatasetOptions, WriteResult } from './out/write.ts'
import {
  indexedPointsOfDataset,
  type LabelledPoints,
  type PointIndices,
  type PointLabels,
  type PointsOptions,
  type SelPointsOptions,
  selectedPointsOfDataset,
} from './points.ts'
import { Reducible } from './reducible.ts'
import {
  checkReduction,
  type DescribeValuesOptions,
  type GroupKind,
  KEEP_CHECKS,
  type KeepDimsOptions,
  namedDims,
  quantileAlong,
  type ReduceKind,
  reduceAlong,
  type ValuesDescription,
} from './reductions.ts'
import { describeDataset } from './repr.ts'
import { type ResampleOptions, resampledGroups } from './resample.ts'
import { fits64 } from './time/instant.ts'
import { parseTimeLabel, type TimeLabel } from './time/labels.ts'
import { Variable } from './variable.ts'
import { type CoarsenOptions, coarsenedBlocks, type RollingOptions, rollingWindows, type WindowedArray } from './windows.ts'
import { withIndex } from './with-index.ts'

/** Values of a variable for a dataset: an array, or data in memory. */
export type VariableData = DiskArray | TensorLike | ArrayLike<number | bigint | string | Date> | number

/** A variable for a dataset: values with dimension names, or an array that has dimension names. */
export type VariableInput =
  | DataArray
  | DiskArray
  | ArrayLike<number | bigint | string | Date>
  | { readonly dims: readonly string[]; readonly data: VariableData; readonly attrs?: Attrs }

/** Data types of variables by name: `{ tas: 'float32' }`. */
export type VariableTypes = { readonly [name: string]: DType }

/** Types of the variables if none were given when the dataset was opened. */
export type UnknownTypes = { readonly [name in never]: never }

type ReducedDatasets = Record<ReduceKind, readonly [whole: Dataset, along: Dataset]>

/** Options of `new Dataset`. */
export interface DatasetOptions {
  /** Coordinates by name. A list of values lies along the dimension of the same name. */
  readonly coords?: Readonly<Record<string, VariableInput>>
  /** Attributes of the dataset. */
  readonly attrs?: Attrs
}

const OPTIONS: Checks<DatasetOptions> = { coords: 'object', attrs: 'object' }

/**
 * Parts of a dataset that is derived from others; internal.
 * @internal
 */
export class DatasetState implements DatasetParts {
  readonly variables: ReadonlyMap<string, Variable>
  readonly coords: Coords
  readonly attrs: Attrs
  readonly decodeErrors: ReadonlyMap<string, HyperslabError>
  readonly warnings: readonly string[]
  readonly close: (() => Promise<void>) | undefined
  readonly version: (() => Promise<string>) | undefined
  readonly groupsLeft: (() => Promise<OmittedGroups>) | undefined
  readonly origin: Origin | undefined

  /** @throws InvalidArgumentError if lengths along a dimension differ */
  constructor({ variables, coords, attrs, decodeErrors = new Map(), warnings = [], ...more }: DatasetParts) {
    this.variables = variables
    this.coords = coords
    this.attrs = attrs
    this.decodeErrors = decodeErrors
    this.warnings = warnings
    this.close = more.close
    this.version = more.version
    this.groupsLeft = more.groupsLeft
    this.origin = more.origin
    dimLengths(this)
  }
}

/**
 * Variables with shared dimensions and coordinates, as in xarray. All data are lazy, except for the labels of
 * dimensions, which are in memory.
 * @example
 * const ds = new Dataset(
 *   { t: { dims: ['time'], data: [271, 275, 280], attrs: { units: 'K' } } },
 *   { coords: { time: [new Date('1998-01-01'), new Date('1998-02-01'), new Date('1998-03-01')] } },
 * )
 * console.log(await ds.get('t').sel({ time: '1998' }).mean().get()) // 275.3333333333333
 */
export class Dataset<V extends VariableTypes = UnknownTypes> extends Reducible<ReducedDatasets> implements AsyncDisposable {
  /** @internal */
  readonly parts: DatasetState
  /**
   * @throws InvalidArgumentError if lengths along a dimension differ, and for invalid values. Also for labels
   *   in an array that must be read first, which `Dataset.from` does
   */
  constructor(variables: Readonly<Record<string, VariableInput>>, options?: DatasetOptions)
  /** @internal */
  constructor(parts: DatasetState)
  constructor(variables: Readonly<Record<string, VariableInput>> | DatasetState, options: DatasetOptions = {}) {
    super()
    if (variables instanceof DatasetState) {
      this.parts = variables
      return
    }
    checkValue('Dataset', 'variables', variables, 'object')
    checkOptions('Dataset', options, OPTIONS)
    checkAttrs('Dataset', options.attrs ?? {})
    const coords = new Map(
      Object.entries(options.coords ?? {}).map(([name, input]) => [name, indexed(toVariable(name, input, name))]),
    )
    const own = new Map<string, Variable>()
    let all: Coords = coords
    for (const [name, input] of Object.entries(variables)) {
      own.set(name, toVariable(name, input, undefined))
      if (input instanceof DataArray) all = mergeCoords(all, input.coordinates, 'keep')
    }
    this.parts = new DatasetState({ variables: own, coords: all, attrs: options.attrs ?? {} })
  }

  /**
   * Creates a dataset from the arrays of a file, decoded by the CF conventions. The labels of its dimensions
   * are read. A variable that cannot be decoded is omitted; `decodeErrors` has the reason.
   * @throws errors of reading the labels
   */
  static async from(file: DatasetFile, options: DecodeOptions = {}): Promise<Dataset> {
    const { readParts } = await import('./read-parts.ts')
    return new Dataset(new DatasetState(await readParts(file, options)))
  }

  /** Length of each dimension, by name. */
  get dims(): Readonly<Record<string, number>> {
    return dimLengths(this.parts)
  }

  /** Coordinates by name: labels of dimensions, and other coordinate variables. */
  get coords(): Readonly<Record<string, DataArray>> {
    return this.#arrays(this.parts.coords)
  }

  /** Variables by name, without coordinates. */
  get variables(): Readonly<Record<string, DataArray>> {
    return this.#arrays(this.parts.variables)
  }

  /** Attributes of the dataset or its file. */
  get attrs(): Attrs {
    return this.parts.attrs
  }

  /**
   * Warnings, one per line. They report attributes that decoding ignores, such as a textual `missing_value`,
   * and unusual costs of reading, such as compressed archives.
   */
  get warnings(): string[] {
    const { variables, coords, warnings } = this.parts
    return [...warnings, ...[...coords.values(), ...variables.values()].flatMap((variable) => variable.warnings)]
  }

  /** Omitted variables, each with the reason. */
  get decodeErrors(): ReadonlyMap<string, HyperslabError> {
    return this.parts.decodeErrors
  }

  /**
   * Returns a variable or a coordinate.
   * @throws UnknownArrayError with the known names; for an omitted variable, the reason
   */
  get<N extends keyof V & string>(name: N): DataArray<V[N]>
  get(name: string): DataArray
  get(name: string): DataArray {
    const { variables, coords, decodeErrors } = this.parts
    const found = variables.get(name) ?? coords.get(name)
    if (found !== undefined) return this.#array(found)
    const problem = decodeErrors.get(name)
    if (problem !== undefined) throw problem
    const known = [...variables.keys(), ...coords.keys()]
    throw new HyperslabError('UnknownArrayError', `there is no variable of this name: there are ${known.join(', ') || 'none'}`, {
      array: name,
      actual: name,
      expected: known,
    })
  }

  /** Selects points, as {@link selPoints}. */
  sel(points: readonly PointLabels[], options?: SelPointsOptions): Dataset<V>
  /**
   * Selects labels of all variables, as {@link DataArray.sel}. A variable without a selected dimension stays
   * unchanged along it.
   */
  sel(labels: Readonly<Record<string, LabelSelector>>, options?: SelOptions): Dataset<V>
  sel(labels: Readonly<Record<string, LabelSelector>> | readonly PointLabels[], options: SelPointsOptions = {}): Dataset<V> {
    if (isPointList(labels)) return this.selPoints(labels, options)
    checkOptions('sel', options, SEL_CHECKS)
    return this.#taken(takenByLabel(labels, this.parts.coords, Object.keys(this.dims), options), 'sel', labels, options)
  }

  /** Selects points by positions of all variables, as {@link DataArray.isel}. */
  isel(points: readonly PointIndices[], options?: PointsOptions): Dataset<V>
  /** Selects positions of all variables, as {@link DataArray.isel}. */
  isel(positions: Readonly<Record<string, Selector>>): Dataset<V>
  isel(positions: Readonly<Record<string, Selector>> | readonly PointIndices[], options?: PointsOptions): Dataset<V> {
    const { dims } = this
    if (isPointList(positions)) return this.#with(indexedPointsOfDataset(this.parts, dims, positions, options), 'isel of points')
    checkOptions('isel', options, {})
    return this.#taken(takenByPosition(positions, Object.keys(dims), Object.values(dims)), 'isel')
  }

  /** Selects points of all variables, as {@link DataArray.selPoints}. */
  selPoints(points: LabelledPoints, options?: SelPointsOptions): Dataset<V> {
    return this.#with(selectedPointsOfDataset(this.parts, points, options), 'selPoints')
  }

  /** Interpolates all variables between labels, as {@link DataArray.interp}. */
  async interp(labels: InterpLabels, options: InterpOptions = {}): Promise<Dataset> {
    return this.#with((await import('./interp.ts')).interpolatedDataset(this.parts, labels, options), 'interp', labels)
  }

  /** Returns the dataset with added or replaced variables. */
  assign(variables: Readonly<Record<string, VariableInput>>): Dataset {
    const added = new Dataset(variables, { coords: this.coords }).parts
    return this.#with(
      { variables: new Map([...this.parts.variables, ...added.variables]), coords: added.coords },
      'assign',
      variables,
    )
  }

  /**
   * Merges the variables of several datasets.
   * @throws InvalidArgumentError if two datasets share a variable name, or labels along a dimension differ
   */
  merge(...others: readonly Dataset[]): Dataset {
    let { variables, coords } = this.parts
    for (const other of others) {
      if (!(other instanceof Dataset)) invalidArgument('merge takes datasets', other)
      const twice = [...other.parts.variables.keys()].find((name) => variables.has(name))
      if (twice !== undefined)
        throw new HyperslabError('InvalidArgumentError', 'two datasets have a variable of this name: rename or drop one', {
          array: twice,
        })
      coords = mergeCoords(coords, other.parts.coords, 'refuse')
      variables = new Map([...variables, ...other.parts.variables])
    }
    return this.#with({ variables, coords }, 'merge', others)
  }

  /**
   * Renames variables, coordinates and dimensions.
   * @throws InvalidArgumentError for names that do not exist or are already used
   */
  rename(names: Readonly<Record<string, string>>): Dataset {
    checkValue('rename', 'names', names, 'object')
    const { variables, coords } = this.parts
    const known = new Set([...variables.keys(), ...coords.keys(), ...Object.keys(this.dims)])
    for (const [from, to] of Object.entries(names)) {
      if (!known.has(from)) invalidArgument(`there is nothing named ${quoted(from)}: there are ${[...known].join(', ')}`, from)
      if (typeof to !== 'string' || to === '' || (known.has(to) && !Object.hasOwn(names, to)))
        invalidArgument(`${quoted(from)} cannot be named ${quoted(to)}: that is no name, or taken`, to)
    }
    const targets = Object.values(names)
    const twice = targets.find((to, i) => targets.indexOf(to) !== i)
    if (twice !== undefined) invalidArgument(`two cannot be named ${quoted(twice)}`, twice)
    const nameOf = (name: string): string => (Object.hasOwn(names, name) ? names[name]! : name)
    const renamed = (map: ReadonlyMap<string, Variable>): Map<string, Variable> =>
      new Map(
        [...map].map(([name, variable]) => {
          const dims = variable.dims.map(nameOf)
          const unlimited = variable.unlimited.map(nameOf)
          return [nameOf(name), variable.with({ name: nameOf(name), dims, unlimited, index: variable.index?.along(dims[0]!) })]
        }),
      )
    return this.#with({ variables: renamed(variables), coords: renamed(coords) }, 'rename', names)
  }

  /**
   * Labels and renames dimensions by coordinates along them, which are read: `swapDims({ x: 'lon' })`.
   * @throws InvalidArgumentError for a coordinate that does not lie along the dimension alone
   */
  async swapDims(names: Readonly<Record<string, string>>): Promise<Dataset> {
    return this.#with(await (await import('./swap-dims.ts')).swappedDims(this.parts, names), 'swapDims', names)
  }

  /**
   * Turns variables into coordinates, if the attributes do not declare them.
   * @throws UnknownArrayError
   */
  setCoords(...names: readonly string[]): Dataset {
    const coords = new Map([...this.parts.coords, ...names.map((name) => [name, this.get(name).variable] as const)])
    return this.#with(
      { coords, variables: new Map([...this.parts.variables].filter(([name]) => !coords.has(name))) },
      'setCoords',
      names,
    )
  }

  /**
   * Returns the dataset without some variables, coordinates or entries of `decodeErrors`.
   * @throws UnknownArrayError
   */
  drop(...names: readonly string[]): Dataset {
    const { variables, coords, decodeErrors } = this.parts
    for (const name of names) if (!decodeErrors.has(name)) this.get(name)
    const kept = <T>(map: ReadonlyMap<string, T>) => new Map([...map].filter(([name]) => !names.includes(name)))
    return this.#with({ variables: kept(variables), coords: kept(coords), decodeErrors: kept(decodeErrors) }, 'drop', names)
  }

  /**
   * Groups the variables along a dimension for a reduction, as {@link DataArray.groupBy}. Variables without
   * the dimension stay unchanged.
   */
  groupBy(key: GroupKey, options: MinPeriodsOption = {}): GroupBy<Record<GroupKind, Dataset>, DataArray> {
    return new GroupBy(this.#divided, key, this.#over('groupBy', key, options), this.#labelled(), options)
  }

  /** Groups the variables by periods of a frequency for a reduction, as {@link DataArray.resample}. */
  resample(by: Readonly<Record<string, string>>, options: ResampleOptions = {}): GroupBy<Record<GroupKind, Dataset>, DataArray> {
    const groups = resampledGroups(this.#divided, by, options)
    return new GroupBy(this.#divided, groups, this.#over('resample', by, options), this.#labelled())
  }

  /** Forms windows of the variables for a reduction, as {@link DataArray.rolling}. */
  rolling(lengths: AxisLengths, options: RollingOptions = {}): WindowedArray<Record<GroupKind, Dataset>> {
    return rollingWindows(this.#divided, lengths, options, this.#over('rolling', lengths, options))
  }

  /** Forms blocks of the variables for a reduction, as {@link DataArray.coarsen}. */
  coarsen(lengths: AxisLengths, options: CoarsenOptions = {}): WindowedArray<Record<GroupKind, Dataset>> {
    return coarsenedBlocks(this.#divided, lengths, options, this.#over('coarsen', lengths, options))
  }

  /**
   * Masks all variables, as {@link DataArray.where}. Variables without a dimension of the condition stay
   * unchanged.
   * @throws UnsupportedError for text along a dimension of the condition
   */
  where(condition: DataArray | ((value: number) => boolean), options?: ArithmeticOptions): Dataset {
    const dims = condition instanceof DataArray ? condition.dims : []
    const isFor = (variable: Variable): boolean => dims.length === 0 || variable.dims.some((dim) => dims.includes(dim))
    return this.#with(
      this.#mapped(isFor, (array) => whereTrue(array, condition, options)),
      'where',
      condition,
    )
  }

  /**
   * Replaces the missing values of all variables, as {@link DataArray.fillna}. Values by variable fill these
   * variables alone. Text stays unchanged.
   * @throws UnknownArrayError for a variable that does not exist; InvalidArgumentError for a value of another
   *   kind, such as a number for times
   */
  fillna(values: Replacement | Readonly<Record<string, Replacement | DataArray>>): Dataset {
    const isEach = values !== null && typeof values === 'object' && !(values instanceof Date)
    if (isEach) for (const name of Object.keys(values)) this.get(name)
    const variables = [...this.parts.variables].map(([name, variable]): [string, Variable] => {
      if (isEach ? !Object.hasOwn(values, name) : variable.array.dtype === 'string') return [name, variable]
      const value = isEach ? (values as Record<string, Replacement | DataArray>)[name]! : values
      return [name, this.#array(variable).fillna(value as Replacement).variable]
    })
    return this.#with({ variables: new Map(variables) }, 'fillna', values)
  }

  /**
   * Returns the statistics of all values of each variable, as {@link DataArray.describe}, by name. Variables
   * are described one after another, and each chunk is read once. Text and binaries have no statistics, so
   * their variables are omitted.
   * @throws errors of reading
   * @example
   * const ds = new Dataset({ t: { dims: ['x'], data: [1, NaN, 3] } })
   * console.log(await ds.describe()) // { t: { count: 2, missing: 1, min: 1, max: 3, mean: 2, std: 1 } }
   */
  async describe(options: DescribeValuesOptions = {}): Promise<Readonly<Record<string, ValuesDescription>>> {
    return (await import('./describe-variables.ts')).describeVariables(this.parts, options)
  }

  /**
   * Writes the dataset in the format of the name: `.zarr` is a Zarr group of version 3, `.nc` classic NetCDF,
   * any other name a container. The result appears when it is complete. Variables and coordinates keep their
   * attributes. They are encoded as in their source file (packed, or as numbers of units of time), unless
   * `encoding` overrides it. Computed values are stored unchanged. Reads and computes block by block, and
   * shards one at a time. In containers and NetCDF, nested attributes become JSON text. Variables in
   * `decodeErrors` are omitted, with a warning.
   * @returns names of the arrays, size of a container in bytes, warnings
   * @throws AlreadyExistsError unless `overwrite` is set, which keeps the old store until the new one is
   *   complete; InvalidArgumentError for values that their encoding cannot store, and for options of the
   *   other format; UnknownArrayError for an encoding without a variable
   * @example
   * const place = { store: new MemoryStore(), path: 'x.af' }
   * const ds = new Dataset({ t: { dims: ['lat'], data: [271.5, 275.25], attrs: { units: 'K' } } })
   * await ds.write(place, { encoding: { t: { dtype: 'int16', scale_factor: 0.25, _FillValue: -1 } } })
   * console.log(await (await openDataset(place)).get('t').values()) // Float64Array(2) [ 271.5, 275.25 ]
   */
  async write(location: Location, options: WriteDatasetOptions = {}): Promise<WriteResult> {
    return (await import('./out/write.ts')).writeDataset(this.parts, location, options)
  }

  /**
   * Yields a table in long form as CSV text (RFC 4180), piece by piece. It has a row for each position along
   * all dimensions: labels of the dimensions, then coordinates, then variables. Times are ISO 8601; missing
   * values are empty.
   * @throws when read, UnsupportedError for binaries, and for a place with groups, if none was chosen
   * @example
   * const t = { dims: ['lat', 'lon'], data: { data: [1, 2, NaN, 4], shape: [2, 2] } }
   * const ds = new Dataset({ t }, { coords: { lat: [50, 55], lon: [5, 10] } })
   * let csv = ''
   * for await (const text of ds.toCSV()) csv += text
   * console.log(csv.trimEnd().split('\n')) // [ 'lat,lon,t', '50,5,1', '50,10,2', '55,5,', '55,10,4' ]
   */
  async *toCSV(options: TableOptions = {}): AsyncGenerator<string, void, undefined> {
    const { variables, coords } = await this.#withoutGroups()
    yield* (await import('./out/csv.ts')).writeCsv([...variables.values()], coords, options)
  }

  /**
   * Yields the table of {@link toCSV} as record batches of Apache Arrow, each with some tens of thousands of
   * rows. It needs the package `apache-arrow`, which is not installed with this one. Times are nanoseconds of
   * UTC, or text for other calendars; missing values are null.
   * @throws when read, MissingDependencyError without the package; UnsupportedError for binaries, and for a
   *   place with groups, if none was chosen; OverflowError for times beyond 64 bits
   */
  async *toTable(options: TableOptions = {}): AsyncGenerator<ArrowRecordBatch, void, undefined> {
    const { variables, coords } = await this.#withoutGroups()
    yield* (await import('./out/arrow.ts')).writeArrow([...variables.values()], coords, options)
  }

  /** @throws UnsupportedError for a place with groups, if none was chosen */
  async #withoutGroups(): Promise<DatasetParts> {
    if (this.parts.groupsLeft !== undefined) await (await import('./out/groups-left.ts')).checkNoGroupsLeft(this.parts)
    return this.parts
  }

  /**
   * Returns the version of the files that the dataset was opened from, as they are stored now: text that
   * changes when a file does. As `resume` of {@link write}, it lets an interrupted write continue only from
   * the same data. Selections and computations do not change it.
   * @throws InvalidArgumentError for datasets that were not opened from files; errors of the store
   */
  async version(): Promise<string> {
    return this.parts.version?.() ?? invalidArgument('version: the dataset was not opened from files', 'no file')
  }

  /**
   * Returns the names of the groups at the root of the file, which the dataset leaves out. Empty for files
   * without groups, and if a group or a level was chosen.
   */
  async omittedGroups(): Promise<readonly string[]> {
    return (await this.parts.groupsLeft?.())?.names ?? []
  }

  /** Closes the file that the dataset was opened from. Later reads throw ClosedError. */
  async close(): Promise<void> {
    await this.parts.close?.()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Describes dimensions, coordinates with their first and last value, variables and attributes, in the
   * layout of xarray.
   */
  override toString(): string {
    return describeDataset({ ...this.parts, dims: this.dims })
  }

  /** @internal */
  protected override reduce<K extends ReduceKind>(
    kind: K,
    options: (KeepDimsOptions & FoldOptions) | undefined,
    q?: number | readonly number[],
  ): Dataset {
    checkReduction(kind, options, KEEP_CHECKS, {})
    const named = namedDims(Object.keys(this.dims), options?.axis)
    const isFor = ({ dims }: Variable): boolean => dims.some((dim) => named.includes(dim))
    const apply = (array: Labelled): Labelled => {
      const own = { ...options, axis: array.variable.dims.filter((dim) => named.includes(dim)) }
      return kind === 'quantile' ? quantileAlong(array, q!, own) : reduceAlong(array, kind, own)
    }
    const args = kind === 'quantile' ? ['quantile', q, options] : ['reduce', kind, options]
    return this.#with(this.#mapped(isFor, apply, kind), ...(args as [string]))
  }

  #mapped(isFor: (variable: Variable) => boolean, apply: (array: Labelled) => Labelled, kind?: string): Partial<DatasetParts> {
    return mapVariables({ ...this.parts, dims: this.dims }, isFor, apply, kind)
  }

  get #divided(): Divided {
    return { label: {}, lengths: new Map(Object.entries(this.dims)), coordinates: this.parts.coords }
  }

  /** Returns a function that reduces the parts of the variables along some dimensions, and records it. */
  #over(name: string, ...args: readonly unknown[]): Over<Dataset> {
    return (reduce, along, kind, ...more) => {
      const isFor = ({ dims }: Variable): boolean => dims.some((dim) => along.includes(dim))
      return this.#with(this.#mapped(isFor, reduce, kind), name, ...args, kind, ...more)
    }
  }

  #labelled(): (coord: Labelled) => DataArray {
    return ({ variable, coordinates }) => new DataArray(variable, coordinates)
  }

  #array(variable: Variable): DataArray {
    return new DataArray(variable, this.parts.coords, createOrigin(this, 'get', variable.name))
  }

  #arrays(map: ReadonlyMap<string, Variable>): Readonly<Record<string, DataArray>> {
    return Object.fromEntries([...map].map(([name, variable]) => [name, this.#array(variable)]))
  }

  #taken(taken: ReadonlyMap<string, Taken>, name: string, ...args: readonly unknown[]): Dataset<V> {
    const { variables, coords } = this.parts
    const own = new Map([...variables].map(([name, variable]) => [name, variable.take(taken)]))
    return this.#with({ variables: own, coords: takeCoords(coords, taken) }, name, taken, ...args)
  }

  #with<T extends VariableTypes = V>(parts: Partial<DatasetParts>, name: string, ...args: readonly unknown[]): Dataset<T> {
    const derived = { groupsLeft: undefined, origin: createOrigin(this, name, ...args) }
    return new Dataset<T>(new DatasetState({ ...this.parts, ...parts, ...derived }))
  }
}

/**
 * Returns the length of each dimension.
 * @throws InvalidArgumentError if lengths along a dimension differ
 */
function dimLengths({ variables, coords }: Pick<DatasetState, 'variables' | 'coords'>): Record<string, number> {
  const lengths = new Map<string, { readonly length: number; readonly from: string }>()
  for (const { name, dims, array } of [...coords.values(), ...variables.values()])
    for (const [axis, dim] of dims.entries()) {
      const length = array.shape[axis]!
      const known = lengths.get(dim)
      if (known !== undefined && known.length !== length) {
        const text = `${dim} is of length ${length} here, and of ${known.length} in '${known.from}'`
        throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: length, expected: known.length })
      }
      lengths.set(dim, known ?? { length, from: name })
    }
  return Object.fromEntries([...lengths].map(([dim, { length }]) => [dim, length]))
}

/** Adds an index to a variable along the dimension of its own name, from values in memory. */
function indexed(variable: Variable): Variable {
  if (variable.index !== undefined || variable.dims.length !== 1 || variable.dims[0] !== variable.name) return variable
  const data = IN_MEMORY.get(variable.array)
  if (data !== undefined) return withIndex(variable, data)
  const text = 'the labels of a dimension have to be in memory: pass a list or a tensor, or have Dataset.from read them'
  throw new HyperslabError('InvalidArgumentError', text, { array: variable.name })
}

/** Values of arrays that were made from data in memory. */
const IN_MEMORY = new WeakMap<DiskArray, ArrayLike<unknown>>()

/** @param dim dimension of a list of values without dimension names */
function toVariable(name: string, input: VariableInput, dim: string | undefined): Variable {
  if (input instanceof DataArray) return input.variable.with({ name })
  if (input instanceof DiskArray)
    return new Variable({ name, array: input, dims: requireNames(input, name), attrs: plainAttrs(input.attrs) })
  if (typeof input === 'object' && input !== null && 'dims' in input) {
    const { dims, data, attrs = {} } = input
    checkValue(`variable '${name}'`, 'dims', dims, 'list of strings')
    checkAttrs(`variable '${name}'`, attrs)
    return new Variable({ name, array: toArray(data, dims, name), dims, attrs })
  }
  if (dim !== undefined && isList(input))
    return new Variable({ name, array: toArray(input, [dim], name), dims: [dim], attrs: {} })
  throw new HyperslabError('InvalidArgumentError', 'a variable is an array with names of dimensions, or { dims, data, attrs }', {
    array: name,
    actual: input,
  })
}

/** Converts a list to a tensor of a type, and checks each value. */
const listTensor = (dtype: DType, list: ArrayLike<unknown>): Tensor => tensorOf(dtype, [list.length], toData(dtype, list))

function toData(dtype: DType, list: ArrayLike<unknown>): DataOf<DType> {
  const data = allocate(dtype, list.length)
  for (let i = 0; i < list.length; i++) data[i] = toElement(dtype, list[i]) as never
  return data
}

/** Converts a time to an element of a `timestamp_ns` array. */
function timestampFrom(time: TimeLabel): bigint {
  const { start } = parseTimeLabel(time, 'proleptic_gregorian')
  if (fits64(start)) return start
  return invalidArgument(`${String(time)} is beyond 64 bits of nanoseconds, 1677-09-21 to 2262-04-11`, time)
}

const isList = (value: unknown): value is ArrayLike<number> => Array.isArray(value) || ArrayBuffer.isView(value)

function requireNames(array: DiskArray, name: string): readonly string[] {
  if (array.dimensionNames?.length === array.rank) return array.dimensionNames
  throw new HyperslabError('InvalidArgumentError', 'the array has no names of dimensions: pass { dims, data }', { array: name })
}

function toArray(data: VariableData, dims: readonly string[], name: string): DiskArray {
  if (data instanceof DiskArray) return data
  const tensor = toTensor(data, dims, name)
  const array = new DiskArray(typeof tensor.dtype === 'string' ? { ...inMemory(tensor), dtype: tensor.dtype } : inMemory(tensor))
  IN_MEMORY.set(array, tensor.data as ArrayLike<unknown>)
  return array
}

function toTensor(data: Exclude<VariableData, DiskArray>, dims: readonly string[], name: string): Tensor & { dtype?: DType } {
  if (typeof data === 'number') return tensorOf('float64', [], Float64Array.of(data))
  if (isTensorLike(data)) {
    const { shape, stride, offset = 0 } = data
    const dense = tensorOf('float64', shape)
    return { data: data.data as never, shape: [...shape], stride: stride ? [...stride] : dense.stride, offset }
  }
  if (!isList(data) || dims.length !== 1)
    throw new HyperslabError(
      'InvalidArgumentError',
      `values of [${dims.join(', ')}] are an array, a tensor, or a list for one dimension`,
      { array: name, actual: data },
    )
  const first = (data as ArrayLike<unknown>)[0]
  if (first instanceof Date) {
    const times = BigInt64Array.from(data as unknown as Date[], timestampFrom)
    return { ...tensorOf('timestamp_ns', [times.length], times), dtype: 'timestamp_ns' }
  }
  const list = data as ArrayLike<unknown>
  if (ArrayBuffer.isView(data)) return { data: data as never, shape: [list.length], stride: [1], offset: 0 }
  return listTensor(typeof first === 'string' ? 'string' : 'float64', list)
}
