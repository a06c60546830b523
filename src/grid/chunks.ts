import { HyperslabError } from '../core/errors.ts'
import { checkShape, coordsAt, eachIndex, showShape, sizeOf } from '../core/shape.ts'
import type { Box } from './range.ts'

/**
 * An axis divided into chunks: {@link RegularChunks} or {@link IrregularChunks}. An axis of length 0 has no
 * chunks.
 */
export interface AxisChunks {
  /** Nominal length of a chunk, which is the maximum. */
  readonly chunkLength: number
  /** Length of the axis. */
  readonly length: number
  /** Positions by which the first regular chunk is shortened; 0 for irregular chunks. */
  readonly offset: number
  /** Number of chunks. */
  readonly count: number
  /** First position of chunk `k`. */
  start(k: number): number
  /** One past the last position of chunk `k`. */
  stop(k: number): number
  /** Returns the stored length of chunk `k`. Some formats store full chunks beyond the end of the axis. */
  storedLength(k: number): number
  /** Returns the chunk that contains `position`. */
  find(position: number): number
  /** Merges neighbouring chunks into runs of at most `maxLength` positions; a longer chunk stays alone. */
  coarsen(maxLength: number): AxisChunks
}

/**
 * An axis divided into chunks of `chunkLength`. The first chunk is shortened by `offset`, and the last one
 * ends with the axis. Chunk k covers `[k * chunkLength - offset, (k + 1) * chunkLength - offset)`, clipped.
 * An axis of length 0 has no chunks.
 */
export class RegularChunks implements AxisChunks {
  readonly chunkLength: number
  readonly length: number
  readonly offset: number
  readonly count: number

  /**
   * Divides an axis.
   * @throws InvalidArgumentError unless chunkLength >= 1, length >= 0 and 0 <= offset < chunkLength, all
   *   integers
   */
  constructor(chunkLength: number, length: number, offset = 0) {
    const valid =
      [chunkLength, length, offset].every(Number.isSafeInteger) &&
      chunkLength >= 1 &&
      length >= 0 &&
      offset >= 0 &&
      offset < chunkLength
    if (!valid) {
      throw new HyperslabError(
        'InvalidArgumentError',
        `chunks need chunkLength >= 1, length >= 0 and 0 <= offset < chunkLength, got ${chunkLength}, ${length} and ${offset}`,
        { actual: { chunkLength, length, offset } },
      )
    }
    this.chunkLength = chunkLength
    this.length = length
    this.offset = offset
    this.count = length === 0 ? 0 : Math.ceil((length + offset) / chunkLength)
  }

  start(k: number): number {
    return Math.max(0, k * this.chunkLength - this.offset)
  }

  stop(k: number): number {
    return Math.min(this.length, (k + 1) * this.chunkLength - this.offset)
  }

  storedLength(k: number): number {
    return this.stop(k) - this.start(k)
  }

  find(position: number): number {
    return Math.floor((position + this.offset) / this.chunkLength)
  }

  coarsen(maxLength: number): RegularChunks {
    const factor = Math.max(1, Math.min(this.count, Math.floor(maxLength / this.chunkLength)))
    return factor === 1 ? this : new RegularChunks(this.chunkLength * factor, this.length, this.offset)
  }

  toString(): string {
    const { chunkLength, length, offset } = this
    return `${length} in chunks of ${chunkLength}${offset === 0 ? '' : `, the first at ${-offset}`}`
  }
}

/** Chunks of an array: the product of the chunks of its axes, numbered in C order. */
export class ChunkGrid {
  /** The chunks of each axis. */
  readonly axes: readonly AxisChunks[]
  /** Shape of the array. */
  readonly shape: readonly number[]
  /** Number of chunks along each axis. */
  readonly counts: readonly number[]
  /** Number of chunks. */
  readonly count: number
  /** Nominal shape of a chunk; chunks at the ends of an axis may be smaller. */
  readonly chunkShape: readonly number[]

  constructor(axes: readonly AxisChunks[]) {
    this.axes = axes
    this.shape = axes.map(({ length }) => length)
    this.counts = axes.map(({ count }) => count)
    this.count = sizeOf(this.counts)
    this.chunkShape = axes.map(({ chunkLength }) => chunkLength)
  }

  /**
   * Creates a grid of equal chunks.
   * @throws InvalidArgumentError if the shapes differ in rank or a chunk length is below 1
   */
  static regular(shape: readonly number[], chunkShape: readonly number[]): ChunkGrid {
    checkShape(shape, 'shape')
    checkShape(chunkShape, 'chunk shape')
    if (shape.length !== chunkShape.length) {
      throw new HyperslabError(
        'InvalidArgumentError',
        `chunk shape ${showShape(chunkShape)} has ${chunkShape.length} axes, the array ${showShape(shape)} has ${shape.length}`,
        { actual: chunkShape, expected: shape },
      )
    }
    return new ChunkGrid(shape.map((length, axis) => new RegularChunks(chunkShape[axis]!, length)))
  }

