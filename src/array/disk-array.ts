import { type DType, readElement, type ScalarOf } from '../core/dtype.js'
import { type ErrorDetails, HyperslabError, rethrowWithin, within } from '../core/errors.js'
import { sameShape, showShape, sizeOf } from '../core/shape.js'
import { copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.js'
import { type ChunkGrid, READ_BYTES } from '../grid/chunks.js'
import { type Plan, plan, type Transfer } from '../grid/plan.js'
import { countChunks } from '../grid/projection.js'
import { type Box, boxShape } from '../grid/range.js'
import { resolveSelection, type Selection } from '../grid/selection.js'
import type { Reduced, ReduceOptions } from './reduce.js'
import { type BlockOptions, type BlockSource, bytesOf, gridOf, type SourceLike } from './source.js'
import { toTensor, type Values } from './values.js'

/** A scalar where every selector is an integer, a tensor otherwise. Integers for fewer than all axes leave the rest: add `null`s to have the type say so. */
export type Selected<D extends DType, S extends Selection> = S extends readonly []
  ? Tensor<D> | ScalarOf<D>
  : S extends readonly number[]
    ? ScalarOf<D>
    : Tensor<D>

export interface GetOptions<D extends DType> extends BlockOptions {
  /** Where to put the result instead of fresh memory; its shape must be that of the result. */
  readonly out?: Tensor<D>
}

export interface AssignOptions extends BlockOptions {
  /** Told after every step. */
  readonly onProgress?: (progress: Progress) => void
}

/** How far long work has come, in chunks. */
export interface Progress {
  readonly done: number
  readonly total: number
}

/** One chunk of an array with its contents. */
export interface Block<D extends DType> {
  /** Chunk coordinates. */
  readonly index: readonly number[]
  /** The part of the array it covers. */
  readonly box: Box
  readonly data: Tensor<D>
}

/**
 * An n-dimensional array whose elements live elsewhere: a handle, holding no data. Reading takes `get`, writing `set`; reductions and
 * `assign` go through the chunks once, holding a few MiB of them at a time.
 */
export class DiskArray<D extends DType = DType> {
  readonly dtype: D
  readonly shape: readonly number[]
  readonly chunks: ChunkGrid
  readonly dimensionNames: readonly string[] | undefined
  readonly fillValue: ScalarOf<D> | undefined
  readonly source: BlockSource<D>

  /** @param source a backend; its `chunks` may be a chunk shape, or missing */
  constructor(source: SourceLike<D>) {
    const chunks = gridOf(source)
    if (!sameShape(chunks.shape, source.shape)) {
      throw new HyperslabError(
        'InvalidArgumentError',
        `the chunk grid covers ${showShape(chunks.shape)}, the array is ${showShape(source.shape)}`,
        { ...source.label, actual: chunks.shape, expected: source.shape },
      )
    }
    this.source = source.chunks === chunks ? (source as BlockSource<D>) : withChunks(source, chunks)
    this.dtype = source.dtype
    this.shape = source.shape
    this.chunks = chunks
    this.dimensionNames = source.dimensionNames
    this.fillValue = source.fillValue
  }

  /** Number of elements. */
  get size(): number {
    return sizeOf(this.shape)
  }

  /** Narrows the type to a data type. */
  is<K extends DType>(dtype: K): this is DiskArray<K> {
    return (this.dtype as DType) === dtype
  }

  /**
   * What reading (or writing) a selection would do, before any I/O.
   * @throws InvalidSelectionError
   */
  plan(selection?: Selection): Plan {
    return this.named(() => plan(resolveSelection(selection, this.shape), this.chunks, this.source.capabilities?.steps ?? false))
  }

  /**
   * Reads a selection: integers (negative ones count from the end) drop their axis, slices and `null` keep it, missing trailing selectors
   * mean `null`. The result is dense, in C order; where every axis is dropped it is the element itself.
   * @throws InvalidSelectionError naming axis and numbers; InvalidArgumentError when `out` has another shape; whatever the source throws
   */
  async get<const S extends Selection = null>(selection?: S, options: GetOptions<D> = {}): Promise<Selected<D, S>> {
    const { shape, fullShape, transfers } = this.plan(selection)
    const result = this.target(shape, options.out)
    // Axes of length 1 may take any stride: seen with the integer axes back in, the result is the same memory.
    const full = { ...result, shape: fullShape, stride: restoreStrides(fullShape, result) }
    for (const transfer of transfers) {
      options.signal?.throwIfAborted()
      await this.read(transfer, full, options)
    }
    return (
      shape.length === 0 && options.out === undefined ? readElement(this.dtype, result.data, result.offset) : result
    ) as Selected<D, S>
  }

  /**
   * Writes a selection: one value for all of it, elements in C order, or a tensor of its shape. Where the source takes no steps, what lies
   * between the selected positions is read first and written back.
   * @throws ReadOnlyError when the source does not take writes; InvalidSelectionError; InvalidArgumentError when the values do not fit
   */
  async set(selection: Selection, values: Values<D>, options: BlockOptions = {}): Promise<void> {
    if (this.source.writeBlock === undefined) throw this.readOnly()
    const { shape, fullShape, transfers } = this.plan(selection)
    const given = this.named(() => toTensor(this.dtype, values, shape))
    const full = { ...given, shape: fullShape, stride: restoreStrides(fullShape, given) }
    for (const { box, inner, outer } of transfers) {
      options.signal?.throwIfAborted()
      const part = viewTensor(full, outer)
      if (inner === null) await this.source.writeBlock(box, part, options)
      else {
        const hull = tensorOf(this.dtype, boxShape(box))
        await this.source.readBlock(box, hull, options)
        copyTensor(part, viewTensor(hull, inner))
        await this.source.writeBlock(box, hull, options)
      }
    }
  }

  /** The chunks in C order of the grid, one read each, one in memory at a time. */
  async *blocks(options: BlockOptions = {}): AsyncGenerator<Block<D>> {
    for (let number = 0; number < this.chunks.count; number++) {
      options.signal?.throwIfAborted()
      const index = this.chunks.index(number)
      const box = this.chunks.box(index)
      const data = tensorOf(this.dtype, boxShape(box))
      await this.source.readBlock(box, data, options)
      yield { index, box, data }
    }
  }

  /**
   * Copies another array of this shape and type into this one, some chunks of this one at a time.
   * @throws InvalidArgumentError when shape or type differ; whatever reading and writing throw
   */
  async assign(from: DiskArray, options: AssignOptions = {}): Promise<void> {
    if (!sameShape(from.shape, this.shape) || from.dtype !== this.dtype) {
      const [actual, expected] = [`${from.dtype} ${showShape(from.shape)}`, `${this.dtype} ${showShape(this.shape)}`]
      throw new HyperslabError('InvalidArgumentError', `${actual} cannot be assigned to ${expected}`, {
        ...this.source.label,
        actual,
        expected,
      })
    }
    if (this.source.writeBlock === undefined) throw this.readOnly()
    const chunks = this.chunks.coarsen(READ_BYTES / bytesOf(this.dtype))
    const total = this.chunks.count
    let done = 0
    for (let number = 0; number < chunks.count; number++) {
      options.signal?.throwIfAborted()
      const box = chunks.box(chunks.index(number))
      const data = tensorOf(this.dtype, boxShape(box))
      await from.source.readBlock(box, data as Tensor, options)
      await this.source.writeBlock(box, data, options)
      done += countChunks(box, this.chunks)
      options.onProgress?.({ done, total })
    }
  }

  /**
   * Sum over everything or along `axis`. Integers are added exactly: the result is `float64` for types up to 32 bits, a 64-bit type for
   * 64-bit ones; floats are added in `float64`. The sum of nothing is 0.
   * @throws OverflowError when a 64-bit sum along an axis does not fit; UnsupportedError for strings, binaries and timestamps
   */
  sum<const O extends ReduceOptions>(options?: O): Promise<Reduced<D, 'sum', O>> {
    return this.reduced('sum', options)
  }

  /**
   * Smallest element; NaN where there is one and it is not skipped. Along an axis, cells where everything was skipped are the fill value.
   * @throws EmptyReductionError when there is no element to take
   */
  min<const O extends ReduceOptions>(options?: O): Promise<Reduced<D, 'min', O>> {
    return this.reduced('min', options)
  }

  /** Largest element; as {@link min} otherwise. */
  max<const O extends ReduceOptions>(options?: O): Promise<Reduced<D, 'max', O>> {
    return this.reduced('max', options)
  }

  /** Arithmetic mean in `float64`; NaN where there is no element to take. */
  mean<const O extends ReduceOptions>(options?: O): Promise<Reduced<D, 'mean', O>> {
    return this.reduced('mean', options)
  }

  /** Shape, type and chunks; never reads data. */
  toString(): string {
    const names = this.dimensionNames === undefined ? '' : ` (${this.dimensionNames.join(', ')})`
    const { count, chunkShape } = this.chunks
    return `DiskArray ${this.dtype} ${showShape(this.shape)}${names}, ${count} ${count === 1 ? 'chunk' : 'chunks'} of ${showShape(chunkShape)}`
  }

  /** What Node, Deno and Bun print. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString()
  }

  private async reduced<K extends 'sum' | 'min' | 'max' | 'mean', O extends ReduceOptions>(
    kind: K,
    options: O | undefined,
  ): Promise<Reduced<D, K, O>> {
    // Who only reads does not load it.
    const { reduce } = await import('./reduce.js')
    return (await within(this.source.label ?? {}, () => reduce(this.source, kind, options ?? {}))) as Reduced<D, K, O>
  }

  private async read({ box, inner, outer }: Transfer, full: Tensor<D>, options: BlockOptions): Promise<void> {
    const place = viewTensor(full, outer)
    if (inner === null) return this.source.readBlock(box, place, options)
    const hull = tensorOf(this.dtype, boxShape(box))
    await this.source.readBlock(box, hull, options)
    copyTensor(viewTensor(hull, inner), place)
  }

  private target(shape: readonly number[], out: Tensor<D> | undefined): Tensor<D> {
    if (out === undefined) return tensorOf(this.dtype, shape)
    if (sameShape(out.shape, shape)) return out
    throw new HyperslabError('InvalidArgumentError', `out has shape ${showShape(out.shape)}, the selection ${showShape(shape)}`, {
      ...this.source.label,
      actual: out.shape,
      expected: shape,
    })
  }

  private readOnly(): HyperslabError {
    return new HyperslabError('ReadOnlyError', 'this array cannot be written', this.source.label)
  }

  /** Errors of planning name this array. */
  private named<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      return rethrowWithin(error, (this.source.label ?? {}) as ErrorDetails)
    }
  }
}

/** Strides for `fullShape`, which is the shape of `tensor` with axes of length 1 added. */
function restoreStrides(fullShape: readonly number[], { shape, stride }: Tensor): number[] {
  let axis = 0
  return fullShape.map((length) => (length === shape[axis] && axis < shape.length ? stride[axis++]! : 0))
}

function withChunks<D extends DType>(source: SourceLike<D>, chunks: ChunkGrid): BlockSource<D> {
  return {
    dtype: source.dtype,
    shape: source.shape,
    chunks,
    dimensionNames: source.dimensionNames,
    fillValue: source.fillValue,
    ...(source.capabilities && { capabilities: source.capabilities }),
    ...(source.label && { label: source.label }),
    readBlock: (box, out, options) => source.readBlock(box, out, options),
    ...(source.writeBlock && { writeBlock: (box, values, options) => source.writeBlock!(box, values, options) }),
    ...(source.reduceBox && {
      reduceBox: (box, reduction, take, options) => source.reduceBox!(box, reduction, take, options),
    }),
  }
}
