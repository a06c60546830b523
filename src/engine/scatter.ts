import { type AxisIndices, isListed } from '../core/axis-indices.ts'
import { type DType, elementBytes, type FixedDType, isFixed } from '../core/dtype.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import { type AxisView, copyTensor, fillTensor, type Tensor, tensorOf, viewTensor, wholeAxis } from '../core/tensor.ts'
import type { ChunkCopy } from '../grid/projection.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { boxIn, createBoxTable } from '../kernels/boxes.ts'
import { copyStrided } from '../kernels/copy.ts'
import type { Task, TaskResult } from '../pool/task.ts'
import {
  type BlockRef,
  type BlockUse,
  type ChunkBytes,
  chunkPart,
  chunkView,
  type Stored,
  type StoredChunk,
  type StridedChunk,
} from './block.ts'
import type { Elements } from './chunk-index.ts'
import type { decodeChunk } from './chunk-values.ts'
import { checkChunkBytes, decodeFixed } from './fixed-values.ts'
import type * as Lists from './lists.ts'

type StoredCopy<D extends DType> = ChunkCopy<D> & Stored
type BytesOf<D extends DType> = (copy: StoredCopy<D>) => ChunkBytes

/** Length from which JavaScript copies a run as fast as a kernel. */
const LONG_RUN_BYTES = 16 * 1024
/** Size up to which JavaScript copies a chunk faster than it can be passed to a kernel. */
const FEW_BYTES = 2048
/** Largest staging buffer; a larger one would leave the CPU cache before it is copied on. */
const MAX_STAGING_BYTES = 16 * 1024 * 1024

/**
 * The copies of one read. Collects the chunks that have to be fetched, and scatters each chunk to the result
 * once it is decoded.
 */
export class Scatter<D extends DType> implements BlockUse<StoredCopy<D>, void> {
  /** Copies from chunks in blocks. */
  readonly blocks = new Map<BlockRef, StoredCopy<D>[]>()
  /** Copies from uncompressed chunks. */
  readonly strided: (ChunkCopy<D> & { readonly found: StridedChunk })[] = []
  /** Number of chunks that were absent before anything was fetched. */
  #absent = 0
  readonly copied: D
  readonly #elements: Elements<D>
  readonly #lists: typeof Lists | undefined
  readonly #decode: typeof decodeChunk

  /**
   * @param lists needed if some copies involve lists or points
   * @param decode needed for strings and binaries
   */
  constructor(elements: Elements<D>, lists: typeof Lists | undefined, decode: typeof decodeChunk | undefined) {
    this.#elements = elements
    this.copied = elements.dtype
    this.#lists = lists
    this.#decode = decode ?? (decodeFixed as typeof decodeChunk)
  }

