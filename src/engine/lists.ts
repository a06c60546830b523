/*
 * Parts of reading that only lists and points need, loaded with the first of them: their projection on
 * chunks, copies by tables, and staging buffers whose positions in the result have gaps.
 */

import { type AxisIndices, indexAt, isListed } from '../core/axis-indices.ts'
import { copyIndices } from '../core/copy-indices.ts'
import type { DataOf, DType } from '../core/dtype.ts'
import { stridesOf } from '../core/shape.ts'
import { type AxisView, type Tensor, viewTensor, wholeAxis } from '../core/tensor.ts'
import { evenOr } from '../grid/list-projection.ts'
import { sortingOrder } from '../grid/order.ts'
import type { ChunkCopy } from '../grid/projection.ts'
import type { Arena } from '../kernels/arena.ts'
import { boxIn } from '../kernels/boxes.ts'
import { copyStrided, type ElementBytes } from '../kernels/copy.ts'
import { copyPlaces } from '../kernels/pick.ts'
import type { ChunkBytes } from './block.ts'

export { ListProjector } from '../grid/list-projection.ts'
export { copyIndices }

/** Bytes that can be copied into kernel memory in the time that a kernel saves per element. */
const BYTES_PER_ELEMENT = 32

/** One axis of a staging buffer: the positions of the result that it contains, in ascending order. */
export interface StagingAxis {
  /** The smallest position. */
  readonly low: number
  readonly length: number
  /** Optional: contiguous positions omit it. */
  readonly gaps?: (() => Gaps) | undefined
}

/** Positions that are not contiguous. */
interface Gaps {
  readonly positions: AxisIndices
  /** Indices in the buffer of the positions of each list. */
  readonly ranks: ReadonlyMap<AxisIndices, AxisIndices>
}

/**
 * Returns the axes of a staging buffer, if the copies cover all combinations of some positions along each
 * axis. Returns undefined if combinations are missing, or if a chunk is not worth copying into kernel memory.
 */
export function joinLists<C extends ChunkCopy>(
  copies: readonly C[],
  bytesOf: (copy: C) => ChunkBytes,
  size: number,
): StagingAxis[] | undefined {
  const lists = copies[0]!.to.map((_, axis) => new Set(copies.map(({ to }) => to[axis]!)))
  if (lists.reduce((count, own) => count * own.size, 1) !== copies.length) return undefined
  if (copies.some((copy) => bytesOf(copy) instanceof Uint8Array && !isWorthPutting(copy, size))) return undefined
  return lists.map((own) => joinAxis([...own]))
}

/** @param lists disjoint lists of positions */
function joinAxis(lists: readonly AxisIndices[]): StagingAxis {
  let [low, high, length] = [Infinity, 0, 0]
  for (const list of lists) {
    const bounds = boundsOf(list)
    low = Math.min(low, bounds[0])
    high = Math.max(high, bounds[1])
    length += list.length
  }
  if (high - low + 1 === length) return { low, length }
  // Sorted on demand, because most buffers with gaps are not worth it.
  let sorted: Gaps | undefined
  const gaps = (): Gaps => {
    sorted ??= sortLists(lists, length)
    return sorted
  }
  return { low, length, gaps }
}

function sortLists(lists: readonly AxisIndices[], length: number): Gaps {
  const all = new Float64Array(length)
  let at = 0
  for (const list of lists) for (let i = 0; i < list.length; i++) all[at++] = indexAt(list, i)
  const order = sortingOrder(all)
  const rank = new Uint32Array(length)
  for (let i = 0; i < length; i++) rank[order?.[i] ?? i] = i
  const ranks = new Map<AxisIndices, AxisIndices>()
  at = 0
  for (const list of lists) {
    ranks.set(list, evenOr(rank.subarray(at, at + list.length)))
    at += list.length
  }
  const positions = evenOr(Uint32Array.from(order ?? all, (value) => (order === undefined ? value : all[value]!)))
  return { positions, ranks }
}

/**
 * Groups copies by their first position along the first axis where they differ; undefined if they do not
 * differ.
 */
