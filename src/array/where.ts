import { allocate, type DataOf, type DType, type FixedDType, isBigInt, isFixed, toElement } from '../core/dtype.ts'
import { HyperslabError, rethrowWithin } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import { cloneTensor, denseData, isDense, type Tensor } from '../core/tensor.ts'
import { type Box, boxShape, wholeBox } from '../grid/range.ts'
import { checkBytes, MAX_RESULT_BYTES } from './bounds.ts'
import { withOneMissing } from './lazy/missing-as.ts'
import { missingElements } from './missing.ts'
import { sourceOf } from './operand.ts'
import { BLOCK_CHECKS, type BlockOptions, type BlockSource, bytesOf, type PartStats, type PartVisitor } from './source.ts'
import { checkChunk } from './visit.ts'

/**
 * Values from `min` to `max`, both included; what is left out does not bound. For float32, ends are rounded
 * to the type. NaN lies in no range.
 */
export interface ValueRange {
  readonly min?: number | bigint | boolean
  readonly max?: number | bigint | boolean
}

const RANGE_CHECKS: Checks<ValueRange> = { min: 'value', max: 'value' }

/** Options of `where`. */
export interface WhereOptions extends BlockOptions {
  /** Pass over elements that are missing; true when left out. */
  readonly skipMissing?: boolean
  /** Bytes that a chunk, and what `all` gives, may take; 2 GiB when left out. */
  readonly maxBytes?: number
}

const WHERE_CHECKS: Checks<WhereOptions> = { ...BLOCK_CHECKS, skipMissing: 'boolean', maxBytes: 'number from 0' }

/** Elements that were looked for: their `values` and positions. */
export interface Found<D extends DType> {
  /** Their positions in C order of the whole array, as those of `flat` in numpy. */
  readonly positions: Float64Array
  /** The same as one array of indices for each axis, as `numpy.nonzero` has them. */
  readonly indices: readonly Float64Array[]
  readonly values: DataOf<D>
}

/** Elements of one part of the array that were found, ascending. */
export interface FoundInPart<D extends DType> extends Found<D> {
  /** The part: a chunk as it is stored, as far as it belongs to the array. */
  readonly box: Box
}

/** All there are, or some. */
export interface FoundInArray<D extends DType> extends Found<D> {
  /** False where it stopped at the limit: there may be more. */
  readonly complete: boolean
}

/**
 * The elements of an array whose values lie in a range: goes through the chunks once, holding a few MiB of
 * them. Where the source has statistics of its chunks, as containers written by this package have, chunks
 * they rule out are not read. Nothing is read before the result is iterated, counted or collected. Elements
 * that are missing are not found.
 * @throws UnsupportedError for strings and binaries; InvalidArgumentError for ends that are no numbers; when
 *   it is read, TooLargeError for more than `maxBytes`
 * @example
 * const t = generate((i, j) => 10 * i + j, { dtype: 'float32', shape: [2, 3] })
 * console.log(await where(t, { min: 10 }).count()) // 3
 * const { indices } = await where(t, { min: 11 }).all()
 * console.log(indices) // [ Float64Array(2) [ 1, 1 ], Float64Array(2) [ 1, 2 ] ]
 */
export function where<D extends DType>(
  array: { readonly source: BlockSource<D> },
  range: ValueRange,
  options: WhereOptions = {},
): Where<D> {
  const source = sourceOf('where', array)
  checkOptions('where', options, WHERE_CHECKS, source.label)
  checkValue('where', 'range', range, 'plain object', source.label)
  checkOptions('the range of where', range, RANGE_CHECKS, source.label)
  return new Where(source, range, options)
}

/** The elements that {@link where} looks for. */
export class Where<D extends DType> implements AsyncIterable<FoundInPart<D>> {
  readonly #source: BlockSource<D>
  readonly #options: WhereOptions
  readonly #maxBytes: number
  readonly #low: number | bigint
  readonly #high: number | bigint
  /** The value passed over. */
  readonly #skipped: number | bigint | undefined
  /** The value that statistics count apart. */
  readonly #fill: number | bigint | undefined
  #places = new Uint32Array(0)

