import { cloneTensor, isDense } from '../core/dense.ts'
import { allocate, type DataOf, type DType, type FixedDType, isBigInt, isFixed, toElement } from '../core/dtype.ts'
import { HyperslabError, rethrowWithin } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import { denseData, type Tensor } from '../core/tensor.ts'
import { type Box, boxShape, wholeBox } from '../grid/range.ts'
import { checkBytes, MAX_RESULT_BYTES } from './bounds.ts'
import { withOneMissing } from './lazy/replace-missing.ts'
import { missingElements, type SkipMissingOptions } from './missing.ts'
import { sourceOf } from './operand.ts'
import { BLOCK_CHECKS, type BlockOptions, type BlockSource, bytesOf, type PartStats, type PartVisitor } from './source.ts'
import { checkChunk } from './visit.ts'

/**
 * Range of values from `min` to `max`, both included and both optional. For float32, both are rounded to the
 * type. NaN is in no range.
 */
export interface ValueRange {
  readonly min?: number | bigint | boolean
  readonly max?: number | bigint | boolean
}

const RANGE_CHECKS: Checks<ValueRange> = { min: 'value', max: 'value' }

/** Options of `findWhere`. */
export interface FindWhereOptions extends BlockOptions, SkipMissingOptions {
  /** Largest chunk, and largest result of `all`, in bytes; default 2 GiB. */
  readonly maxBytes?: number
}

const WHERE_CHECKS: Checks<FindWhereOptions> = { ...BLOCK_CHECKS, skipMissing: 'boolean', maxBytes: 'number from 0' }

/** Elements that were found: their `values` and positions. */
export interface WhereMatch<D extends DType> {
  /** Positions in C order of the whole array, as those of `flat` in numpy. */
  readonly positions: Float64Array
  /** The same as one array of indices for each axis, as in `numpy.nonzero`. */
  readonly indices: readonly Float64Array[]
  readonly values: DataOf<D>
}

/** Elements found in one part of the array, in ascending order. */
export interface WhereMatchInPart<D extends DType> extends WhereMatch<D> {
  /** The part: a stored chunk, clipped to the array. */
  readonly box: Box
}

/** All elements found, or the first ones. */
export interface WhereMatchInArray<D extends DType> extends WhereMatch<D> {
  /** Whether the search was complete; false if it stopped at the limit. */
  readonly complete: boolean
}

/**
 * Searches the elements of an array whose values are in a range. Processes the chunks once, holding a few MiB
 * of them. If the source has statistics of its chunks, as containers written by this package do, chunks
 * without a match are not read. Nothing is read before the result is iterated, counted or collected. Missing
 * elements are not found.
 * @throws UnsupportedError for strings and binaries; InvalidArgumentError for bounds that are not numbers;
 *   when read, TooLargeError for more than `maxBytes`
 * @example
 * const t = generate((i, j) => 10 * i + j, { dtype: 'float32', shape: [2, 3] })
 * console.log(await findWhere(t, { min: 10 }).count()) // 3
 * const { indices } = await findWhere(t, { min: 11 }).all()
 * console.log(indices) // [ Float64Array(2) [ 1, 1 ], Float64Array(2) [ 1, 2 ] ]
 */
export function findWhere<D extends DType>(
  array: { readonly source: BlockSource<D> },
  range: ValueRange,
  options: FindWhereOptions = {},
): WhereSearch<D> {
  const source = sourceOf('findWhere', array)
  checkOptions('findWhere', options, WHERE_CHECKS, source.label)
  checkValue('findWhere', 'range', range, 'plain object', source.label)
  checkOptions('the range of findWhere', range, RANGE_CHECKS, source.label)
  return new WhereSearch(source, range, options)
}

/** The elements that {@link findWhere} finds. */
export class WhereSearch<D extends DType> implements AsyncIterable<WhereMatchInPart<D>> {
  readonly #source: BlockSource<D>
  readonly #options: FindWhereOptions
  readonly #maxBytes: number
  readonly #low: number | bigint
  readonly #high: number | bigint
  readonly #skipped: number | bigint | undefined
  /** The value that statistics count separately. */
  readonly #fill: number | bigint | undefined
  #places = new Uint32Array(0)

