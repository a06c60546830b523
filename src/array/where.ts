import { allocate, type DataOf, type DType, type FixedDType, isBigInt, isFixed, toElement } from '../core/dtype.ts'
import { HyperslabError, rethrowWithin } from '../core/errors.ts'
import { ahead, batched } from '../core/in-order.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { Pace } from '../core/pace.ts'
import { stridesOf } from '../core/shape.ts'
import { tensorOf } from '../core/tensor.ts'
import { chunkSize, READ_BYTES } from '../grid/chunks.ts'
import { type Box, boxShape } from '../grid/range.ts'
import { checkBytes, checkChunk, checkElements, MAX_RESULT_BYTES } from './bounds.ts'
import { withOneMissing } from './lazy/missing-as.ts'
import { missingElements } from './missing.ts'
import { checkCall } from './reductions/options.ts'
import { type BlockOptions, type BlockSource, bytesOf, type ChunkFacts, type ChunkScan } from './source.ts'

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

/** Elements that were looked for: their `values` and positions. */
export interface Found<D extends DType> {
  /** Their positions in C order of the whole array, as those of `flat` in numpy. */
  readonly positions: Float64Array
  /** The same as one array of indices for each axis, as `numpy.nonzero` has them. */
  readonly indices: readonly Float64Array[]
  readonly values: DataOf<D>
}

/** Elements of one chunk that were found, ascending. */
export interface FoundInChunk<D extends DType> extends Found<D> {
  /** Chunk coordinates. */
  readonly index: readonly number[]
  /** The part of the array that the chunk covers. */
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
  const { source } = array
  checkCall('where', options, source)
  checkOptions('the range of where', range, RANGE_CHECKS, source.label)
  return new Where(source, range, options)
}

/** The elements that {@link where} looks for. */
export class Where<D extends DType> implements AsyncIterable<FoundInChunk<D>> {
  readonly #source: BlockSource<D>
  readonly #options: WhereOptions
  readonly #maxBytes: number
  readonly #low: number | bigint
  readonly #high: number | bigint
  /** The value passed over. */
  readonly #skipped: number | bigint | undefined
  /** The value that facts of chunks are without. */
  readonly #fill: number | bigint | undefined
  #places = new Uint32Array(0)

