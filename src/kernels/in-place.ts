import { type AxisIndices, isListed } from '../core/axis-indices.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import type { Arena } from './arena.ts'
import { compute } from './compute.ts'
import { copyStrided, type ElementBytes } from './copy.ts'
import { copyPlaces } from './pick.ts'

/** A range of a file and the requested elements in it. */
export interface StoredRead {
  /** Position of the first element in the file, in bytes. */
  readonly offset: number
  /** Bytes from the first element to the end of the last. */
  readonly length: number
  /** Positions of the elements along each axis, in bytes from the first. */
  readonly axes: readonly AxisIndices[]
  /** Number of elements in the reads before this one. */
  readonly before: number
}

/** Uncompressed elements in a file, as data that can be sent to other threads. */
export interface StoredElements {
  /** Stored bytes of an element. */
  readonly elementBytes: number
  /** Whether elements are numbers with the most significant byte first. */
  readonly bigEndian: boolean
  readonly count: number
  readonly reads: readonly StoredRead[]
}

const VECTOR = Uint8Array.from({ length: 16 }, (_, i) => i)
/** Number of bytes behind the elements that {@link swapBytes} may write. */
const SWAP_MARGIN = 16

/**
 * Reverses the bytes of each of some contiguous elements. May also change up to 15 bytes behind them.
 * @param bytes a multiple of `elementBytes`
 */
export function swapBytes(arena: Arena, pointer: number, bytes: number, elementBytes: ElementBytes): void {
  if (elementBytes === 1 || bytes === 0) return
  // Within an element, XOR with `elementBytes - 1` maps the index of a byte to that of its counterpart.
  arena.scratch(() => compute(arena).swap(pointer, bytes, arena.put(VECTOR.map((i) => i ^ (elementBytes - 1)))))
}

/**
 * Copies elements into kernel memory, one after another, and converts numbers to little-endian. Returns their
 * address.
 * @param fill writes the bytes of a read; returns false if it cannot
 * @returns undefined if a read was not filled
 * @throws OutOfMemoryError if the memory cannot hold them
 */
export function putStored(
  arena: Arena,
  { elementBytes, bigEndian, count, reads }: StoredElements,
  fill: (read: StoredRead, into: Uint8Array) => boolean,
): number | undefined {
  const pointer = arena.alloc(count * elementBytes + SWAP_MARGIN)
  for (const read of reads) {
    const target = pointer + read.before * elementBytes
    const { length } = read
    const size = sizeOf(read.axes.map((axis) => axis.length))
    const filled = arena.scratch(() => {
      const isDense = length === size * elementBytes
      const at = isDense ? target : arena.alloc(length)
      if (!fill(read, arena.bytes(at, length))) return false
      if (!isDense) copyTogether(arena, elementBytes, read, at, target)
      return true
    })
    if (!filled) return undefined
    // Swapped right after the copy, while the bytes are in the cache. The bytes behind them are not written
    // yet.
    if (bigEndian) swapBytes(arena, target, size * elementBytes, elementBytes as ElementBytes)
  }
  return pointer
}

/** Copies the elements of a read, without the gaps between them. */
function copyTogether(arena: Arena, elementBytes: number, { axes }: StoredRead, src: number, dst: number): void {
  const shape = axes.map(({ length }) => length)
  const dense = stridesOf(shape)
  if (axes.some(isListed)) {
    const bytes = { start: 0, step: 1, length: elementBytes }
    const outer = axes.map((from, i) => ({
      from,
      to: { start: 0, step: dense[i]! * elementBytes, length: from.length },
      strides: [1, 1] as const,
    }))
    copyPlaces(arena, 1, src, dst, [...outer, { from: bytes, to: bytes, strides: [1, 1] }])
    return
  }
  const steps = axes.map((axis) => (isListed(axis) ? 0 : axis.step))
  const isElement = [1, 2, 4, 8].includes(elementBytes) && steps.every((step) => step % elementBytes === 0)
  if (isElement) {
    const stride = steps.map((step) => step / elementBytes)
    copyStrided(arena, elementBytes as ElementBytes, shape, src, stride, dst, dense)
  } else {
    const to = dense.map((stride) => stride * elementBytes)
    copyStrided(arena, 1, [...shape, elementBytes], src, [...steps, 1], dst, [...to, 1])
  }
}