  constructor(source: BlockSource<D>, { min, max }: ValueRange, options: FindWhereOptions) {
    const { dtype, label } = source
    try {
      if (!isFixed(dtype))
        throw new HyperslabError('UnsupportedError', `there are no ranges of ${dtype} values`, { actual: dtype })
      this.#low = min === undefined ? lowest(dtype) : roundBound(dtype, min, Math.ceil)
      this.#high = max === undefined ? highest(dtype) : roundBound(dtype, max, Math.floor)
    } catch (error) {
      rethrowWithin(error, label ?? {})
    }
    this.#source = withOneMissing(source, options)
    this.#options = options
    this.#maxBytes = options.maxBytes ?? MAX_RESULT_BYTES
    const { fillValue } = this.#source
    this.#fill = fillValue === undefined ? undefined : (toElement(dtype, fillValue) as number | bigint)
    this.#skipped =
      options.skipMissing === false ? undefined : (missingElements(this.#source).values[0] as number | bigint | undefined)
  }

  /**
   * Yields the elements part by part, without empty parts. Parts are stored chunks, clipped to the array, in
   * C order of the chunks or, in containers, of their blocks. Combined arrays come one after another.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<WhereMatchInPart<D>, void, undefined> {
    const { shape, dtype } = this.#source
    const visit = (box: Box, tensor: Tensor<D>): WhereMatchInPart<D> => {
      const elements = this.#dense(tensor)
      const places = this.#placesIn(elements)
      const values = allocate(dtype, places.length)
      for (let i = 0; i < places.length; i++) values[i] = elements[places[i]!] as never
      return new Part(box, toPositions(places, box, shape), values, shape)
    }
    const shouldRead = (_: Box, stats: PartStats | undefined): boolean => this.#known(stats) !== 0
    for await (const found of this.#visit({ shouldRead, visit })) if (found.positions.length > 0) yield found
  }

  /**
   * Returns the number of elements; reads only chunks whose statistics do not suffice.
   * @throws TooLargeError for a chunk of more than `maxBytes`
   */
  async count(): Promise<number> {
    let count = 0
    const shouldRead = (_: Box, stats: PartStats | undefined): boolean => {
      const known = this.#known(stats)
      count += known ?? 0
      return known === undefined
    }
    const visit = (_: Box, tensor: Tensor<D>): number => this.#placesIn(this.#dense(tensor)).length
    for await (const more of this.#visit({ shouldRead, visit })) count += more
    return count
  }

  /**
   * Collects all elements in the order of iteration; with `limit`, the first ones.
   * @throws InvalidArgumentError for an invalid limit
   */
  async all(options: { readonly limit?: number } = {}): Promise<WhereMatchInArray<D>> {
    const { dtype, shape, label } = this.#source
    checkOptions('all', options, { limit: 'number' }, label)
    const { limit = Number.POSITIVE_INFINITY } = options
    if (!(limit >= 0 && (Number.isSafeInteger(limit) || limit === Number.POSITIVE_INFINITY)))
      throw new HyperslabError('InvalidArgumentError', `limit must be a number from 0, got ${limit}`, { ...label, actual: limit })
    const parts: WhereMatchInPart<D>[] = []
    let length = 0
    if (limit > 0) {
      for await (const part of this) {
        parts.push(part)
        length += part.positions.length
        const bytes = length * (8 * (shape.length + 1) + bytesOf(dtype))
        checkBytes(this.#source, bytes, this.#maxBytes, 'what was found', 'go through it chunk by chunk, or set a limit')
        if (length >= limit) break
      }
    }
    const positions = new Float64Array(Math.min(length, limit))
    const values = allocate(dtype, positions.length)
    let at = 0
    for (const part of parts) {
      for (let i = 0; i < part.positions.length && at < positions.length; i++, at++) {
        positions[at] = part.positions[i]!
        values[at] = part.values[i] as never
      }
    }
    return { positions, indices: toIndices(positions, shape), values, complete: length < limit }
  }

  async *#visit<R>(visitor: PartVisitor<D, R>): AsyncGenerator<R, void, undefined> {
    const source = this.#source
    if (this.#low > this.#high || sizeOf(source.shape) === 0) return
    try {
      checkChunk(source, this.#maxBytes)
      const { visitParts } = await import('./visit.ts')
      yield* visitParts(source, wholeBox(source.shape), visitor, this.#options)
    } catch (error) {
      rethrowWithin(error, source.label ?? {})
    }
  }

  /** Returns the number of matching elements of a part, if statistics determine it. */
  #known(stats: PartStats | undefined): number | undefined {
    if (stats === undefined) return undefined
    const { min, max, count, fillCount, exact } = stats
    const fills = fillCount > 0 && this.#skipped !== this.#fill && this.#holds(this.#fill!) ? fillCount : 0
    if (count === 0 || max! < this.#low || min! > this.#high) return exact || fills === 0 ? fills : undefined
    if (!exact) return undefined
    // Statistics may include elements that are skipped.
    if (this.#skipped !== undefined && this.#skipped !== this.#fill) return undefined
    return this.#holds(min!) && this.#holds(max!) ? count + fills : undefined
  }

  /** Returns the elements of a part in C order. */
  #dense(tensor: Tensor<D>): ArrayLike<number | bigint> {
    const dense = isDense(tensor) ? tensor : cloneTensor(this.#source.dtype, tensor)
    return denseData(dense) as ArrayLike<number | bigint>
  }

  #holds(value: number | bigint): boolean {
    return value >= this.#low && value <= this.#high
  }

  /** Returns the indices of matching elements in a part; valid until the next call. */
  #placesIn(elements: ArrayLike<number | bigint>): Uint32Array {
    const [low, high, skipped] = [this.#low, this.#high, this.#skipped]
    if (this.#places.length < elements.length) this.#places = new Uint32Array(elements.length)
    const places = this.#places
    let count = 0
    for (let i = 0; i < elements.length; i++) {
      const value = elements[i]!
      if (value >= low && value <= high && value !== skipped) places[count++] = i
    }
    return places.subarray(0, count)
  }
}

class Part<D extends DType> implements WhereMatchInPart<D> {
  readonly box: Box
  readonly positions: Float64Array
  readonly values: DataOf<D>
  readonly #shape: readonly number[]

  constructor(box: Box, positions: Float64Array, values: DataOf<D>, shape: readonly number[]) {
    this.box = box
    this.positions = positions
    this.values = values
    this.#shape = shape
  }

  get indices(): readonly Float64Array[] {
    return toIndices(this.positions, this.#shape)
  }
}

/** Converts indices in a part to positions in the array. */
function toPositions(places: Uint32Array, box: Box, shape: readonly number[]): Float64Array {
  const lengths = boxShape(box)
  const stride = stridesOf(shape)
  const first = box.reduce((sum, { start }, axis) => sum + start * stride[axis]!, 0)
  const positions = new Float64Array(places.length)
  for (let i = 0; i < places.length; i++) {
    let place = places[i]!
    let position = first
    for (let axis = lengths.length - 1; axis >= 0; axis--) {
      const length = lengths[axis]!
      position += (place % length) * stride[axis]!
      place = Math.floor(place / length)
    }
    positions[i] = position
  }
  return positions
}

function toIndices(positions: Float64Array, shape: readonly number[]): Float64Array[] {
  const stride = stridesOf(shape)
  return shape.map((length, axis) => positions.map((position) => Math.floor(position / stride[axis]!) % length))
}

const lowest = (dtype: FixedDType): number | bigint => (isBigInt(dtype) ? -(2n ** 64n) : Number.NEGATIVE_INFINITY)
const highest = (dtype: FixedDType): number | bigint => (isBigInt(dtype) ? 2n ** 64n : Number.POSITIVE_INFINITY)

/** @param inward rounds to the nearest integer in the range */
function roundBound(dtype: FixedDType, value: unknown, inward: (value: number) => number): number | bigint {
  const end = typeof value === 'boolean' ? Number(value) : value
  if ((typeof end !== 'number' && typeof end !== 'bigint') || Number.isNaN(end)) {
    const shown = quoted(value)
    throw new HyperslabError('InvalidArgumentError', `${shown} is no end of a range`, { actual: value })
  }
  if (dtype === 'float32') return Math.fround(Number(end))
  if (!isBigInt(dtype)) return Number(end)
  if (typeof end === 'bigint') return end
  return Number.isFinite(end) ? BigInt(inward(end)) : end > 0 ? highest(dtype) : lowest(dtype)
}