  /**
   * Adds a chunk. A chunk without I/O is copied at once.
   * @param found undefined if the chunk is unwritten
   * @throws FormatError if the chunk has an unexpected number of bytes
   */
  add(copy: ChunkCopy<D>, found: StoredChunk | undefined): void {
    if (found === undefined) this.fill(copy, 1)
    else if (found instanceof Uint8Array) withArena((arena) => this.#scatter(arena, [copy as StoredCopy<D>], () => found))
    else if (found.block === undefined) this.strided.push({ ...copy, found })
    else {
      checkChunkBytes(this.#elements.dtype, found.size, sizeOf(copy.chunkShape))
      const stored = { ...copy, address: found }
      const known = this.blocks.get(found.block)
      if (known === undefined) this.blocks.set(found.block, [stored])
      else known.push(stored)
    }
  }

  /** Sets the positions of some absent chunks to the fill value. */
  fill({ to, out }: Pick<ChunkCopy<D>, 'to' | 'out'>, chunks: number): void {
    this.#absent += chunks
    const { fill } = this.#elements
    if (this.#lists !== undefined) this.#lists.fillIndices(out, to, fill)
    else fillTensor(viewTensor(out, to as readonly AxisView[]), fill)
  }

  /** Returns the number of absent chunks, after all blocks were fetched. */
  countAbsent(): number {
    let count = this.#absent
    for (const [{ origin }, chunks] of this.blocks) if (origin.isAbsent?.()) count += chunks.length
    return count
  }

  /** Scatters decoded chunks of a block; those of one result are copied together. */
  onThisThread(arena: Arena, chunks: readonly StoredCopy<D>[], bytesOf: BytesOf<D>): void {
    for (let from = 0, to = 0; from < chunks.length; from = to) {
      while (to < chunks.length && chunks[to]!.out === chunks[from]!.out) to++
      this.#scatter(arena, chunks.slice(from, to), bytesOf)
    }
  }

  /** For slices, the worker returns only the requested elements, one chunk after another. */
  inWorker(chunks: readonly StoredCopy<D>[]): { readonly task: Task; result(answer: TaskResult): void } {
    const { dtype } = this.#elements
    let task: Task = { kind: 'decode', keep: false }
    let sent = chunks
    if (isFixed(dtype) && this.#lists === undefined && chunks.some(isPartial)) {
      const size = elementBytes(dtype)
      const boxes = chunks.map(({ chunkShape, from, address }) => ({
        ...boxIn(chunkShape, from, size, address.offset),
        cell: 0,
      }))
      task = { kind: 'gather', elementBytes: size, table: createBoxTable(boxes[0]!.shape.length, boxes) }
      let offset = 0
      sent = chunks.map((copy, i) => {
        const chunkShape = boxes[i]!.shape
        const address = { ...copy.address, offset, size: sizeOf(chunkShape) * size }
        offset += address.size
        return { ...copy, chunkShape, from: chunkShape.map(wholeAxis), address }
      })
    }
    return {
      task,
      result: ({ bytes }) => withArena((arena) => this.onThisThread(arena, sent, ({ address }) => chunkPart(bytes, address))),
    }
  }

  /** Copies chunks of one result, by way of a staging buffer if that pays off. */
  #scatter(arena: Arena, copies: readonly StoredCopy<D>[], bytesOf: BytesOf<D>): void {
    const { dtype } = this.#elements
    if (isFixed(dtype) && !isFew(copies, bytesOf)) {
      const [fixed, bytes] = [copies as readonly StoredCopy<FixedDType>[], bytesOf as BytesOf<FixedDType>]
      if (stage(arena, dtype, fixed, bytes, this.#lists)) return
    }
    if (copies.length > 1) {
      const half = copies.length >> 1
      const parts = this.#lists?.split(copies) ?? [copies.slice(0, half), copies.slice(half)]
      for (const part of parts) withArena((inner) => this.#scatter(inner, part, bytesOf))
      return
    }
    const { chunkShape, from, to, out } = copies[0]!
    const data = this.#decode(dtype, chunkView(arena, bytesOf(copies[0]!)), sizeOf(chunkShape))
    copyBetween(tensorOf(dtype, chunkShape, data), from, out, to, this.#lists)
  }
}

/** Whether there is little to copy, and none of it is in kernel memory. */
function isFew<D extends DType>(copies: readonly StoredCopy<D>[], bytesOf: BytesOf<D>): boolean {
  if (copies.length > 1) return false
  const bytes = bytesOf(copies[0]!)
  return bytes instanceof Uint8Array && bytes.length <= FEW_BYTES
}

const isPartial = ({ chunkShape, from }: ChunkCopy): boolean => from.some(({ length }, axis) => length < chunkShape[axis]!)

/** Copies between tensors in JavaScript memory. */
function copyBetween<D extends DType>(
  source: Tensor<D>,
  from: readonly AxisIndices[],
  target: Tensor<D>,
  to: readonly AxisIndices[],
  lists: typeof Lists | undefined,
): void {
  if (lists !== undefined) lists.copyIndices(source, from, target, to)
  else copyTensor(viewTensor(source, from as readonly AxisView[]), viewTensor(target, to as readonly AxisView[]))
}

/**
 * Copies chunks to their result by way of a staging buffer in kernel memory, which has the order of the
 * result's memory. A kernel copies the short runs, steps and single elements to the buffer; JavaScript copies
 * the long runs on. A run costs JavaScript as much as a kilobyte costs a kernel. Returns false if the chunks
 * do not fill such a buffer, or if it would not lengthen the runs.
 * @throws FormatError if a chunk has an unexpected number of bytes
 */
function stage(
  arena: Arena,
  dtype: FixedDType,
  copies: readonly StoredCopy<FixedDType>[],
  bytesOf: BytesOf<FixedDType>,
  lists: typeof Lists | undefined,
): boolean {
  const { out } = copies[0]!
  const size = elementBytes(dtype)
  const run = runLength(copies[0]!)
  if (run * size >= LONG_RUN_BYTES) return false
  const axes = lists === undefined ? joinSlices(copies) : lists.joinLists(copies, bytesOf, size)
  if (axes === undefined) return false
  const order = memoryOrder(out)
  const length = countPositions(axes)
  if (length * size > MAX_STAGING_BYTES || stagedRun(axes, out, order) <= run) return false
  const pointer = arena.alloc(length * size)
  const { stride, first, dense, positions } = layoutOf(axes, out, order)
  for (const copy of copies)
    arena.scratch(() => {
      const bytes = bytesOf(copy)
      checkChunkBytes(dtype, bytes instanceof Uint8Array ? bytes.length : bytes.size, sizeOf(copy.chunkShape))
      if (lists !== undefined) {
        lists.copyToBuffer(arena, size, bytes, copy, { pointer: pointer + first * size, stride, axes })
        return
      }
      const box = boxIn(copy.chunkShape, copy.from, size, bytes instanceof Uint8Array ? arena.put(bytes) : bytes.pointer)
      const at = copy.to.reduce((sum, to, axis) => sum + ((to as AxisView).start - axes[axis]!.low) * stride[axis]!, first)
      copyStrided(arena, size, box.shape, box.offset, box.stride, pointer + at * size, stride)
    })
  const inOrder = (values: readonly number[]): number[] => order.map((axis) => values[axis]!)
  const shape = positions.map((own) => own.length)
  const target = { data: out.data, shape: inOrder(out.shape), stride: inOrder(out.stride), offset: out.offset }
  const staged = { data: arena.view(dtype, pointer, length), shape, stride: dense, offset: 0 }
  copyBetween(staged, shape.map(wholeAxis), target, positions, lists)
  return true
}

/** Returns the number of combinations of positions along the axes. */
const countPositions = (axes: readonly { readonly length: number }[]): number =>
  axes.reduce((count, { length }) => count * length, 1)

/**
 * Returns the layout of a staging buffer. It follows the result's memory, so axes that run backwards there
 * run backwards here, too.
 * @returns the stride of each axis and the index of the element of rank 0; then strides and positions in
 *   memory order, where no stride is negative
 */
function layoutOf(
  axes: readonly Lists.StagingAxis[],
  out: Tensor,
  order: readonly number[],
): { stride: number[]; first: number; dense: number[]; positions: AxisIndices[] } {
  const stride = new Array<number>(axes.length)
  const dense = stridesOf(order.map((axis) => axes[axis]!.length))
  let first = 0
  const positions = order.map((axis, i): AxisIndices => {
    const { low, length, gaps } = axes[axis]!
    stride[axis] = dense[i]!
    if (gaps !== undefined) return gaps().positions
    if (out.stride[axis]! >= 0) return { start: low, step: 1, length }
    first += (length - 1) * dense[i]!
    stride[axis] = -dense[i]!
    return { start: low + length - 1, step: -1, length }
  })
  return { stride, first, dense, positions }
}

/** Returns the number of elements that are contiguous both in a chunk and in the result. */
function runLength({ chunkShape, from, to, out }: ChunkCopy): number {
  let [run, step] = [1, 1]
  for (let axis = from.length - 1; axis >= 0; axis--) {
    const [source, target] = [from[axis]!, to[axis]!]
    if (source.length > 1) {
      if (isListed(source) || isListed(target)) break
      if (source.step * step !== run || target.step * out.stride[axis]! !== run) break
      run *= source.length
    }
    step *= chunkShape[axis]!
  }
  return run
}

/** Returns the axes of a tensor by descending stride. */
function memoryOrder({ stride }: Tensor): number[] {
  return stride.map((_, axis) => axis).sort((a, b) => Math.abs(stride[b]!) - Math.abs(stride[a]!))
}

/** Returns the number of elements that are contiguous both in a staging buffer and in the result. */
function stagedRun(axes: readonly Lists.StagingAxis[], { stride }: Tensor, order: readonly number[]): number {
  let run = 1
  for (let i = order.length - 1; i >= 0; i--) {
    const { length, gaps } = axes[order[i]!]!
    if (length === 1) continue
    if (gaps !== undefined || Math.abs(stride[order[i]!]!) !== run) break
    run *= length
  }
  return run
}

/**
 * Returns the axes of a staging buffer for disjoint slices without steps in the result; undefined if they
 * leave gaps.
 */
function joinSlices(copies: readonly ChunkCopy[]): Lists.StagingAxis[] | undefined {
  let count = 0
  for (const { to } of copies) count += countPositions(to)
  const axes = copies[0]!.to.map((_, axis) => {
    let [low, stop] = [Infinity, 0]
    for (const { to } of copies) {
      const { start, length } = to[axis] as AxisView
      low = Math.min(low, start)
      stop = Math.max(stop, start + length)
    }
    return { low, length: stop - low }
  })
  return countPositions(axes) === count ? axes : undefined
}