export function split<C extends Pick<ChunkCopy, 'to'>>(copies: readonly C[]): Iterable<C[]> | undefined {
  const first = ({ to }: C, axis: number): number => indexAt(to[axis]!, 0)
  const axis = copies[0]!.to.findIndex((_, i) => copies.some((copy) => first(copy, i) !== first(copies[0]!, i)))
  if (axis < 0) return undefined
  const parts = new Map<number, C[]>()
  for (const copy of copies) {
    const key = first(copy, axis)
    const part = parts.get(key)
    if (part === undefined) parts.set(key, [copy])
    else part.push(copy)
  }
  return parts.values()
}

/** Sets some positions of a tensor to one value. */
export function fillIndices<D extends DType>(out: Tensor<D>, to: readonly AxisIndices[], value: DataOf<D>[number]): void {
  const shape = to.map(({ length }) => length)
  copyIndices({ data: [value] as never, shape, stride: shape.map(() => 0), offset: 0 }, shape.map(wholeAxis), out, to)
}

/** A staging buffer in kernel memory: the element of rank 0 along each axis is at `pointer`. */
interface Staging {
  readonly pointer: number
  readonly stride: readonly number[]
  readonly axes: readonly StagingAxis[]
}

/** Copies the requested elements of a chunk to a staging buffer. */
export function copyToBuffer(
  arena: Arena,
  size: ElementBytes,
  bytes: ChunkBytes,
  copy: ChunkCopy,
  { pointer, stride, axes }: Staging,
): void {
  const { chunkShape, from, to } = copy
  const ranks = to.map((own, axis) => rankIn(axes[axis]!, own))
  const address = bytes instanceof Uint8Array ? putSpan(arena, size, bytes, copy) : bytes.pointer
  if (from.some(isListed) || ranks.some(isListed)) {
    const strides = stridesOf(chunkShape)
    const tables = from.map((own, i) => ({ from: own, to: ranks[i]!, strides: [strides[i]!, stride[i]!] as const }))
    copyPlaces(arena, size, address, pointer, tables)
  } else {
    const source = boxIn(chunkShape, from, size, address)
    const target = viewTensor({ data: [], shape: [], stride: [...stride], offset: 0 }, ranks as readonly AxisView[])
    copyStrided(arena, size, source.shape, source.offset, source.stride, pointer + target.offset * size, target.stride)
  }
}

/** Returns the indices in a staging buffer of some positions of the result. */
function rankIn({ low, gaps }: StagingAxis, to: AxisIndices): AxisIndices {
  if (gaps !== undefined) return gaps().ranks.get(to)!
  return isListed(to) ? to.map((place) => place - low) : { start: to.start - low, step: to.step, length: to.length }
}

/** Returns the first and the last requested element of a chunk, in C order. */
function findSpan({ chunkShape, from }: ChunkCopy): [number, number] {
  let [first, last, step] = [0, 0, 1]
  for (let axis = from.length - 1; axis >= 0; axis--) {
    const [low, high] = boundsOf(from[axis]!)
    first += low * step
    last += high * step
    step *= chunkShape[axis]!
  }
  return [first, last]
}

/** Whether copying a chunk from JavaScript memory into kernel memory pays off for the requested elements. */
function isWorthPutting(copy: ChunkCopy, size: number): boolean {
  const [first, last] = findSpan(copy)
  return (last + 1 - first) * size <= BYTES_PER_ELEMENT * copy.from.reduce((product, { length }) => product * length, 1)
}

/**
 * Copies the span of a chunk that contains the requested elements into kernel memory. Returns the address
 * that the first element of the whole chunk would have.
 */
function putSpan(arena: Arena, size: number, bytes: Uint8Array, copy: ChunkCopy): number {
  const [first, last] = findSpan(copy)
  return arena.put(bytes.subarray(first * size, (last + 1) * size)) - first * size
}

/** Returns the minimum and maximum of a non-empty list. */
function boundsOf(indices: AxisIndices): [number, number] {
  if (!isListed(indices)) {
    const [first, last] = [indices.start, indexAt(indices, indices.length - 1)]
    return first < last ? [first, last] : [last, first]
  }
  let [low, high] = [Infinity, 0]
  for (let i = 0; i < indices.length; i++) {
    const place = indices[i]!
    if (place < low) low = place
    if (place > high) high = place
  }
  return [low, high]
}
