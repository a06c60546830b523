import { checkDType, type DType, type ScalarOf } from '../core/dtype.ts'
import { within } from '../core/errors.ts'
import { Printable } from '../core/inspect.ts'
import { lazily } from '../core/lazily.ts'
import { showShape, sizeOf } from '../core/shape.ts'
import type { Tensor } from '../core/tensor.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { PlanOptions } from '../grid/plan.ts'
import type { Selection } from '../grid/selection.ts'
import type { Axis, AxisOption } from './axes.ts'
import { type GetAsOptions, type GetOptions, getSelection, named, type ReadPlan, resolveChecked } from './get.ts'
import type { Block, BlocksOptions, EqualsOptions, ProgressOptions } from './iteration.ts'
import { astype } from './lazy/astype.ts'
import { view } from './lazy/axes-view.ts'
import { expandDims, flip, squeeze, transpose } from './lazy/axis-order.ts'
import { type CacheOptions, cache } from './lazy/cache.ts'
import { type MapOptions, map } from './lazy/map.ts'
import { type Padding, type PadOptions, pad } from './lazy/pad.ts'
import { rechunk } from './lazy/rechunk.ts'
import type { RechunkOptions } from './lazy/rechunk-to.ts'
import { reshape } from './lazy/reshape.ts'
import { type Missing, missingOf } from './missing.ts'
import type { CumulativeOptions } from './reductions/cumulative-sum.ts'
import type { FoldedDType, FoldKind, FoldOptions, SumDTypes } from './reductions/fold-kinds.ts'
import type { Grouped } from './reductions/group-by.ts'
import type { Histogram, HistogramOptions } from './reductions/histogram.ts'
import type { CountOptions, GroupOptions, TruthOptions } from './reductions/options.ts'
import type { QuantileOptions } from './reductions/quantile.ts'
import type { ReduceOptions } from './reductions/reduce.ts'
import type { ReducingMethod } from './reductions/reductions.ts'
import type { SkipOptions } from './reductions/rows.ts'
import type { Unique, UniqueOptions } from './reductions/unique.ts'
import type { Weights } from './reductions/weighted-mean.ts'
import type { Selected } from './selected.ts'
import {
  type BlockOptions,
  type BlockSource,
  checkWritable,
  completeSource,
  type EstimateOptions,
  type NamedValues,
  type SourceLike,
} from './source.ts'
import { TRANSFER_CHECKS, type TransferOptions } from './transfers.ts'
import type { Values } from './values.ts'

const iteration = lazily(() => import('./iteration.ts'))
// What it imports is asked for beside it, not after it.
const reductions = lazily(async () => {
  const [module] = await Promise.all([import('./reductions/reductions.ts'), iteration()])
  return module
})

type Iteration = typeof import('./iteration.ts')

/** What options of a reduction of everything have, and what those of one along axes do. */
type Whole = { readonly axis?: undefined }
type Along = { readonly axis: AxisOption }

/** Both extremes, of one type. */
type Extrema<T> = Record<'min' | 'max', T>

/**
 * An n-dimensional array whose elements live elsewhere: a handle, holding no data. Reading takes `get`,
 * writing `set`; reductions and `assign` go through the chunks once, holding a few MiB of them at a time.
 *
 * Arrays made of it (`view`, `transpose`, `map`...) are lazy: nothing is read until they are, and then the
 * parts that are needed, from here. They keep the chunks, and take writes where each element is one of this
 * array.
 *
 * Results of reductions do not depend on which chunk is there first. With `axis`, a reduction gives a tensor
 * of the other axes (with `keepDims`, the reduced ones stay with length 1), without it one value. Missing
 * elements are passed over, unless `skipMissing` is false. Of those alone the sum is 0, the count 0, the mean
 * NaN, and a minimum is refused; along axes it is NaN, and of integers the missing value.
 * @example
 * const squares = new DiskArray({
 *   dtype: 'float64',
 *   shape: [1000],
 *   chunks: [100],
 *   readBlock([{ start, stop }], out) {
 *     for (let i = start; i < stop; i++) out.data[out.offset + (i - start) * out.stride[0]] = i * i
 *   },
 * })
 * console.log(await squares.get([-1])) // 998001
 */
export class DiskArray<D extends DType = DType, R extends number = number> extends Printable {
  /** The backend that elements are read from and written to. */
  readonly source: BlockSource<D>

