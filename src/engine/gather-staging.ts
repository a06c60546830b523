import { copyPicked } from '../array/pick.ts'
import { type DType, elementBytes, type FixedDType } from '../core/dtype.ts'
import { isListed, isRun } from '../core/places.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import { type AxisView, tensorOf, wholeAxis } from '../core/tensor.ts'
import type { Arena } from '../kernels/arena.ts'
import { copyStrided, type ElementBytes } from '../kernels/copy.ts'
import { copyPlaces } from '../kernels/pick.ts'
import type { ChunkBytes } from './block.ts'
import type { Picking } from './gather.ts'
import { selected } from './scatter.ts'
import { indexBounds, joinAxes, type PieceAxis, pieceRun } from './staging-axis.ts'
import { LONG_RUN_BYTES, MAX_PIECE_BYTES } from './staging-buffer.ts'

/** A decoded chunk with what is picked of it. */
export interface PickSource<D extends DType> {
  readonly bytes: ChunkBytes
  readonly picking: Picking<D>
}

/**
 * Bytes that are put into kernel memory in the time by which a kernel is faster at an element than
 * JavaScript.
 */
const BYTES_PER_PICK = 32

/**
 * Copies what is picked of chunks to the result by way of a piece of kernel memory, in which it lies in the
 * order of the result. False where they do not make up such a piece, or it would not lengthen the runs that
 * JavaScript copies.
 */
export function pickInPiece(arena: Arena, dtype: FixedDType, sources: readonly PickSource<FixedDType>[]): boolean {
  const { out } = sources[0]!.picking
  const size = elementBytes(dtype)
  const axes = joinAxes(sources.map(({ picking }) => picking.outer))
  const shape = axes?.map(({ length }) => length) ?? []
  const length = sizeOf(shape)
  if (axes === undefined || length * size > MAX_PIECE_BYTES) return false
  const run = runOf(sources[0]!.picking)
  if (run * size >= LONG_RUN_BYTES || pieceRun(axes, out) <= run) return false
  if (sources.some(({ bytes, picking }) => bytes instanceof Uint8Array && !isWorthPutting(picking, size))) return false

  const pointer = arena.alloc(length * size)
  for (const { bytes, picking } of sources)
    arena.scratch(() => copyToPiece(arena, size, addressOf(arena, size, bytes, picking), picking, pointer, axes))
  const piece = tensorOf(dtype, shape, arena.view(dtype, pointer, length))
  copyPicked(piece, shape.map(wholeAxis), out, axes.map(({ places }) => places)) // biome-ignore format: one line
  return true
}

/** Elements of a chunk that can be copied at once to the result. */
function runOf({ chunkShape, inner, outer, out }: Picking<FixedDType>): number {
  let run = 1
  for (let axis = inner.length - 1; axis >= 0; axis--) {
    const { length } = inner[axis]!
    if (!isRun(inner[axis]!) || !isRun(outer[axis]!) || out.stride[axis] !== run) break
    run *= length
    if (length !== chunkShape[axis] || length !== out.shape[axis]) break
  }
  return run
}

/** The first and the last element of a chunk that is picked, in C order. */
function spanOf({ chunkShape, inner }: Picking<FixedDType>): [number, number] {
  const stride = stridesOf(chunkShape)
  const ends = inner.map(indexBounds)
  const at = (side: 0 | 1): number => ends.reduce((sum, own, axis) => sum + own[side] * stride[axis]!, 0)
  return [at(0), at(1)]
}

function isWorthPutting(picking: Picking<FixedDType>, size: number): boolean {
  const [first, last] = spanOf(picking)
  return (last + 1 - first) * size <= BYTES_PER_PICK * sizeOf(picking.inner.map(({ length }) => length))
}

/**
 * Where the first element of a chunk is in kernel memory, or would be: of those from elsewhere only what
 * holds the picks is put there.
 */
function addressOf(arena: Arena, size: number, bytes: ChunkBytes, picking: Picking<FixedDType>): number {
  if (!(bytes instanceof Uint8Array)) return bytes.pointer
  const [first, last] = spanOf(picking)
  return arena.put(bytes.subarray(first * size, (last + 1) * size)) - first * size
}

function copyToPiece(
  arena: Arena,
  size: ElementBytes,
  address: number,
  { chunkShape, inner, outer }: Picking<FixedDType>,
  pointer: number,
  axes: readonly PieceAxis[],
): void {
  const ranks = axes.map((axis, i) => axis.ranksOf(outer[i]!))
  const shape = axes.map(({ length }) => length)
  if (inner.some(isListed) || ranks.some(isListed)) {
    const strides = [stridesOf(chunkShape), stridesOf(shape)] as const
    const tables = inner.map((from, i) => ({ from, to: ranks[i]!, strides: [strides[0][i]!, strides[1][i]!] as const }))
    copyPlaces(arena, size, address, pointer, tables)
    return
  }
  const from = selected({ chunkShape, inner: inner as readonly AxisView[] }, size, address)
  const to = selected({ chunkShape: shape, inner: ranks as readonly AxisView[] }, size, pointer)
  copyStrided(arena, size, from.shape, from.offset, from.stride, to.offset, to.stride)
}