  /** Creates a grid for an unchunked array: whole trailing axes, about `targetBytes` per chunk. */
  static estimate(shape: readonly number[], elementBytes: number, targetBytes = DEFAULT_CHUNK_BYTES): ChunkGrid {
    let room = Math.max(1, Math.floor(targetBytes / elementBytes))
    const chunkShape = [...shape]
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const length = Math.max(1, Math.min(shape[axis]!, room))
      chunkShape[axis] = length
      room = Math.max(1, Math.floor(room / length))
    }
    return ChunkGrid.regular(shape, chunkShape)
  }

  /** Mean length of the chunks along each axis, which need not be an integer; 0 along an axis of length 0. */
  get meanChunkShape(): number[] {
    return this.axes.map(({ length, count }) => (count === 0 ? 0 : length / count))
  }

  /**
   * Length of the largest chunk along each axis. It is less than {@link chunkShape} where no chunk has the
   * nominal length.
   */
  get largestChunkShape(): number[] {
    return this.axes.map((axis) => {
      if (!(axis instanceof RegularChunks)) return axis.count === 0 ? 0 : axis.chunkLength
      // All chunks between the first and the last have the length of the second.
      const some = [0, 1, axis.count - 1].filter((k) => k >= 0 && k < axis.count)
      return Math.max(0, ...some.map((k) => axis.stop(k) - axis.start(k)))
    })
  }

  /**
   * Number of positions by which the first chunk along each axis is shorter than the others; 0 for irregular
   * chunks.
   */
  get offsets(): number[] {
    return this.axes.map(({ offset }) => offset)
  }

  /**
   * Merges chunks that are neighbours in C order into runs of at most `maxElements` elements. Reading run by
   * run processes an array in few reads. Returns this grid if one chunk is larger than that.
   */
  coarsen(maxElements: number): ChunkGrid {
    const axes = [...this.axes]
    const lengthOf = ({ chunkLength, length }: AxisChunks): number => Math.max(1, Math.min(chunkLength, length))
    let size = sizeOf(axes.map(lengthOf))
    for (let axis = axes.length - 1; axis >= 0; axis--) {
      const others = size / lengthOf(axes[axis]!)
      const coarse = axes[axis]!.coarsen(Math.floor(maxElements / others))
      axes[axis] = coarse
      size = others * lengthOf(coarse)
      if (coarse.count > 1) break
    }
    return new ChunkGrid(axes)
  }

  /** Returns the number of a chunk in C order. */
  chunkIndex(index: readonly number[]): number {
    let chunkIndex = 0
    for (let axis = 0; axis < index.length; axis++) chunkIndex = chunkIndex * this.counts[axis]! + index[axis]!
    return chunkIndex
  }

  /** Returns the coordinates of the chunk with a number in C order. */
  index(chunkIndex: number): number[] {
    return coordsAt(chunkIndex, this.counts)
  }

  /** Returns the coordinates of the chunk that contains the element at `index`. */
  find(index: readonly number[]): number[] {
    return index.map((position, axis) => this.axes[axis]!.find(position))
  }

  /**
   * Returns the part of the array that a chunk covers.
   * @throws InvalidSelectionError if the chunk does not exist
   */
  box(index: readonly number[]): Box {
    if (index.length !== this.counts.length || !index.every((k, axis) => k >= 0 && k < this.counts[axis]!)) {
      throw new HyperslabError(
        'InvalidSelectionError',
        `there is no chunk ${showShape(index)} in ${showShape(this.counts)} chunks`,
        {
          actual: index,
          expected: this.counts,
        },
      )
    }
    return index.map((k, axis) => ({ start: this.axes[axis]!.start(k), stop: this.axes[axis]!.stop(k), step: 1 }))
  }

  /** Returns the shape of a chunk, clipped at the end of the array. */
  shapeOf(index: readonly number[]): number[] {
    return index.map((k, axis) => this.axes[axis]!.stop(k) - this.axes[axis]!.start(k))
  }

  /** Whether the other grid divides an array of this shape into the same chunks. */
  equals(other: ChunkGrid): boolean {
    return this.axes.length === other.axes.length && this.axes.every((chunks, axis) => sameChunks(chunks, other.axes[axis]!))
  }

  /** Returns text such as `[2, 3] chunks: 10 in chunks of 5; 7 in chunks of 3, 3, 1`. */
  toString(): string {
    return `${showShape(this.counts)} chunks: ${this.axes.join('; ')}`
  }

  /** Visits every chunk in C order; the index is reused between calls. */
  each(visit: (index: readonly number[]) => void): void {
    eachIndex(this.counts, visit)
  }
}

/** Returns the number of elements in a chunk, given its number in C order. */
export function chunkSize({ axes, counts }: ChunkGrid, chunkIndex: number): number {
  let size = 1
  for (let axis = axes.length - 1; axis >= 0; axis--) {
    const chunk = chunkIndex % counts[axis]!
    chunkIndex = Math.floor(chunkIndex / counts[axis]!)
    size *= axes[axis]!.stop(chunk) - axes[axis]!.start(chunk)
  }
  return size
}

/** Yields the boxes of all chunks, in C order. */
export function* chunkBoxes(grid: ChunkGrid): Generator<Box, void> {
  for (let chunkIndex = 0; chunkIndex < grid.count; chunkIndex++) yield grid.box(grid.index(chunkIndex))
}

/** Whether two axes are divided into the same chunks, regular or not. */
export function sameChunks(a: AxisChunks, b: AxisChunks): boolean {
  if (a === b) return true
  if (a.length !== b.length || a.count !== b.count) return false
  // The first two boundaries of regular chunks determine all others.
  const cuts = a instanceof RegularChunks && b instanceof RegularChunks ? Math.min(2, a.count - 1) : a.count - 1
  for (let k = 0; k < cuts; k++) if (a.stop(k) !== b.stop(k)) return false
  return true
}

/**
 * Bytes per read when a whole array is processed. Small chunks are merged, so that each read is worth its
 * overhead.
 */
export const READ_BYTES = 8 * 1024 * 1024

/**
 * Chunk size of unchunked sources: large enough to amortise a request, small enough that a few fit in memory.
 */
const DEFAULT_CHUNK_BYTES = 8 * 1024 * 1024