  constructor(source: BlockSource<D>, { min, max }: ValueRange, options: WhereOptions) {
    const { dtype, label } = source
    try {
      if (!isFixed(dtype))
        throw new HyperslabError('UnsupportedError', `there are no ranges of ${dtype} values`, { actual: dtype })
      this.#low = min === undefined ? lowest(dtype) : endOf(dtype, min, Math.ceil)
      this.#high = max === undefined ? highest(dtype) : endOf(dtype, max, Math.floor)
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
   * Part by part, those without any left out. Parts are chunks as they are stored, cut to the array, in C
   * order of these or, in containers, of the blocks that hold them; arrays put together come one after
   * another.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<FoundInPart<D>, void, undefined> {
    const { shape, dtype } = this.#source
    const visit = (box: Box, tensor: Tensor<D>): FoundInPart<D> => {
      const elements = this.#dense(tensor)
      const places = this.#placesIn(elements)
      const values = allocate(dtype, places.length)
      for (let i = 0; i < places.length; i++) values[i] = elements[places[i]!] as never
      return new Part(box, positionsOf(places, box, shape), values, shape)
    }
    const shouldRead = (_: Box, stats: PartStats | undefined): boolean => this.#known(stats) !== 0
    for await (const found of this.#visit({ shouldRead, visit })) if (found.positions.length > 0) yield found
  }

  /**
   * Number of elements; reads only chunks whose statistics do not tell.
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
   * All in one, in the order of iteration; with `limit`, the first that many.
   * @throws InvalidArgumentError for a limit that is no count
   */
  async all(options: { readonly limit?: number } = {}): Promise<FoundInArray<D>> {
    const { dtype, shape, label } = this.#source
    checkOptions('all', options, { limit: 'number' }, label)
    const { limit = Number.POSITIVE_INFINITY } = options
    if (!(limit >= 0 && (Number.isSafeInteger(limit) || limit === Number.POSITIVE_INFINITY)))
      throw new HyperslabError('InvalidArgumentError', `limit must be a number from 0, got ${limit}`, { ...label, actual: limit })
    const parts: FoundInPart<D>[] = []
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
    return { positions, indices: indicesOf(positions, shape), values, complete: length < limit }
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

  /** How many elements of a part are in the range, as far as statistics tell. */
  #known(stats: PartStats | undefined): number | undefined {
    if (stats === undefined) return undefined
    const { min, max, count, fillCount, exact } = stats
    const fills = fillCount > 0 && this.#skipped !== this.#fill && this.#holds(this.#fill!) ? fillCount : 0
    if (count === 0 || max! < this.#low || min! > this.#high) return exact || fills === 0 ? fills : undefined
    if (!exact) return undefined
    // They may be of elements that are passed over.
    if (this.#skipped !== undefined && this.#skipped !== this.#fill) return undefined
    return this.#holds(min!) && this.#holds(max!) ? count + fills : undefined
  }

  /** The elements of a part in C order. */
  #dense(tensor: Tensor<D>): ArrayLike<number | bigint> {
    const dense = isDense(tensor) ? tensor : cloneTensor(this.#source.dtype, tensor)
    return denseData(dense) as ArrayLike<number | bigint>
  }

  #holds(value: number | bigint): boolean {
    return value >= this.#low && value <= this.#high
  }

  /** Where in a part they are; valid until the next call. */
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

class Part<D extends DType> implements FoundInPart<D> {
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
    return indicesOf(this.positions, this.#shape)
  }
}

/** Positions in the array of places in a part. */
function positionsOf(places: Uint32Array, box: Box, shape: readonly number[]): Float64Array {
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

function indicesOf(positions: Float64Array, shape: readonly number[]): Float64Array[] {
  const stride = stridesOf(shape)
  return shape.map((length, axis) => positions.map((position) => Math.floor(position / stride[axis]!) % length))
}

const lowest = (dtype: FixedDType): number | bigint => (isBigInt(dtype) ? -(2n ** 64n) : Number.NEGATIVE_INFINITY)
const highest = (dtype: FixedDType): number | bigint => (isBigInt(dtype) ? 2n ** 64n : Number.POSITIVE_INFINITY)

/** @param inward to the nearest integer in the range */
function endOf(dtype: FixedDType, value: unknown, inward: (value: number) => number): number | bigint {
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
