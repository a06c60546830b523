import { checkDType, type DataOf, type DType, type ScalarOf } from '../core/dtype.ts'
import { within } from '../core/errors.ts'
import { Printable } from '../core/inspect.ts'
import { lazily } from '../core/lazily.ts'
import { showShape, sizeOf } from '../core/shape.ts'
import type { Tensor } from '../core/tensor.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { PlanOptions } from '../grid/plan.ts'
import type { Selection } from '../grid/selection.ts'
import type { Axis, AxisOption } from './axes.ts'
import { completeSource } from './complete-source.ts'
import { type GetAsOptions, type GetOptions, getSelection, named, type ReadPlan, resolveChecked } from './get.ts'
import type { Block, BlocksOptions, EqualsOptions } from './iteration.ts'
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
import type { ProgressOptions, ValuesAsOptions, ValuesOptions } from './read-whole.ts'
import type { CumulativeOptions } from './reductions/cumulative-sum.ts'
import type { FoldedDType, FoldKind, FoldOptions, RankKind, SumDTypes } from './reductions/fold-kinds.ts'
import type { GroupByResult } from './reductions/group-by.ts'
import type { Histogram, HistogramOptions } from './reductions/histogram.ts'
import type { CountOptions, GroupOptions, TruthOptions } from './reductions/options.ts'
import type { QuantileOptions } from './reductions/quantile.ts'
import type { DescribeOptions, DescribeResult, ReduceOptions } from './reductions/reduce.ts'
import type { ReducingMethod } from './reductions/reductions.ts'
import type { SkipOptions } from './reductions/rows.ts'
import type { Unique, UniqueOptions } from './reductions/unique.ts'
import type { Weights } from './reductions/weighted-mean.ts'
import type { Selected } from './selected.ts'
import {
  type BlockOptions,
  type BlockSource,
  checkWritable,
  type NamedValues,
  type SourceLike,
  type SourceOptions,
} from './source.ts'
import { TRANSFER_CHECKS, type TransferOptions } from './transfers.ts'
import type { Values } from './values.ts'

const iteration = lazily(() => import('./iteration.ts'))
const wholeReads = lazily(() => import('./read-whole.ts'))
// Starts both imports in parallel.
const reductions = lazily(async () => {
  const [module] = await Promise.all([import('./reductions/reductions.ts'), iteration()])
  return module
})

type Iteration = typeof import('./iteration.ts')

/** Option types of a reduction of everything, and of one along axes. */
type Whole = { readonly axis?: undefined }
type Along = { readonly axis: AxisOption }

/** Minimum and maximum, of one type. */
type Extrema<T> = Record<'min' | 'max', T>