  /**
   * @param source a backend; its `chunks` may be a chunk shape, or missing
   * @param options for estimating chunks that are missing
   * @throws InvalidArgumentError for what is no source, and for a grid of another shape
   */
  constructor(source: SourceLike<D>, options?: EstimateOptions) {
    super()
    this.source = completeSource(source, options)
  }

  /** The data type of the elements. */
  get dtype(): D {
    return this.source.dtype
  }

  /** The length of each axis. */
  get shape(): readonly number[] {
    return this.source.shape
  }

  /** Number of axes. */
  get rank(): R {
    return this.shape.length as R
  }

  /** The chunks that the array is divided into. */
  get chunks(): ChunkGrid {
    return this.source.chunks
  }

  /** The name of each axis, where they have names. */
  get dimensionNames(): readonly string[] | undefined {
    return this.source.dimensionNames
  }

  /** The value that elements nobody wrote read as; undefined where that is zero, and not missing. */
  get fillValue(): ScalarOf<D> | undefined {
    return this.source.fillValue
  }

  /** The values of elements that are missing. In containers this is the fill value. */
  get missing(): Missing<D> {
    return missingOf(this.source)
  }

  /**
   * The attributes of the elements; undefined where there are none. Views, permutations, other chunks and
   * caches of an array have its attributes, arrays put together those that all of them have alike, arrays
   * that are computed have none.
   */
  get attrs(): NamedValues | undefined {
    return this.source.attrs
  }

  /** Number of elements. */
  get size(): number {
    return sizeOf(this.shape)
  }

  /**
   * Class, name, type, shape and chunks: `FileArray { 'tas', float32 [12, 180], chunks [1, 180] }`; never
   * reads data.
   */
  override toString(): string {
    const { array } = this.source.label ?? {}
    const names = this.dimensionNames === undefined ? '' : ` (${this.dimensionNames.join(', ')})`
    const facts = `${this.dtype} ${showShape(this.shape)}${names}, chunks ${showShape(this.chunks.chunkShape)}`
    return `${this.constructor.name} { ${array === undefined ? '' : `'${array}', `}${facts} }`
  }

  /**
   * Narrows the type to a data type and, when it is given, to a rank.
   * @throws InvalidArgumentError when there is no such type
   */
  is<K extends DType, N extends number = R>(dtype: K, rank?: N): this is DiskArray<K, N> {
    checkDType(dtype)
    return (this.dtype as DType) === dtype && (rank === undefined || this.shape.length === rank)
  }

  /**
   * Tells what reading (or writing) a selection would do, before any I/O.
   * @throws InvalidSelectionError; InvalidArgumentError for options that make no sense; TooLargeError for
   *   more than 2^20 reads
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'float32', shape: [20, 30], chunks: [5, 10] })
   * const { shape, chunks, bytes } = await t.plan([slice(0, 6), 3])
   * console.log(shape, chunks, bytes) // [ 6 ] 2 24
   */
  async plan(selection?: Selection, options: PlanOptions = {}): Promise<ReadPlan> {
    return (await iteration()).planRead(this.source, selection, options)
  }

  /**
   * Reads a selection (see {@link Selection}): what its selectors pick, in every combination. Integers
   * (negative ones count from the end) drop their axis. The result is dense, in C order; where nothing but
   * integers are given and no axis is left it is the element itself.
   *
   * An abort ends it when the source has given up what was under way.
   * @throws InvalidSelectionError naming axis and numbers; InvalidArgumentError when `out` does not fit;
   *   TooLargeError for more than `maxBytes`; whatever the source throws
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'float32', shape: [2, 3] })
   * console.log(await t.get([1, 2])) // 12
   * console.log((await t.get([0])).data) // Float32Array(3) [ 0, 1, 2 ]
   * console.log((await t.get([null, [2, 0]])).data) // Float32Array(4) [ 2, 0, 12, 10 ]
   * console.log((await t.get([0], { as: 'int16' })).data) // Int16Array(3) [ 0, 1, 2 ]
   */
  async get<const S extends Selection = null>(selection?: S, options?: GetOptions<D>): Promise<Selected<D, S, R>>
  async get<const S extends Selection, K extends DType>(selection: S, options: GetAsOptions<K>): Promise<Selected<K, S, R>>
  async get(selection?: Selection, options: GetOptions<D> & { readonly as?: D } = {}): Promise<unknown> {
    if (Object(options).as === undefined) return getSelection(this.source, selection, options)
    const { as, ...others } = options
    return this.astype(as!).get(selection, others)
  }

