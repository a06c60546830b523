import { HyperslabError } from '../core/errors.js'
import { checkShape, eachIndex, showShape, sizeOf } from '../core/shape.js'
import type { Box } from './range.js'

/**
 * One axis cut into chunks of `chunkLength`. The first chunk is shortened by `offset`, the last one ends with the axis: chunk k covers
 * `[k * chunkLength - offset, (k + 1) * chunkLength - offset)`, clipped. An axis of length 0 has no chunks.
 */
export class RegularChunks {
  readonly chunkLength: number
  /** Length of the axis. */
  readonly length: number
  readonly offset: number
  /** Number of chunks. */
  readonly count: number

  /** @throws InvalidArgumentError unless chunkLength >= 1, length >= 0 and 0 <= offset < chunkLength, all integers */
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

  /** First position of chunk `k`. */
  start(k: number): number {
    return Math.max(0, k * this.chunkLength - this.offset)
  }

  /** One past the last position of chunk `k`. */
  stop(k: number): number {
    return Math.min(this.length, (k + 1) * this.chunkLength - this.offset)
  }

  /** The chunk that holds `position`. */
  find(position: number): number {
    return Math.floor((position + this.offset) / this.chunkLength)
  }
}

/** The chunks of an array: the product of its axes' chunks, numbered in C order. */
export class ChunkGrid {
  readonly axes: readonly RegularChunks[]
  /** Shape of the array. */
  readonly shape: readonly number[]
  /** Number of chunks along each axis. */
  readonly counts: readonly number[]
  /** Number of chunks. */
  readonly count: number
  /** Nominal shape of a chunk; those at the borders may be smaller. */
  readonly chunkShape: readonly number[]

  constructor(axes: readonly RegularChunks[]) {
    this.axes = axes
    this.shape = axes.map(({ length }) => length)
    this.counts = axes.map(({ count }) => count)
    this.count = sizeOf(this.counts)
    this.chunkShape = axes.map(({ chunkLength }) => chunkLength)
  }

  /**
   * A grid of equal chunks.
   * @throws InvalidArgumentError when the two differ in rank or a chunk length is below 1
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

  /** A grid for an unchunked array: whole trailing axes, about `targetBytes` a chunk. */
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

  /**
   * A grid whose chunks are runs of whole chunks of this one, neighbours in C order, as large as fits in `maxElements`: what to read at
   * once to go through an array in few reads. Where one chunk is larger than that, the grid itself.
   */
  coarsen(maxElements: number): ChunkGrid {
    let size = this.axes.reduce((product, { chunkLength, length }) => product * Math.max(1, Math.min(chunkLength, length)), 1)
    const axes = [...this.axes]
    for (let axis = axes.length - 1; axis >= 0; axis--) {
      const { chunkLength, length, offset, count } = axes[axis]!
      const factor = Math.max(1, Math.min(count, Math.floor(maxElements / size)))
      axes[axis] = new RegularChunks(chunkLength * factor, length, offset)
      size *= factor
      if (factor < count) break
    }
    return new ChunkGrid(axes)
  }

  /** Position of a chunk in C order. */
  number(index: readonly number[]): number {
    let number = 0
    for (let axis = 0; axis < index.length; axis++) number = number * this.counts[axis]! + index[axis]!
    return number
  }

  /** The chunk at a position in C order. */
  index(number: number): number[] {
    const index = new Array<number>(this.counts.length)
    for (let axis = this.counts.length - 1; axis >= 0; axis--) {
      index[axis] = number % this.counts[axis]!
      number = Math.floor(number / this.counts[axis]!)
    }
    return index
  }

  /** The part of the array that a chunk covers. */
  box(index: readonly number[]): Box {
    return index.map((k, axis) => ({ start: this.axes[axis]!.start(k), stop: this.axes[axis]!.stop(k), step: 1 }))
  }

  /** The shape of a chunk, clipped at the borders. */
  shapeOf(index: readonly number[]): number[] {
    return index.map((k, axis) => this.axes[axis]!.stop(k) - this.axes[axis]!.start(k))
  }

  /** Visits every chunk in C order; the index is reused between calls. */
  each(visit: (index: readonly number[]) => void): void {
    eachIndex(this.counts, visit)
  }
}

/** What is read at once when a whole array is gone through: many small chunks, so that each read is worth its overhead. */
export const READ_BYTES = 8 * 1024 * 1024

/** Chunks of unchunked sources: large enough to amortise a request, small enough that a few fit in memory. */
export const DEFAULT_CHUNK_BYTES = 8 * 1024 * 1024