/**
 * An n-dimensional array whose elements are stored elsewhere: a handle without data. `get` reads, `set`
 * writes. Reductions and copies process the chunks once, holding a few MiB at a time.
 *
 * Arrays derived from it (`view`, `transpose`, `map`...) are lazy: reading one reads the parts that it needs
 * from this array. They keep the chunks, and accept writes if each of their elements is one of this array.
 *
 * Results of reductions do not depend on the order in which chunks arrive. With `axis`, a reduction returns a
 * tensor of the other axes; `keepDims` keeps the reduced ones with length 1. Without `axis`, it returns one
 * value. Missing elements, and NaN in floats, are skipped, unless `skipMissing` is false. If all elements are
 * missing, `sum` and `count` return 0, `mean` returns NaN, and `min` throws. Along axes, the minimum of such
 * a cell is NaN, for integers the missing value.
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
  /** Backend that elements are read from and written to. */
  readonly source: BlockSource<D>

  /**
   * @param source a backend; its `chunks` may be a chunk shape, or missing
   * @param options for estimating missing chunks, and the rule for reads of single elements
   * @throws InvalidArgumentError for an invalid source, or a grid of another shape
   */
  constructor(source: SourceLike<D>, options?: SourceOptions) {
    super()
    this.source = completeSource(source, options)
  }

  /** Data type of the elements. */
  get dtype(): D {
    return this.source.dtype
  }

  /** Length of each axis. */
  get shape(): readonly number[] {
    return this.source.shape
  }

  /** Number of axes. */
  get rank(): R {
    return this.shape.length as R
  }

  /** Chunks that the array is divided into. */
  get chunks(): ChunkGrid {
    return this.source.chunks
  }

  /** Name of each axis, if the axes have names. */
  get dimensionNames(): readonly string[] | undefined {
    return this.source.dimensionNames
  }

  /** Value of unwritten elements; undefined if it is zero and does not mean missing. */
  get fillValue(): ScalarOf<D> | undefined {
    return this.source.fillValue
  }

  /** Values of missing elements. In containers, this is the fill value. */
  get missing(): Missing<D> {
    return missingOf(this.source)
  }

  /**
   * Attributes of the elements; undefined if there are none. Views, transposed and rechunked arrays, and
   * caches keep the attributes. Combined arrays keep the attributes that all their parts share. Computed
   * arrays have none.
   */
  get attrs(): NamedValues | undefined {
    return this.source.attrs
  }

  /** Number of elements. */
  get size(): number {
    return sizeOf(this.shape)
  }

  /**
   * Returns class, name, type, shape and chunks: `FileArray { 'tas', float32 [12, 180], chunks [1, 180] }`.
   * Never reads data.
   */
  override toString(): string {
    const { array } = this.source.label ?? {}
    const names = this.dimensionNames === undefined ? '' : ` (${this.dimensionNames.join(', ')})`
    const facts = `${this.dtype} ${showShape(this.shape)}${names}, chunks ${showShape(this.chunks.chunkShape)}`
    return `${this.constructor.name} { ${array === undefined ? '' : `'${array}', `}${facts} }`
  }

  /**
   * Narrows the type to a data type and, if given, to a rank.
   * @throws InvalidArgumentError for an unknown data type
   */
  is<K extends DType, N extends number = R>(dtype: K, rank?: N): this is DiskArray<K, N> {
    checkDType(dtype)
    return (this.dtype as DType) === dtype && (rank === undefined || this.shape.length === rank)
  }

  /**
   * Returns what reading (or writing) a selection will cost, before any I/O. For lists and points of a view,
   * the transfers are those of the array that it is a view of.
   * @throws InvalidSelectionError for an invalid selection; InvalidArgumentError for invalid options;
   *   TooLargeError for more than 2^20 reads
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'float32', shape: [20, 30], chunks: [5, 10] })
   * const { shape, chunks, bytes } = await t.plan([slice(0, 6), 3])
   * console.log(shape, chunks, bytes) // [ 6 ] 2 24
   */
  async plan(selection?: Selection, options: PlanOptions = {}): Promise<ReadPlan> {
    return (await iteration()).planRead(this.source, selection, options)
  }

  /**
   * Reads a selection (see {@link Selection}): every combination of the positions that its selectors select.
   * Integers (negative ones count from the end) drop their axis. The result is dense, in C order. If all
   * selectors are integers and no axis is left, it is the element itself.
   *
   * After an abort, `get` rejects once the source has stopped its reads.
   * @throws InvalidSelectionError naming axis and numbers; InvalidArgumentError if `out` does not fit;
   *   TooLargeError for more than `maxBytes`; any error of the source
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
   * Writes a selection. Values are one value for all elements, the elements in C order, nested arrays, or a
   * tensor of its shape. If several values apply to one element, the last one wins. Unselected elements that
   * the write has to include are read first and written back.
   * @throws ReadOnlyError if the source is read-only; InvalidSelectionError for an invalid selection;
   *   InvalidArgumentError if the values do not fit
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const x = file.createArray('x', { dtype: 'float32', shape: [2, 3] })
   * await x.set([0], [1, 2, 3])
   * await x.set([1, slice(1, 3)], 7)
   * console.log((await x.get()).data) // Float32Array(6) [ 1, 2, 3, 0, 7, 7 ]
   */
  async set(selection: Selection, values: Values<D>, options: TransferOptions = {}): Promise<void> {
    const { source } = this
    const resolved = resolveChecked('set', source, selection, options, TRANSFER_CHECKS)
    options.signal?.throwIfAborted()
    checkWritable(source)
    // Loaded lazily: read-only programs never pay for it.
    const { writeResolved } = await import('./write.ts')
    await writeResolved(source, resolved, values, options)
  }

  /**
   * Yields the chunks in C order of the grid, one read each; some are read ahead. Each chunk has memory of
   * its own. Leaving the loop early aborts the reads under way.
   * @throws TooLargeError for chunks of more than `maxBytes`; any error of the source
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
   * Yields the elements in C order of the array, holding at most 64 MiB. Each chunk is read once if a row of
   * chunks fits into half of that. Otherwise, it is read once for each part of it that fits.
   * @throws any error of the source
   * @example
   * const t = generate((i) => i * i, { dtype: 'int32', shape: [4] })
   * let last = 0
   * for await (const value of t.elements()) last = value
   * console.log(last) // 9
   */
  async *elements(options: BlockOptions = {}): AsyncGenerator<ScalarOf<D>, void> {
    yield* (await this.#iteration('elements', options)).elements(this.source, options)
  }

  /** Same as {@link elements}, for `for await`. */
  [Symbol.asyncIterator](): AsyncGenerator<ScalarOf<D>, void> {
    return this.elements()
  }

  /**
   * Reads the whole array as a dense tensor.
   * @throws TooLargeError for more than 2 GiB
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'int8', shape: [2, 2] })
   * console.log((await t.toTensor()).data) // Int8Array(4) [ 0, 1, 10, 11 ]
   */
  async toTensor(options: ProgressOptions = {}): Promise<Tensor<D>> {
    const { checkWholeRead, readTensor } = await wholeReads()
    checkWholeRead('toTensor', options, this.source)
    return readTensor(this.source, options)
  }

  /**
   * Reads the whole array as a typed array in C order; for strings and binaries, as a list.
   * @throws as {@link toTensor}; InvalidArgumentError if `out` is of another type or length
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'int8', shape: [2, 2] })
   * console.log(await t.values()) // Int8Array(4) [ 0, 1, 10, 11 ]
   * console.log(await t.values({ as: 'float32' })) // Float32Array(4) [ 0, 1, 10, 11 ]
   */
  async values(options?: ValuesOptions<D>): Promise<DataOf<D>>
  async values<K extends DType>(options: ValuesAsOptions<K>): Promise<DataOf<K>>
  async values(options: ValuesOptions<D> = {}): Promise<DataOf<D>> {
    const { checkWholeRead, readValues } = await wholeReads()
    checkWholeRead('values', options, this.source)
    return readValues(this.source, options)
  }

  /**
   * Whether another array has the same shape, type and elements. Reads both chunk by chunk and stops at the
   * first difference.
   * @throws any error of the sources
   */
  async equals(other: DiskArray, options: EqualsOptions = {}): Promise<boolean> {
    return (await this.#iteration('equals', options)).equalElements(this.source, other, options)
  }

  /**
   * Copies another array of this shape and type into this one, some chunks at a time. Missing elements of the
   * other array become missing here. If that array has no missing values, it is copied unchanged: elements
   * equal to a missing value of this array then become missing.
   * @throws InvalidArgumentError if shape or type differ, or for a missing element if this array has no
   *   missing value (NaN stays NaN). Also if an element that is not missing there would become missing here;
   *   ReadOnlyError if this array is read-only; any error of the sources
   */
  async copyFrom(from: DiskArray, options: ProgressOptions = {}): Promise<void> {
    const { assignWhole } = await this.#iteration('copyFrom', options)
    await assignWhole('copyFrom', from, this, options)
  }

  /**
   * Copies this array into another one; the reverse of {@link copyFrom}.
   * @throws as {@link copyFrom}
   */
  async copyTo(to: DiskArray, options: ProgressOptions = {}): Promise<void> {
    const { assignWhole } = await this.#iteration('copyTo', options)
    await assignWhole('copyTo', this, to, options)
  }

  /**
   * Writes one value to the whole array, some chunks at a time.
   * @throws ReadOnlyError if the array is read-only; InvalidArgumentError if the value is not of the
   *   array's type
   */
  async fill(value: ScalarOf<D>, options: ProgressOptions = {}): Promise<void> {
    const { fillWhole } = await this.#iteration('fill', options)
    await within(this.source.label ?? {}, () => fillWhole(this.source, value, options))
  }

  /**
   * Returns a selection of this array as a lazy array. It reads as few blocks as `get`. A view that has an
   * element of this array twice is read-only. Along points, masks of several axes and nested lists, the
   * chunks are runs of positions with at most 2^20 elements. Further positions read a block again that an
   * earlier chunk has read, unless they are sorted by chunks of this array.
   * @throws InvalidSelectionError naming axis and numbers
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
   * Returns the array with its axes in another order; by default reversed.
   * @param order for each axis of the result its axis here, by number or name
   * @throws InvalidArgumentError unless each axis is named once
   * @example
   * const t = generate((i, j) => i + j, { dtype: 'int32', shape: [2, 3], dimensionNames: ['lat', 'lon'] })
   * console.log(t.transpose().shape, t.transpose(['lon', 'lat']).shape) // [ 3, 2 ] [ 3, 2 ]
   */
  transpose(order?: readonly Axis[]): DiskArray<D, R> {
    return this.#derive(() => transpose(this.source, order))
  }

  /**
   * Returns the elements in C order under another shape, as long as whole chunks stay whole.
   * @param shape one length may be -1, which stands for the remaining elements
   * @throws InvalidArgumentError if sizes differ; UnsupportedError if chunks would be split: use `rechunk`
   *   first
   */
  reshape<const S extends readonly number[]>(shape: S): DiskArray<D, S['length']> {
    return this.#derive(() => reshape(this.source, shape))
  }

  /**
   * Returns the array without axes of length 1: the named ones, or all.
   * @throws InvalidArgumentError if a named axis has another length
   */
  squeeze(axis?: AxisOption): DiskArray<D> {
    return this.#derive(() => squeeze(this.source, axis))
  }

  /**
   * Returns the array with a new axis of length 1.
   * @param axis its number in the result; negative ones count from the end
   * @param name of the dimension
   * @throws InvalidArgumentError if the axis number is out of range
   */
  expandDims(axis: number, name?: string): DiskArray<D> {
    return this.#derive(() => expandDims(this.source, axis, name))
  }

  /**
   * Returns the array reversed along the named axes, or along all.
   * @throws InvalidArgumentError if an axis does not exist
   */
  flip(axis?: AxisOption): DiskArray<D, R> {
    return this.#derive(() => flip(this.source, axis))
  }

  /**
   * Returns the array with positions added around it, filled with one value or with the nearest elements. The
   * result is read-only.
   * @param widths before and after each axis; one number for all
   * @throws InvalidArgumentError unless widths are non-negative integers, one per axis
   */
  pad(widths: number | readonly Padding[], options?: PadOptions<D>): DiskArray<D, R> {
    return this.#derive(() => pad(this.source, widths, options))
  }

  /**
   * Returns the array with other chunks: operations on the result process it by these. Storage does not
   * change; see {@link rechunkTo}.
   * @throws InvalidArgumentError if the grid has another shape
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [8, 8], chunks: [1, 8] })
   * console.log(t.rechunk([4, 4]).chunks.count) // 4
   */
  rechunk(chunks: ChunkGrid | readonly number[]): DiskArray<D, R> {
    return this.#derive(() => rechunk(this.source, chunks))
  }

  /**
   * Returns the array with a cache of its chunks in memory. Chunks are kept once they are read, as many as
   * fit.
   * @throws InvalidArgumentError for invalid options
   */
  cache(options?: CacheOptions): DiskArray<D, R> {
    return this.#derive(() => cache(this.source, options))
  }

  /**
   * Returns the array converted to another data type. Conversion to integers truncates fractions; conversion
   * to bool maps non-zero values to true.
   * @throws UnsupportedError between strings, binaries or timestamps and other types; when read,
   *   InvalidArgumentError for elements that are out of range
   * @example
   * const t = generate((i) => i / 2, { dtype: 'float64', shape: [4] })
   * console.log((await t.astype('int8').get()).data) // Int8Array(4) [ 0, 0, 1, 1 ]
   */
  astype<K extends DType>(dtype: K): DiskArray<K, R> {
    return this.#derive(() => astype(this.source, dtype))
  }

  /**
   * Returns the array with a function applied to each element.
   * @throws when read, InvalidArgumentError if a result is not a value of the data type
   * @example
   * const kelvin = generate((i) => 280 + i, { dtype: 'float32', shape: [3] })
   * const celsius = kelvin.map((t) => t - 273)
   * console.log((await celsius.get()).data) // Float32Array(3) [ 7, 8, 9 ]
   */
  map<K extends DType = D>(fn: (value: ScalarOf<D>) => ScalarOf<K>, options?: MapOptions<D, K>): DiskArray<K, R> {
    return this.#derive(() => map(this.source, fn, options))
  }

  /**
   * Copies this array into one with other chunks. Each chunk of the target is written once and whole; each
   * chunk of this array is read once if memory allows. Missing elements are treated as by {@link copyFrom}.
   * @throws InvalidArgumentError if shapes or types differ, and as `copyFrom` does; ReadOnlyError if the
   *   target is read-only
   * @example
   * const t = generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [8, 8], chunks: [1, 8] })
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const columns = file.createArray('columns', { dtype: 'int32', shape: [8, 8], chunks: [8, 1] })
   * await t.rechunkTo(columns)
   * console.log(await columns.get([7, 7])) // 77
   */
  async rechunkTo(target: DiskArray<D>, options?: RechunkOptions): Promise<void> {
    const { rechunkTo } = await import('./lazy/rechunk-to.ts')
    await within(this.source.label ?? {}, () => rechunkTo(this.source, target, options))
  }

  /**
   * Returns the sum of all elements or along `axis`. Integers are added exactly: the result is `float64` for
   * types up to 32 bits, a 64-bit type for 64-bit ones. Floats are added in `float64`. The sum of no elements
   * is 0. The error of a sum of n floats is at most about (280 + log2(n)) * 2^-53 of the sum of their
   * magnitudes. If many cells are kept and each grows once per row, it is at most n * 2^-53 of that sum.
   * @throws OverflowError if a 64-bit sum does not fit; UnsupportedError for strings, binaries and
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
   * Returns the smallest element; NaN if there is a NaN that is not skipped. Along an axis, a cell
   * whose elements are all skipped is NaN, for integers the missing value.
   * @throws EmptyReductionError if there are no elements; if nothing can be skipped, also along an axis
   *   of length 0
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

  /** Returns the largest element; as {@link min} otherwise. */
  max(options?: ReduceOptions & Whole): Promise<ScalarOf<D>>
  max(options: ReduceOptions & Along): Promise<Tensor<D>>
  max(options?: ReduceOptions): Promise<ScalarOf<D> | Tensor<D>>
  max(options?: ReduceOptions): Promise<ScalarOf<D> | Tensor<D>> {
    return this.#reduce('max', options)
  }

  /** Returns minimum and maximum in one pass; as {@link min} otherwise. */
  extrema(options?: ReduceOptions & Whole): Promise<Extrema<ScalarOf<D>>>
  extrema(options: ReduceOptions & Along): Promise<Extrema<Tensor<D>>>
  extrema(options?: ReduceOptions): Promise<Extrema<ScalarOf<D>> | Extrema<Tensor<D>>>
  extrema(options?: ReduceOptions): Promise<Extrema<ScalarOf<D>> | Extrema<Tensor<D>>> {
    return this.#reduce('extrema', options)
  }

  /**
   * Returns the arithmetic mean in `float64`; NaN if there are no elements.
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
   * Returns the product: in `float64`, exact for 64-bit integers. The product of no elements is 1.
   * @throws OverflowError if a 64-bit product does not fit; UnsupportedError as for {@link sum}
   */
  prod(options?: ReduceOptions & Whole): Promise<ScalarOf<SumDTypes[D]>>
  prod(options: ReduceOptions & Along): Promise<Tensor<SumDTypes[D]>>
  prod(options?: ReduceOptions): Promise<ScalarOf<SumDTypes[D]> | Tensor<SumDTypes[D]>>
  prod(options?: ReduceOptions): Promise<ScalarOf<SumDTypes[D]> | Tensor<SumDTypes[D]>> {
    return this.#reduce('prod', options)
  }

  /**
   * Returns the variance in `float64`, divided by the number of elements minus `ddof`; NaN if that is not
   * positive. It combines the means and squared deviations of parts (a block, or a run of chunks) by Chan's
   * formula, in order. The relative error is at most about (600 + n / 32768 + number of parts) * 2^-53, times
   * the root of 1 + mean^2 / variance. If many cells are kept and each grows once per row, it is at most n *
   * 2^-53.
   * @throws UnsupportedError as for {@link sum}
   */
  variance(options?: ReduceOptions & FoldOptions & Whole): Promise<number>
  variance(options: ReduceOptions & FoldOptions & Along): Promise<Tensor<'float64'>>
  variance(options?: ReduceOptions & FoldOptions): Promise<number | Tensor<'float64'>>
  variance(options?: ReduceOptions & FoldOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('variance', options)
  }

  /**
   * Returns the standard deviation, the root of the {@link variance}; as {@link variance} otherwise.
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
   * Returns number of elements, missing elements, minimum, maximum, mean and standard deviation together,
   * from one read of each chunk. Each has the bits that the method of its name returns with `ignoreStats`;
   * `missing` counts the skipped elements. Without elements, the extremes are undefined (along axes as for
   * {@link min}), mean and deviation NaN. Times have no mean and no deviation: both are NaN.
   *
   * With `std: false`, chunks are not read if their stored statistics suffice.
   * @throws UnsupportedError for strings and binaries
   * @example
   * const t = generate((i) => i, { dtype: 'int16', shape: [5], fillValue: 4 })
   * const { count, missing, min, max, mean } = await t.describe()
   * console.log(count, missing, min, max, mean) // 4 1 0 3 1.5
   * const rows = generate((i, j) => 10 * i + j, { dtype: 'int16', shape: [2, 3] })
   * console.log((await rows.describe({ axis: 1 })).mean.data) // Float64Array(2) [ 1, 11 ]
   */
  describe(options?: DescribeOptions & Whole): Promise<DescribeResult<number, ScalarOf<D> | undefined>>
  describe(options: DescribeOptions & Along): Promise<DescribeResult<Tensor<'float64'>, Tensor<D>>>
  describe(
    options?: DescribeOptions,
  ): Promise<DescribeResult<number, ScalarOf<D> | undefined> | DescribeResult<Tensor<'float64'>, Tensor<D>>>
  describe(
    options?: DescribeOptions,
  ): Promise<DescribeResult<number, ScalarOf<D> | undefined> | DescribeResult<Tensor<'float64'>, Tensor<D>>> {
    return this.#reduce('describe', options)
  }

  /**
   * Returns the number of elements that are not missing, or of those that satisfy `where`.
   * @throws InvalidArgumentError for an axis that does not exist; any error of `where`
   * @example
   * const t = generate((i) => i, { dtype: 'float32', shape: [5] })
   * console.log(await t.count(), await t.count({ where: (x) => x > 2 })) // 5 2
   */
  count(options?: CountOptions<D> & Whole): Promise<number>
  count(options: CountOptions<D> & Along): Promise<Tensor<'float64'>>
  count(options?: CountOptions<D>): Promise<number | Tensor<'float64'>>
  count(options?: CountOptions<D>): Promise<number | Tensor<'float64'>> {
    return this.#reduce('count', options)
  }

  /**
   * Returns the number of elements that are not 0, false or empty; as {@link count} otherwise.
   * @example
   * const t = generate((i) => i, { dtype: 'float32', shape: [5] })
   * console.log(await t.countNonzero()) // 4
   */
  countNonzero(options?: ReduceOptions & Whole): Promise<number>
  countNonzero(options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  countNonzero(options?: ReduceOptions): Promise<number | Tensor<'float64'>>
  countNonzero(options?: ReduceOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('countNonzero', options)
  }

  /**
   * Whether any element is not 0, false or empty, or satisfies `where`. Stops as soon as the result is known,
   * and reads nothing ahead. False if there are no elements.
   * @throws as {@link count}
   */
  any(options?: TruthOptions<D> & Whole): Promise<boolean>
  any(options: TruthOptions<D> & Along): Promise<Tensor<'bool'>>
  any(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>>
  any(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>> {
    return this.#reduce('any', options)
  }

  /**
   * Whether all elements are not 0, false or empty, or satisfy `where`; as {@link any} otherwise. True if
   * there are no elements.
   */
  all(options?: TruthOptions<D> & Whole): Promise<boolean>
  all(options: TruthOptions<D> & Along): Promise<Tensor<'bool'>>
  all(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>>
  all(options?: TruthOptions<D>): Promise<boolean | Tensor<'bool'>> {
    return this.#reduce('all', options)
  }

  /**
   * Returns the position of the smallest element in C order, as numpy does; of equal ones, the first. `get`
   * takes it as `linear(position)`. If there is a NaN that is not skipped, it is the position of the first
   * NaN. Along one axis, returns positions on it, -1 for cells whose elements are all skipped.
   * @throws EmptyReductionError if there are no elements; if nothing can be skipped, also along an axis
   *   of length 0; InvalidArgumentError for several axes
   * @example
   * const t = generate((i, j) => (i - 1) * (j - 2), { dtype: 'int16', shape: [3, 4] })
   * const position = await t.argMin()
   * console.log(position, await t.get(linear(position))) // 8 -2
   */
  argMin(options?: ReduceOptions & Whole): Promise<number>
  argMin(options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  argMin(options?: ReduceOptions): Promise<number | Tensor<'float64'>>
  argMin(options?: ReduceOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('argMin', options)
  }

  /** Returns the position of the largest element; as {@link argMin} otherwise. */
  argMax(options?: ReduceOptions & Whole): Promise<number>
  argMax(options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  argMax(options?: ReduceOptions): Promise<number | Tensor<'float64'>>
  argMax(options?: ReduceOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('argMax', options)
  }

  /**
   * Returns the distinct values and the number of each.
   * @throws TooLargeError for more than `limit` values; UnsupportedError for binaries
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
   * Returns the number of elements in each bin; 64-bit integers are rounded to `float64`. NaN and elements
   * outside the bins are not counted.
   * @throws InvalidArgumentError for invalid bins
   * @example
   * const t = generate((i) => i, { dtype: 'float32', shape: [10] })
   * console.log((await t.histogram({ bins: 2 })).counts.data) // Float64Array(2) [ 5, 5 ]
   */
  histogram(options: HistogramOptions = {}): Promise<Histogram> {
    return this.#reduce('histogram', options)
  }

  /**
   * Returns the `q`-quantile (0 to 1; a list adds a leading axis) in `float64`, linearly interpolated as by
   * numpy's `linear`. NaN if there are no elements, or if there is a NaN that is not skipped.
   *
   * The result is exact if the elements fit into `maxBytes` as `float64`. A larger whole array is sketched:
   * elements are counted by value to 12 bits of the mantissa. The result is then within 2^-12, relatively, of
   * the element of that rank, and reproducible. Along axes, columns of chunks have to fit.
   * @throws InvalidArgumentError for a `q` outside 0 to 1; TooLargeError if a column does not fit
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

  /** Returns the {@link quantile} of one half; as {@link quantile} otherwise. */
  median(options?: QuantileOptions & Whole): Promise<number>
  median(options: QuantileOptions & Along): Promise<Tensor<'float64'>>
  median(options?: QuantileOptions): Promise<number | Tensor<'float64'>>
  median(options?: QuantileOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('median', options)
  }

  /**
   * Folds the elements one after another in C order of the array, as `Array.prototype.reduce` does.
   * @throws InvalidArgumentError if `fn` is not a function; any error of `fn`
   */
  reduce<T>(fn: (accumulated: T, value: ScalarOf<D>) => T, init: T, options: BlockOptions & SkipOptions = {}): Promise<T> {
    return this.#reduce('reduce', options, fn, init)
  }

  /**
   * Maps every element and combines the results with `combine`, which must be associative and commutative.
   * Each cell starts with `init`. Along axes, results are numbers.
   * @throws InvalidArgumentError if `map` or `combine` is not a function
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
   * Returns the weighted mean; NaN if the weights add up to 0. An element weighs the product of the weights
   * of its positions: `{ lat: cosines }`.
   * @throws InvalidArgumentError if an axis has another number of positions than weights
   */
  weightedMean(weights: Weights, options?: ReduceOptions & Whole): Promise<number>
  weightedMean(weights: Weights, options: ReduceOptions & Along): Promise<Tensor<'float64'>>
  weightedMean(weights: Weights, options?: ReduceOptions): Promise<number | Tensor<'float64'>>
  weightedMean(weights: Weights, options?: ReduceOptions): Promise<number | Tensor<'float64'>> {
    return this.#reduce('weightedMean', options, weights)
  }

  /**
   * Returns the cumulative sums along an axis, of the type that sums have; skipped elements add nothing. With
   * `into`, the result is written to that array and not returned.
   * @throws OverflowError if a 64-bit sum does not fit; UnsupportedError as for {@link sum};
   *   InvalidArgumentError or ReadOnlyError if `into` does not fit or is read-only
   */
  cumsum(axis: Axis, options?: CumulativeOptions<D> & { readonly into?: undefined }): Promise<Tensor<SumDTypes[D]>>
  cumsum(axis: Axis, options: CumulativeOptions<D> & Required<Pick<CumulativeOptions<D>, 'into'>>): Promise<undefined>
  cumsum(axis: Axis, options?: CumulativeOptions<D>): Promise<Tensor<SumDTypes[D]> | undefined>
  cumsum(axis: Axis, options?: CumulativeOptions<D>): Promise<Tensor<SumDTypes[D]> | undefined> {
    return this.#reduce('cumsum', options, axis)
  }

  /**
   * Reduces the positions of an axis that have the same label together: `groupBy('time', months, 'mean')`.
   * Sums are compensated: their relative error is about 2^-53. For a `'median'` and a `'quantile'` (`{ q: 0.9
   * }`), one group after another is held, and a chunk is read once for each group in it.
   * @throws InvalidArgumentError if the axis has another number of positions than labels; otherwise as the
   *   reduction of that kind
   * @example
   * const t = generate((i) => i, { dtype: 'float32', shape: [4], dimensionNames: ['time'] })
   * const { labels, values } = await t.groupBy('time', ['DJF', 'DJF', 'JJA', 'JJA'], 'mean')
   * console.log(labels) // [ 'DJF', 'JJA' ]
   * console.log(values.data) // Float64Array(2) [ 0.5, 2.5 ]
   */
  groupBy<L, K extends FoldKind | RankKind>(
    axis: Axis,
    labels: Iterable<L>,
    kind: K,
    options: GroupOptions = {},
  ): Promise<GroupByResult<FoldedDType<D, K>, L>> {
    return this.#reduce('groupBy', options, axis, labels, kind)
  }

  /** Returns the lazy array of a source derived from this one's; errors of deriving it name this array. */
  #derive<K extends DType, N extends number>(make: () => BlockSource<K>): DiskArray<K, N> {
    return new DiskArray(named(this.source, make))
  }

  async #iteration(call: Parameters<Iteration['checkIteration']>[0], options: unknown): Promise<Iteration> {
    // Programs that only read selections load none of the iteration.
    const bodies = await iteration()
    bodies.checkIteration(call, options, this.source)
    return bodies
  }

  async #reduce<T>(method: ReducingMethod, options: SkipOptions | undefined, ...given: readonly unknown[]): Promise<T> {
    // Loaded lazily: programs that only read never pay for it.
    const { reduceBy } = await reductions()
    return (await reduceBy(method, this.source as BlockSource, options, given)) as T
  }
}