  constructor(source: BlockSource<D>, { min, max }: ValueRange, options: WhereOptions) {
    const { dtype, fillValue, label } = source
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
    this.#fill = fillValue === undefined ? undefined : (toElement(dtype, fillValue) as number | bigint)
    this.#skipped =
      options.skipMissing === false ? undefined : (missingElements(this.#source).values[0] as number | bigint | undefined)
  }

  /**
   * Chunk by chunk, those without any left out; in C order of the chunks, or, in containers, of the blocks
   * that hold them.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<FoundInChunk<D>, void, undefined> {
    const { chunks, shape, dtype } = this.#source
    const use = (number: number, elements: DataOf<D>): FoundInChunk<D> => {
      const index = chunks.index(number)
      const box = chunks.box(index)
      const places = this.#placesIn(elements as ArrayLike<number | bigint>)
      const values = allocate(dtype, places.length)
      for (let i = 0; i < places.length; i++) values[i] = elements[places[i]!] as never
      return new Chunk(index, box, positionsOf(places, box, shape), values, shape)
    }
    const chosen = (facts: ChunkFacts | undefined): boolean => this.#known(facts) !== 0
    for await (const found of this.#scan({ choose: (_, facts) => chosen(facts), chooseMissing: chosen, use }))
      if (found.positions.length > 0) yield found
  }

  /**
   * Number of elements; reads only chunks whose statistics do not tell.
   * @throws TooLargeError for a chunk of more than `maxBytes`
   */
  async count(): Promise<number> {
    let count = 0
    const chooseMissing = (facts: ChunkFacts | undefined): boolean => {
      const known = this.#known(facts)
      count += known ?? 0
      return known === undefined
    }
    const use = (_: number, elements: DataOf<D>): number => this.#placesIn(elements as ArrayLike<number | bigint>).length
    const choose = (_: number, facts: ChunkFacts | undefined): boolean => chooseMissing(facts)
    for await (const more of this.#scan({ choose, chooseMissing, use })) count += more
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
    const parts: FoundInChunk<D>[] = []
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

  async *#scan<R>(scan: ChunkScan<D, R>): AsyncGenerator<R, void, undefined> {
    const source = this.#source
    if (this.#low > this.#high) return
    try {
      checkChunk(source, this.#maxBytes)
      yield* source.bulk?.scan?.(scan, this.#options) ?? chunkByChunk(source, scan, this.#options)
    } catch (error) {
      rethrowWithin(error, source.label ?? {})
    }
  }

  /** How many elements of a chunk are in the range, as far as facts tell. */
  #known(facts: ChunkFacts | undefined): number | undefined {
    if (facts === undefined) return undefined
    const { min, max, count, fillCount, exact } = facts
    const fills = fillCount > 0 && this.#skipped !== this.#fill && this.#holds(this.#fill!) ? fillCount : 0
    if (count === 0 || max! < this.#low || min! > this.#high) return exact || fills === 0 ? fills : undefined
    if (!exact) return undefined
    // They may be of elements that are passed over.
    if (this.#skipped !== undefined && this.#skipped !== this.#fill) return undefined
    return this.#holds(min!) && this.#holds(max!) ? count + fills : undefined
  }

  #holds(value: number | bigint): boolean {
    return value >= this.#low && value <= this.#high
  }

  /** Where in a chunk they are; valid until the next call. */
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

class Chunk<D extends DType> implements FoundInChunk<D> {
  readonly index: readonly number[]
  readonly box: Box
  readonly positions: Float64Array
  readonly values: DataOf<D>
  readonly #shape: readonly number[]

  constructor(index: readonly number[], box: Box, positions: Float64Array, values: DataOf<D>, shape: readonly number[]) {
    this.index = index
    this.box = box
    this.positions = positions
    this.values = values
    this.#shape = shape
  }

  get indices(): readonly Float64Array[] {
    return indicesOf(this.positions, this.#shape)
  }
}

/**
 * The chosen chunks of a source that does not scan: those that bulk reads together, others each for itself,
 * some ahead.
 */
async function* chunkByChunk<D extends DType, R>(
  source: BlockSource<D>,
  { choose, use }: ChunkScan<D, R>,
  options: BlockOptions,
): AsyncGenerator<R, void, undefined> {
  const { chunks, dtype } = source
  const limits = { count: 4, bytes: 2 * READ_BYTES, bytesOf: (number: number) => chunkSize(chunks, number) * bytesOf(dtype) }
  const read = async (number: number): Promise<R> => {
    options.signal?.throwIfAborted()
    const box = chunks.box(chunks.index(number))
    const data = tensorOf(dtype, boxShape(box))
    await source.readBlock(box, data, options)
    return use(number, data.data)
  }
  const { bulk } = source
  checkElements(source)
  if (bulk?.read === undefined) {
    function* chosen(): Generator<number> {
      for (let number = 0; number < chunks.count; number++) if (choose(number, undefined)) yield number
    }
    yield* ahead(chosen(), limits, read)
    return
  }
  const statistics = await bulk.statistics?.(options)
  const pace = new Pace(options.signal)
  const together: number[] = []
  for (let number = 0; number < chunks.count; number++) {
    if (pace.due()) await pace.turn()
    if (choose(number, statistics?.(chunks.box(chunks.index(number))))) together.push(number)
  }
  const readTogether = async (numbers: readonly number[]): Promise<R[]> => {
    options.signal?.throwIfAborted()
    const reads = numbers.map((number) => {
      const box = chunks.box(chunks.index(number))
      return { box, out: tensorOf(dtype, boxShape(box)) }
    })
    await bulk.read!(reads, options)
    return reads.map(({ out }, i) => use(numbers[i]!, out.data))
  }
  // Chunks that lie in one block are asked for together.
  for await (const results of ahead(batched(together, READ_BYTES, limits.bytesOf), { count: 2 }, readTogether)) yield* results
}

/** Positions in the array of places in a chunk. */
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
    const shown = typeof value === 'string' ? JSON.stringify(value) : String(value)
    throw new HyperslabError('InvalidArgumentError', `${shown} is no end of a range`, { actual: value })
  }
  if (dtype === 'float32') return Math.fround(Number(end))
  if (!isBigInt(dtype)) return Number(end)
  if (typeof end === 'bigint') return end
  return Number.isFinite(end) ? BigInt(inward(end)) : end > 0 ? highest(dtype) : lowest(dtype)
}
