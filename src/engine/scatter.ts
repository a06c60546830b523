import { type DType, elementBytes, type FixedDType, fromBytes, isFixed } from '../core/dtype.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import { type AxisView, copyTensor, runLength, type Tensor, viewTensor } from '../core/tensor.ts'
import { viewOf as axisView, filledBox, rangeOf } from '../grid/range.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { tableOf } from '../kernels/boxes.ts'
import type { Task } from '../pool/task.ts'
import { type ChunkAddress, type ChunkBytes, chunkView } from './block.ts'
import type { BlockUse } from './block-reader.ts'
import { checkChunkBytes, decodeChunk } from './chunk-values.ts'
import { isWorthPiece, type PieceBox, placeInPiece } from './staging-buffer.ts'

/** Which elements of a chunk go where. */
export interface Placement {
  /** Shape of the chunk as stored. */
  readonly chunkShape: readonly number[]
  readonly inner: readonly AxisView[]
  /** In the result. */
  readonly outer: readonly AxisView[]
}

/** A stored chunk with what is wanted of it, for the result `out`. */
export type PlacedChunk<D extends DType = DType> = Placement & { readonly address: ChunkAddress; readonly out: Tensor<D> }

/** What reading does with the chunks of a block: puts their selected elements into their results. */
export function placing<D extends DType>(dtype: D): BlockUse<PlacedChunk<D>, void> {
  return {
    here(arena, chunks, bytesOf) {
      for (const own of splitByResult(chunks)) {
        if (isFixed(dtype) && placeTogether(arena, dtype, own as readonly PlacedChunk<FixedDType>[], bytesOf as BytesOf)) continue
        for (const chunk of own) withArena((inner) => placeChunk(inner, dtype, bytesOf(chunk), chunk, chunk.out))
      }
    },
    there(chunks) {
      if (isFixed(dtype) && chunks.some(isPartial)) {
        const place = (bytes: Uint8Array): void => placeGathered(dtype, bytes, chunks as readonly PlacedChunk<FixedDType>[])
        return { task: gatherTask(dtype, chunks), result: ({ bytes }) => place(bytes) }
      }
      const place = (bytes: Uint8Array): void => {
        for (const chunk of chunks) {
          const { offset, size } = chunk.address
          withArena((arena) => placeChunk(arena, dtype, bytes.subarray(offset, offset + size), chunk, chunk.out))
        }
      }
      return { task: { kind: 'decode', keep: false }, result: ({ bytes }) => place(bytes) }
    },
  }
}

type BytesOf = (chunk: PlacedChunk<FixedDType>) => ChunkBytes

/** Chunks of one result come one after another. */
function splitByResult<D extends DType>(chunks: readonly PlacedChunk<D>[]): (readonly PlacedChunk<D>[])[] {
  const starts = [...chunks.keys()].filter((i) => chunks[i]!.out !== chunks[i - 1]?.out)
  return starts.map((start, i) => chunks.slice(start, starts[i + 1]))
}

const isPartial = ({ chunkShape, inner }: Placement): boolean => inner.some(({ length }, axis) => length < chunkShape[axis]!)

function gatherTask(dtype: FixedDType, chunks: readonly (Placement & { readonly address: ChunkAddress })[]): Task {
  const size = elementBytes(dtype)
  const boxes = chunks.map((chunk) => ({ ...selected(chunk, size, chunk.address.offset), place: 0 }))
  return { kind: 'gather', elementBytes: size, table: tableOf(chunks[0]!.inner.length, boxes) }
}

function placeGathered(dtype: FixedDType, bytes: Uint8Array, chunks: readonly PlacedChunk<FixedDType>[]): void {
  const data = fromBytes(dtype, bytes)
  let offset = 0
  for (const { inner, outer, out } of chunks) {
    const shape = inner.map(({ length }) => length)
    copyTensor({ data, shape, stride: stridesOf(shape), offset }, viewTensor(out, outer))
    offset += sizeOf(shape)
  }
}

/** The selected elements of a chunk as a box in the memory where the chunk starts at byte `start`. */
export function selected(
  placement: Pick<Placement, 'chunkShape' | 'inner'>,
  size: number,
  start: number,
): { offset: number; shape: number[]; stride: number[] } {
  const { offset, shape, stride } = viewOfChunk(placement)
  return { offset: start + offset * size, shape: [...shape], stride: [...stride] }
}

/**
 * Copies chunks of a block, where they fill a part of the result that has longer runs than each of them;
 * false where they do not.
 */
function placeTogether(arena: Arena, dtype: FixedDType, chunks: readonly PlacedChunk<FixedDType>[], bytesOf: BytesOf): boolean {
  const { out } = chunks[0]!
  const hull = chunks.length > 1 ? filledBox(chunks.map(({ outer }) => outer.map(rangeOf)))?.map(axisView) : undefined
  if (hull === undefined) return false
  const target = viewTensor(out, hull)
  const run = runLength([viewOfChunk(chunks[0]!), viewTensor(out, chunks[0]!.outer)])
  if (!isWorthPiece(dtype, run, target)) return false
  const boxes = chunks.map((chunk) => boxOf(arena, dtype, bytesOf(chunk), chunk))
  placeInPiece(arena, dtype, boxes, hull, target)
  return true
}

/** Copies the selected elements of a decoded chunk to their place. */
export function placeChunk<D extends DType>(
  arena: Arena,
  dtype: D,
  chunk: ChunkBytes,
  placement: Placement,
  out: Tensor<D>,
): void {
  const target = viewTensor(out, placement.outer)
  const view = viewOfChunk(placement)
  if (isFixed(dtype) && isWorthPiece(dtype, runLength([view, target]), target as Tensor<FixedDType>)) {
    const box = boxOf(arena, dtype, chunk, placement)
    placeInPiece(arena, dtype, [box], placement.outer, target as Tensor<FixedDType>)
  } else {
    const data = decodeChunk(dtype, chunkView(arena, chunk), sizeOf(placement.chunkShape))
    copyTensor({ ...view, data }, target)
  }
}

/** Where the selected elements lie in the chunk. */
const viewOfChunk = ({ chunkShape, inner }: Pick<Placement, 'chunkShape' | 'inner'>): Tensor =>
  viewTensor({ data: [], shape: [...chunkShape], stride: stridesOf(chunkShape), offset: 0 }, inner)

/** @throws FormatError when the chunk has not the bytes its elements need */
function boxOf(arena: Arena, dtype: FixedDType, chunk: ChunkBytes, placement: Placement): PieceBox {
  checkChunkBytes(dtype, chunk instanceof Uint8Array ? chunk.length : chunk.size, sizeOf(placement.chunkShape))
  const start = chunk instanceof Uint8Array ? arena.put(chunk) : chunk.pointer
  const { offset, shape, stride } = selected(placement, elementBytes(dtype), start)
  return { address: offset, shape, stride, outer: placement.outer }
}
