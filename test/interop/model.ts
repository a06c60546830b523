import { type ArrayOptions, define } from '../../src/af/format/definition.ts'
import type { AttributeValue, FillValue } from '../../src/af/format/footer.ts'
import { floatFill, type StatValue, toFill } from '../../src/af/format/footer-values.ts'
import { allocate, type DataOf, type DType, isFloat, toElement, zeroOf } from '../../src/core/dtype.ts'
import { sizeOf } from '../../src/core/shape.ts'

export interface ExpectedStats {
  readonly min: StatValue | null
  readonly max: StatValue | null
  readonly nullCount: number
  readonly rowCount: number
}

/** An array as plain data: what both implementations must say of it. */
export class ModelArray {
  readonly name: string
  options: Required<Omit<ArrayOptions, 'fillValue'>> & Pick<ArrayOptions, 'fillValue'>
  readonly fill: FillValue | null
  data: DataOf<DType>
  readonly attributes = new Map<string, AttributeValue>()
  /** Coordinates of chunks that are stored, joined by commas. */
  readonly stored = new Set<string>()
  /** Not in any layer yet. */
  isNew = true

  constructor(name: string, options: ModelArray['options']) {
    const { dtype, shape, fillValue } = options
    this.name = name
    this.options = { ...options, chunks: define(name, options).chunkShape }
    this.fill = fillValue === undefined ? null : toFill(dtype, fillValue)
    this.data = this.#blank(shape)
  }

  #blank(shape: readonly number[]): DataOf<DType> {
    const { dtype, fillValue } = this.options
    const data = allocate(dtype, sizeOf(shape))
    return (data as { fill(value: unknown): DataOf<DType> }).fill(toElement(dtype, fillValue ?? zeroOf(dtype)))
  }

  get dtype(): DType {
    return this.options.dtype
  }

  /** Puts `values` (C order) into the box at `start`. */
  write(start: readonly number[], shape: readonly number[], values: ArrayLike<unknown>): void {
    eachIndexIn(shape, (index, i) => {
      const place = index.map((k, axis) => k + start[axis]!)
      this.data[flat(place, this.options.shape)] = values[i] as never
      this.stored.add(this.#chunkOf(place))
    })
  }

  /**
   * Changes the shape; what is added is fill.
   * @param layered coordinates of chunks that some layer has
   */
  resize(shape: readonly number[], layered: Iterable<string>): void {
    const { data, options } = this
    this.data = this.#blank(shape)
    eachIndexIn(shape, (index, i) => {
      if (index.every((k, axis) => k < options.shape[axis]!)) this.data[i] = data[flat(index, options.shape)]!
    })
    const outside = [...layered].filter((coord) => !this.hasChunk(coord))
    this.options = { ...options, shape }
    for (const coord of this.stored) if (!this.hasChunk(coord)) this.stored.delete(coord)
    // Chunks that were cut off, or are an earlier array's, are stored as fill when they come into the grid.
    if (!this.isNew) for (const coord of outside) if (this.hasChunk(coord)) this.stored.add(coord)
  }

  /** Whether a chunk of this coordinate is in the grid. */
  hasChunk(coord: string): boolean {
    const { shape, chunks: chunkShape } = this.options
    const axes = coord === '' ? [] : coord.split(',').map(Number)
    return axes.length === shape.length && axes.every((k, axis) => k * chunkShape[axis]! < shape[axis]!)
  }

  /** Elements that are fill, or in no stored chunk, are null. */
  stats(): ExpectedStats {
    const { shape } = this.options
    const taken: unknown[] = []
    eachIndexIn(shape, (index, i) => {
      if (this.stored.has(this.#chunkOf(index)) && !this.#isNull(this.data[i])) taken.push(this.data[i])
    })
    const sorted = taken.sort(compare)
    const [min = null, max = null] = [sorted[0], sorted.at(-1)].map((value) => (value === undefined ? null : this.#stat(value)))
    return { min, max, nullCount: sizeOf(shape) - taken.length, rowCount: sizeOf(shape) }
  }

  #chunkOf(index: readonly number[]): string {
    return index.map((k, axis) => Math.floor(k / this.options.chunks[axis]!)).join()
  }

  #isNull(value: unknown): boolean {
    const { fillValue } = this.options
    if (fillValue === undefined) return false
    const fill = toElement(this.dtype, fillValue)
    return value === fill || (Number.isNaN(value) && Number.isNaN(fill))
  }

  #stat(value: unknown): StatValue {
    const { dtype } = this
    if (typeof value === 'string') return { kind: 'bytes', value: new TextEncoder().encode(value) }
    if (value instanceof Uint8Array) return { kind: 'bytes', value }
    if (isFloat(dtype)) return floatFill(value as number)
    if (dtype === 'timestamp_ns') return { kind: dtype, value: value as bigint }
    return { kind: dtype === 'bool' || dtype.startsWith('uint') ? 'uint' : 'int', value: BigInt(value as number) }
  }
}

/** Numbers in IEEE 754's total order, with one NaN, the positive one; strings and binaries by their bytes. */
function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') {
    if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
    return a === b ? Number(Object.is(b, -0)) - Number(Object.is(a, -0)) : a - b
  }
  if (typeof a === 'bigint') return a < (b as bigint) ? -1 : Number(a > (b as bigint))
  return Buffer.compare(Buffer.from(a as string), Buffer.from(b as string))
}

function flat(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((at, k, axis) => at * shape[axis]! + k, 0)
}

function eachIndexIn(shape: readonly number[], visit: (index: number[], i: number) => void): void {
  const size = sizeOf(shape)
  for (let i = 0; i < size; i++) {
    let rest = i
    const index = new Array<number>(shape.length)
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      index[axis] = rest % shape[axis]!
      rest = Math.floor(rest / shape[axis]!)
    }
    visit(index, i)
  }
}

/**
 * A container as plain data, and what its layers still hold of arrays that are gone: the crate lets that show
 * through arrays defined anew.
 */
export class Model {
  readonly arrays = new Map<string, ModelArray>()
  /** Coordinates of all chunks that some layer has, by array name. */
  readonly layered = new Map<string, Set<string>>()
  /** Arrays deleted since the last flush. */
  readonly deleted = new Set<string>()
  /** An attribute was set since the last flush, or before it: then some layer has a dictionary. */
  setsAttributes = false
  hasDictionary = false

  /** Applies a flush: a newly defined array covers everything that lies below it. */
  flush(): void {
    for (const [name, array] of this.arrays) {
      const layered = this.layered.get(name) ?? new Set()
      if (array.isNew) for (const coord of layered) if (array.hasChunk(coord)) array.stored.add(coord)
      array.isNew = false
      this.layered.set(name, new Set([...layered, ...array.stored]))
    }
    this.hasDictionary ||= this.setsAttributes
    this.deleted.clear()
  }

  /**
   * Some layer has chunks of its name outside its grid, which the crate counts in statistics that it writes.
   */
  isOutgrown(array: ModelArray): boolean {
    return [...(this.layered.get(array.name) ?? [])].some((coord) => !array.hasChunk(coord))
  }

  compact(): void {
    this.layered.clear()
    for (const [name, { stored }] of this.arrays) this.layered.set(name, new Set(stored))
  }
}