  /**
   * Writes a selection: one value for all of it, elements in C order, nested arrays or a tensor of its shape;
   * of several for one element the last stays. Where something between the selected elements cannot be left
   * out, it is read first and written back.
   * @throws ReadOnlyError when the source does not take writes; InvalidSelectionError; InvalidArgumentError
   *   when the values do not fit
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const x = file.define('x', { dtype: 'float32', shape: [2, 3] })
   * await x.set([0], [1, 2, 3])
   * await x.set([1, slice(1, 3)], 7)
   * console.log((await x.get()).data) // Float32Array(6) [ 1, 2, 3, 0, 7, 7 ]
   */
  async set(selection: Selection, values: Values<D>, options: TransferOptions = {}): Promise<void> {
    const { source } = this
    const resolved = resolveChecked('set', source, selection, options, TRANSFER_CHECKS)
    options.signal?.throwIfAborted()
    checkWritable(source)
    // Who only reads does not load it.
    const { writeResolved } = await import('./write.ts')
    await writeResolved(source, resolved, values, options)
  }

  /**
   * The chunks in C order of the grid, one read each; some are read ahead. Each comes in memory of its own.
   * Leaving the loop early ends what is under way.
   * @throws TooLargeError for chunks of more than `maxBytes`; whatever the source throws
   * @example
   * const t = generate((i) => i, { dtype: 'int32', shape: [5], chunks: [3] })
   * const sizes = []
   * for await (const { data } of t.blocks({ prefetch: 2 })) sizes.push(data.shape)
   * console.log(sizes) // [ [ 3 ], [ 2 ] ]
   */
  async *blocks(options: BlocksOptions = {}): AsyncGenerator<Block<D>, void> {
    yield* (await this.#iteration('blocks', options)).blocks(this.source, options)
  }

  /**
   * The elements in C order of the array, holding at most 64 MiB. Chunks are read once where a row of them
   * fits in half of that; otherwise as often as it has parts that do.
   * @throws whatever the source throws
   * @example
   * const t = generate((i) => i * i, { dtype: 'int32', shape: [4] })
   * let last = 0
   * for await (const value of t.values()) last = value
   * console.log(last) // 9
   */
  async *values(options: BlockOptions = {}): AsyncGenerator<ScalarOf<D>, void> {
    yield* (await this.#iteration('values', options)).values(this.source, options)
  }

  /** As {@link values}, for `for await`. */
  [Symbol.asyncIterator](): AsyncGenerator<ScalarOf<D>, void> {
    return this.values()
  }

  /**
   * All of the array as a dense tensor.
   * @throws TooLargeError for more than 2 GiB
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'int8', shape: [2, 2] })
   * console.log((await t.toTensor()).data) // Int8Array(4) [ 0, 1, 10, 11 ]
   */
  async toTensor(options: ProgressOptions = {}): Promise<Tensor<D>> {
    return (await this.#iteration('toTensor', options)).readTensor(this.source, options)
  }

  /**
   * True when another array has this shape, this type and the same elements. Reads both chunk by chunk and
   * stops at the first difference.
   * @throws whatever the sources throw
   */
  async equals(other: DiskArray, options: EqualsOptions = {}): Promise<boolean> {
    return (await this.#iteration('equals', options)).equalElements(this.source, other, options)
  }

  /**
   * Copies another array of this shape and type into this one, some chunks of this one at a time. Elements
   * that are missing there become what is missing here. An array in which none are is copied as it is:
   * elements that happen to have this one's missing value are missing then.
   * @throws InvalidArgumentError when shape or type differ, for a missing element where nothing is missing
   *   here (NaN stays NaN), and, where others are missing there, for an element that would become missing;
   *   ReadOnlyError; whatever reading and writing throw
   */
  async assign(from: DiskArray, options: ProgressOptions = {}): Promise<void> {
    const { assignWhole } = await this.#iteration('assign', options)
    await assignWhole('assign', from, this, options)
  }

  /**
   * The same the other way round: copies this array into another one.
   * @throws as {@link assign}
   */
  async copyTo(to: DiskArray, options: ProgressOptions = {}): Promise<void> {
    const { assignWhole } = await this.#iteration('copyTo', options)
    await assignWhole('copyTo', this, to, options)
  }

  /**
   * Writes one value to all of the array, some chunks at a time.
   * @throws ReadOnlyError; InvalidArgumentError when the value is not of the array's type
   */
  async fill(value: ScalarOf<D>, options: ProgressOptions = {}): Promise<void> {
    const { fillWhole } = await this.#iteration('fill', options)
    await within(this.source.label ?? {}, () => fillWhole(this.source, value, options))
  }

  /**
   * A selection of this array as an array: integers, slices, lists and masks of one axis. With a list that
   * has a position twice, it cannot be written.
   * @throws InvalidSelectionError naming axis and numbers; UnsupportedError for points, masks of several axes
   *   and nested lists
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [20, 30] })
   * const part = t.view([slice(10, 12), slice(null, null, 10)])
   * console.log(part.shape) // [ 2, 3 ]
   * console.log(await part.sum()) // 690
   */
  view(selection?: Selection): DiskArray<D> {
    return this.#derive(() => view(this.source, selection))
  }

  /**
   * The axes in another order; reversed when none is given.
   * @param order for each axis of the result the one it comes from, by number or name
   * @throws InvalidArgumentError unless each axis is named once
   * @example
   * const t = generate((i, j) => i + j, { dtype: 'int32', shape: [2, 3], dimensionNames: ['lat', 'lon'] })
   * console.log(t.transpose().shape, t.transpose(['lon', 'lat']).shape) // [ 3, 2 ] [ 3, 2 ]
   */
  transpose(order?: readonly Axis[]): DiskArray<D, R> {
    return this.#derive(() => transpose(this.source, order))
  }

  /**
   * The elements in C order under another shape, as long as whole chunks stay whole.
   * @param shape one length may be -1, for what is left
   * @throws InvalidArgumentError when sizes differ; UnsupportedError when chunks would be torn apart:
   *   `rechunk` first
   */
  reshape<const S extends readonly number[]>(shape: S): DiskArray<D, S['length']> {
    return this.#derive(() => reshape(this.source, shape))
  }

  /**
   * The array without axes of length 1: those that are named, or all.
   * @throws InvalidArgumentError when one that is named has another length
   */
  squeeze(axis?: AxisOption): DiskArray<D> {
    return this.#derive(() => squeeze(this.source, axis))
  }

  /**
   * The array with a new axis of length 1.
   * @param axis its number in the result; negative ones count from the end
   * @param name of the dimension
   * @throws InvalidArgumentError when there can be no such axis
   */
  expandDims(axis: number, name?: string): DiskArray<D> {
    return this.#derive(() => expandDims(this.source, axis, name))
  }

  /**
   * The array backwards along the axes that are named, or all.
   * @throws InvalidArgumentError when there is no such axis
   */
  flip(axis?: AxisOption): DiskArray<D, R> {
    return this.#derive(() => flip(this.source, axis))
  }

  /**
   * The array with more positions around it, of one value or of the nearest elements. It cannot be written.
   * @param widths before and after each axis; one number for all
   * @throws InvalidArgumentError unless widths are non-negative integers, as many as axes
   */
  pad(widths: number | readonly Padding[], options?: PadOptions<D>): DiskArray<D, R> {
    return this.#derive(() => pad(this.source, widths, options))
  }

  /**
   * The array under other chunks: what goes through it chunk by chunk goes by these. Nothing is stored
   * differently; see {@link rechunkTo}.
   * @throws InvalidArgumentError when the grid is of another shape
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [8, 8], chunks: [1, 8] })
   * console.log(t.rechunk([4, 4]).chunks.count) // 4
   */
  rechunk(chunks: ChunkGrid | readonly number[]): DiskArray<D, R> {
    return this.#derive(() => rechunk(this.source, chunks))
  }

  /**
   * The array with its chunks kept in memory once they are read, as many as fit.
   * @throws InvalidArgumentError
   */
  cache(options?: CacheOptions): DiskArray<D, R> {
    return this.#derive(() => cache(this.source, options))
  }

  /**
   * The array with its elements as another data type: fractions are cut off towards integers, what is not 0
   * is true.
   * @throws UnsupportedError between strings, binaries or timestamps and others; reading InvalidArgumentError
   *   for elements that are out of range
   * @example
   * const t = generate((i) => i / 2, { dtype: 'float64', shape: [4] })
   * console.log((await t.astype('int8').get()).data) // Int8Array(4) [ 0, 0, 1, 1 ]
   */
  astype<K extends DType>(dtype: K): DiskArray<K, R> {
    return this.#derive(() => astype(this.source, dtype))
  }

  /**
   * The array with a function of each element in its place.
   * @throws reading, InvalidArgumentError when a result is not a value of the data type
   * @example
   * const kelvin = generate((i) => 280 + i, { dtype: 'float32', shape: [3] })
   * const celsius = kelvin.map((t) => t - 273)
   * console.log((await celsius.get()).data) // Float32Array(3) [ 7, 8, 9 ]
   */
  map<K extends DType = D>(fn: (value: ScalarOf<D>) => ScalarOf<K>, options?: MapOptions<D, K>): DiskArray<K, R> {
    return this.#derive(() => map(this.source, fn, options))
  }

  /**
   * Copies this array into one with other chunks: each of its chunks is written once and whole, a chunk of
   * this one read once where memory allows. What is missing is treated as by {@link assign}.
   * @throws InvalidArgumentError when shapes or types differ, and as `assign` does; ReadOnlyError
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [8, 8], chunks: [1, 8] })
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const columns = file.define('columns', { dtype: 'int32', shape: [8, 8], chunkShape: [8, 1] })
   * await t.rechunkTo(columns)
   * console.log(await columns.get([7, 7])) // 77
   */
  async rechunkTo(target: DiskArray<D>, options?: RechunkOptions): Promise<void> {
    const { rechunkTo } = await import('./lazy/rechunk-to.ts')
    await within(this.source.label ?? {}, () => rechunkTo(this.source, target, options))
  }

  /**
   * Sum over everything or along `axis`. Integers are added exactly: the result is `float64` for types up to
   * 32 bits, a 64-bit type for 64-bit ones; floats are added in `float64`. The sum of nothing is 0. A sum of
   * n floats is off by at most about (280 + log2(n)) * 2^-53 of the sum of their magnitudes; where many cells
   * are kept and each is added to once a row, by n * 2^-53 of it.
   * @throws OverflowError when a 64-bit sum does not fit; UnsupportedError for strings, binaries and
   *   timestamps
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'float32', shape: [2, 3] })
   * console.log(await t.sum()) // 36
   * console.log((await t.sum({ axis: 0 })).data) // Float64Array(3) [ 10, 12, 14 ]
   */
  sum(options?: ReduceOptions & Whole): Promise<ScalarOf<SumDTypes[D]>>
  sum(options: ReduceOptions & Along): Promise<Tensor<SumDTypes[D]>>
  sum(options?: ReduceOptions): Promise<ScalarOf<SumDTypes[D]> | Tensor<SumDTypes[D]>>
  sum(options?: ReduceOptions): Promise<ScalarOf<SumDTypes[D]> | Tensor<SumDTypes[D]>> {
    return this.#reduce('sum', options)
  }

  /**
   * Smallest element; NaN where there is one and it is not skipped. Along an axis, cells where everything was
   * skipped are NaN, those of integers the missing value.
   * @throws EmptyReductionError when there is no element to take
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'int16', shape: [2, 3] })
   * console.log(await t.min()) // 0
   * console.log((await t.min({ axis: 1 })).data) // Int16Array(2) [ 0, 10 ]
   */
  min(options?: ReduceOptions & Whole): Promise<ScalarOf<D>>
  min(options: ReduceOptions & Along): Promise<Tensor<D>>
  min(options?: ReduceOptions): Promise<ScalarOf<D> | Tensor<D>>
  min(options?: ReduceOptions): Promise<ScalarOf<D> | Tensor<D>> {
    return this.#reduce('min', options)
  }

  /** Largest element; as {@link min} otherwise. */
  max(options?: ReduceOptions & Whole): Promise<ScalarOf<D>>
  max(options: ReduceOptions & Along): Promise<Tensor<D>>
  max(options?: ReduceOptions): Promise<ScalarOf<D> | Tensor<D>>
  max(options?: ReduceOptions): Promise<ScalarOf<D> | Tensor<D>> {
    return this.#reduce('max', options)
  }

  /** Both, reading once; as {@link min} otherwise. */
  extrema(options?: ReduceOptions & Whole): Promise<Extrema<ScalarOf<D>>>
  extrema(options: ReduceOptions & Along): Promise<Extrema<Tensor<D>>>
  extrema(options?: ReduceOptions): Promise<Extrema<ScalarOf<D>> | Extrema<Tensor<D>>>
  extrema(options?: ReduceOptions): Promise<Extrema<ScalarOf<D>> | Extrema<Tensor<D>>> {
    return this.#reduce('extrema', options)
  }

  /**
   * Arithmetic mean in `float64`; NaN where there is no element to take.
   * @throws UnsupportedError as for {@link sum}
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'int16', shape: [2, 3] })
   * console.log(await t.mean()) // 6
   * console.log((await t.mean({ axis: 0, keepDims: true })).shape) // [ 1, 3 ]
   */
  mean(options?: ReduceOptions & Whole): Promise<number>
  mean(options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  mean(options?: ReduceOptions): Promise<number | Tensor<'float64'>>
  mean(options?: ReduceOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('mean', options)
  }

  /**
   * Product: in `float64`, for 64-bit integers exact. That of nothing is 1.
   * @throws OverflowError when a 64-bit product does not fit; UnsupportedError as for {@link sum}
   */
  prod(options?: ReduceOptions & Whole): Promise<ScalarOf<SumDTypes[D]>>
  prod(options: ReduceOptions & Along): Promise<Tensor<SumDTypes[D]>>
  prod(options?: ReduceOptions): Promise<ScalarOf<SumDTypes[D]> | Tensor<SumDTypes[D]>>
  prod(options?: ReduceOptions): Promise<ScalarOf<SumDTypes[D]> | Tensor<SumDTypes[D]>> {
    return this.#reduce('prod', options)
  }

  /**
   * Variance in `float64`, divided by the number of elements less `ddof`; NaN where that is not positive.
   * From means of what is read at once (a block, or a run of chunks) and the squares of what elements differ
   * from them by, merged by Chan's formula in order: off by at most about (600 + n / 32768 + how many are
   * merged) * 2^-53 of itself, times the root of 1 + mean^2 / variance; where many cells are kept and each is
   * added to once a row, by n * 2^-53.
   * @throws UnsupportedError as for {@link sum}
   */
  variance(options?: ReduceOptions & FoldOptions & Whole): Promise<number>
  variance(options: ReduceOptions & FoldOptions & Along): Promise<Tensor<'float64'>>
  variance(options?: ReduceOptions & FoldOptions): Promise<number | Tensor<'float64'>>
  variance(options?: ReduceOptions & FoldOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('variance', options)
  }

  /**
   * Standard deviation, the root of the {@link variance}; as {@link variance} otherwise.
   * @example
   * const t = generate((i) => i, { dtype: 'float32', shape: [5] })
   * console.log((await t.std()).toFixed(4)) // 1.4142
   */
  std(options?: ReduceOptions & FoldOptions & Whole): Promise<number>
  std(options: ReduceOptions & FoldOptions & Along): Promise<Tensor<'float64'>>
  std(options?: ReduceOptions & FoldOptions): Promise<number | Tensor<'float64'>>
  std(options?: ReduceOptions & FoldOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('std', options)
  }

  /**
   * Number of elements that are not 0, false or empty, or that `where` holds for;
   * with `zeros` of all that are not left out.
   * @throws InvalidArgumentError for an axis that does not exist; whatever `where` throws
   * @example
   * const t = generate((i) => i, { dtype: 'float32', shape: [5] })
   * console.log(await t.count({ where: (x) => x > 2 })) // 2
   */
  count(options?: CountOptions<D> & Whole): Promise<number>
  count(options: CountOptions<D> & Along): Promise<Tensor<'float64'>>
  count(options?: CountOptions<D>): Promise<number | Tensor<'float64'>>
  count(options?: CountOptions<D>): Promise<number | Tensor<'float64'>> {
    return this.#reduce('count', options)
  }

  /**
   * True when an element is not 0, false or empty, or `where` holds for one. Stops where that is known, with
   * nothing read ahead. False of nothing.
   * @throws as {@link count}
   */
  any(options?: TruthOptions<D> & Whole): Promise<boolean>
  any(options: TruthOptions<D> & Along): Promise<Tensor<'bool'>>
  any(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>>
  any(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>> {
    return this.#reduce('any', options)
  }

  /** True when this is so of all elements; as {@link any} otherwise. True of nothing. */
  all(options?: TruthOptions<D> & Whole): Promise<boolean>
  all(options: TruthOptions<D> & Along): Promise<Tensor<'bool'>>
  all(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>>
  all(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>> {
    return this.#reduce('all', options)
  }

  /**
   * The index of the smallest element, of equal ones the first in C order (of the first NaN where there is
   * one and it is not skipped); along one axis the positions on it, -1 where everything was skipped.
   * @throws EmptyReductionError when there is no element to take; InvalidArgumentError for several axes
   */
  argMin(options?: ReduceOptions & Whole): Promise<readonly number[]>
  argMin(options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  argMin(options?: ReduceOptions): Promise<readonly number[] | Tensor<'float64'>>
  argMin(options?: ReduceOptions): Promise<readonly number[] | Tensor<'float64'>> {
    return this.#reduce('argMin', options)
  }

  /** The index of the largest element; as {@link argMin} otherwise. */
  argMax(options?: ReduceOptions & Whole): Promise<readonly number[]>
  argMax(options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  argMax(options?: ReduceOptions): Promise<readonly number[] | Tensor<'float64'>>
  argMax(options?: ReduceOptions): Promise<readonly number[] | Tensor<'float64'>> {
    return this.#reduce('argMax', options)
  }

  /**
   * The different values and how often each is there.
   * @throws TooLargeError when they are more than `limit`; UnsupportedError for binaries
   * @example
   * const t = generate((i) => i % 3, { dtype: 'int8', shape: [7] })
   * const { values, counts } = await t.unique()
   * console.log(values.data) // Int8Array(3) [ 0, 1, 2 ]
   * console.log(counts.data) // Float64Array(3) [ 3, 2, 2 ]
   */
  unique(options: UniqueOptions = {}): Promise<Unique<D>> {
    return this.#reduce('unique', options)
  }

  /**
   * Numbers of elements that lie in each of some bins; 64-bit integers are rounded to `float64`. What lies
   * outside and NaN are not counted.
   * @throws InvalidArgumentError for bins that are none
   * @example
   * const t = generate((i) => i, { dtype: 'float32', shape: [10] })
   * console.log((await t.histogram({ bins: 2 })).counts.data) // Float64Array(2) [ 5, 5 ]
   */
  histogram(options: HistogramOptions = {}): Promise<Histogram> {
    return this.#reduce('histogram', options)
  }

  /**
   * The value that a share `q` (0 to 1; a list gives a leading axis) of the elements is not above, between
   * elements in proportion (numpy's `linear`); in `float64`. NaN of nothing and where there is a NaN that is
   * not skipped.
   *
   * Exact while the elements fit in `maxBytes` as `float64`. A whole array that does not is sketched: counted
   * by value to 12 bits of the mantissa. What that gives is within 2^-12, relatively, of the element of that
   * rank, and the same every time. Along axes, columns of chunks have to fit.
   * @throws InvalidArgumentError for a `q` outside 0 to 1; TooLargeError when a column does not fit
   * @example
   * const t = generate((i) => i, { dtype: 'float32', shape: [11] })
   * console.log(await t.quantile(0.25)) // 2.5
   * console.log((await t.quantile([0.1, 0.9])).data) // Float64Array(2) [ 1, 9 ]
   */
  quantile(q: number, options?: QuantileOptions & Whole): Promise<number>
  quantile(q: number, options: QuantileOptions & Along): Promise<Tensor<'float64'>>
  quantile(q: readonly number[], options?: QuantileOptions): Promise<Tensor<'float64'>>
  quantile(q: number | readonly number[], options?: QuantileOptions): Promise<number | Tensor<'float64'>>
  quantile(q: number | readonly number[], options?: QuantileOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('quantile', options, q)
  }

  /** The {@link quantile} of one half; as {@link quantile} otherwise. */
  median(options?: QuantileOptions & Whole): Promise<number>
  median(options: QuantileOptions & Along): Promise<Tensor<'float64'>>
  median(options?: QuantileOptions): Promise<number | Tensor<'float64'>>
  median(options?: QuantileOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('median', options)
  }

  /**
   * Folds the elements one after another in C order of the array, as `Array.prototype.reduce` does.
   * @throws InvalidArgumentError for what is no function; whatever `fn` throws
   */
  reduce<T>(fn: (accumulated: T, value: ScalarOf<D>) => T, init: T, options: BlockOptions & SkipOptions = {}): Promise<T> {
    return this.#reduce('reduce', options, fn, init)
  }

  /**
   * Maps every element and combines the results with `combine`, which must give the same in any order; `init`
   * is what is there before the first, of every cell. Along axes, results are numbers.
   * @throws InvalidArgumentError for what are no functions
   */
  mapReduce<T>(map: (value: ScalarOf<D>) => T, combine: (a: T, b: T) => T, init: T, options?: ReduceOptions & Whole): Promise<T>
  mapReduce<T>(
    map: (value: ScalarOf<D>) => T,
    combine: (a: T, b: T) => T,
    init: T,
    options: ReduceOptions & Along,
  ): Promise<Tensor<'float64'>>
  mapReduce<T>(
    map: (value: ScalarOf<D>) => T,
    combine: (a: T, b: T) => T,
    init: T,
    options?: ReduceOptions,
  ): Promise<T | Tensor<'float64'>>
  mapReduce<T>(
    map: (value: ScalarOf<D>) => T,
    combine: (a: T, b: T) => T,
    init: T,
    options?: ReduceOptions,
  ): Promise<T | Tensor<'float64'>> {
    return this.#reduce('mapReduce', options, map, combine, init)
  }

  /**
   * Mean in which elements count as the product of the weights of their positions says, `{ lat: cosines }`;
   * NaN where weights add up to 0.
   * @throws InvalidArgumentError when an axis has not as many positions as weights
   */
  weightedMean(weights: Weights, options?: ReduceOptions & Whole): Promise<number>
  weightedMean(weights: Weights, options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  weightedMean(weights: Weights, options?: ReduceOptions): Promise<number | Tensor<'float64'>>
  weightedMean(weights: Weights, options?: ReduceOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('weightedMean', options, weights)
  }

  /**
   * Sums of the elements up to each one along an axis, of the type that sums have; what is skipped adds
   * nothing. With `into` it is written there and not returned.
   * @throws OverflowError; UnsupportedError; InvalidArgumentError and ReadOnlyError for what `into` is not
   *   fit for
   */
  cumsum(axis: Axis, options?: CumulativeOptions<D> & { readonly into?: undefined }): Promise<Tensor<SumDTypes[D]>>
  cumsum(axis: Axis, options: CumulativeOptions<D> & Required<Pick<CumulativeOptions<D>, 'into'>>): Promise<undefined>
  cumsum(axis: Axis, options?: CumulativeOptions<D>): Promise<Tensor<SumDTypes[D]> | undefined>
  cumsum(axis: Axis, options?: CumulativeOptions<D>): Promise<Tensor<SumDTypes[D]> | undefined> {
    return this.#reduce('cumsum', options, axis)
  }

  /**
   * Reduces together the positions of an axis that have the same label: `groupBy('time', months, 'mean')`.
   * Sums are compensated: off by about 2^-53 of themselves.
   * @throws InvalidArgumentError when the axis has not as many positions as there are labels; as the
   *   reduction of that kind otherwise
   * @example
   * const t = generate((i) => i, { dtype: 'float32', shape: [4], dimensionNames: ['time'] })
   * const { labels, values } = await t.groupBy('time', ['DJF', 'DJF', 'JJA', 'JJA'], 'mean')
   * console.log(labels) // [ 'DJF', 'JJA' ]
   * console.log(values.data) // Float64Array(2) [ 0.5, 2.5 ]
   */
  groupBy<L, K extends FoldKind>(
    axis: Axis,
    labels: Iterable<L>,
    kind: K,
    options: GroupOptions = {},
  ): Promise<Grouped<FoldedDType<D, K>, L>> {
    return this.#reduce('groupBy', options, axis, labels, kind)
  }

  /** The lazy array of a source made of this one's; errors of making it name this array. */
  #derive<K extends DType, N extends number>(make: () => BlockSource<K>): DiskArray<K, N> {
    return new DiskArray(named(this.source, make))
  }

  async #iteration(call: Parameters<Iteration['checkIteration']>[0], options: unknown): Promise<Iteration> {
    // Who only reads selections loads none of the bodies.
    const bodies = await iteration()
    bodies.checkIteration(call, options, this.source)
    return bodies
  }

  async #reduce<T>(method: ReducingMethod, options: SkipOptions | undefined, ...given: readonly unknown[]): Promise<T> {
    // Who only reads does not load it.
    const { reduceBy } = await reductions()
    return (await reduceBy(method, this.source as BlockSource, options, given)) as T
  }
}
