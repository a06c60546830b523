import { inOrder } from '../../core/in-order.ts'
import { sizeOf, stridesOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import { type AxisView, copyTensor, type Tensor, tensorOf, viewTensor } from '../../core/tensor.ts'
import { type ChunkGrid, READ_BYTES } from '../../grid/chunks.ts'
import { projectBox } from '../../grid/projection.ts'
import { type Box, boxShape } from '../../grid/range.ts'
import { bytesOf } from '../source.ts'
import { createFold, emptyExtreme } from './fold.ts'
import { chooseRowMode, type FoldKind, foldedDType, isRankKind, shareOf, type Windows } from './fold-kinds.ts'
import { RowReader, skippedOf } from './rows.ts'
import { readRows } from './runs.ts'

/** Reads a box of the windows' results piece by piece, holding only some chunks of the source. */
export async function foldWindows(
  windows: Windows,
  chunks: ChunkGrid,
  box: Box,
  out: Tensor,
  signal: Signal | undefined,
): Promise<void> {
  const { source, sizes, steps } = windows
  const bytes = bytesOf(source.dtype) * sizeOf(steps)
  const pieces: { piece: Box; place: readonly AxisView[] }[] = []
  projectBox(box, chunks.coarsen(READ_BYTES / bytes), (_, projections) => {
    const place = projections.map(({ to }) => to)
    const piece = place.map(({ start, length }, axis) => ({
      start: box[axis]!.start + start,
      stop: box[axis]!.start + start + length,
      step: 1,
    }))
    pieces.push({ piece, place })
  })
  const read = async (work: (typeof pieces)[number]) => {
    signal?.throwIfAborted()
    const hull = work.piece.map(({ start, stop }, axis) => ({
      start: start * steps[axis]!,
      stop: Math.min(source.shape[axis]!, (stop - 1) * steps[axis]! + sizes[axis]!),
      step: 1,
    }))
    const tensor = tensorOf(source.dtype, boxShape(hull))
    await source.readBlock(hull, tensor, { signal })
    return { ...work, tensor }
  }
  const { kind, options } = windows
  const share = isRankKind(kind) ? shareOf(kind, options) : undefined
  const ranks = share === undefined ? undefined : (await import('./window-ranks.ts')).rankedWindows
  await inOrder(pieces, { count: 2 }, read, ({ piece, place, tensor }) => {
    const shape = boxShape(piece)
    copyTensor(
      ranks?.(windows, shape, tensor, share!) ?? folded(windows, kind as FoldKind, shape, tensor),
      viewTensor(out, place),
    )
  })
}

/** @param tensor contains the windows of the result; only its last blocks may be shorter */
function folded(windows: Windows, kind: FoldKind, shape: readonly number[], tensor: Tensor): Tensor {
  const { source, steps, options } = windows
  const skipped = skippedOf(source, options)
  const reader = new RowReader(source.dtype, chooseRowMode(kind), skipped)
  const empty = emptyExtreme(source.dtype, skipped)
  const fold = createFold(kind, { ...options, dtype: source.dtype, cells: sizeOf(shape), skipped: reader.skipped, empty })
  const cellStride = stridesOf(shape)
  for (const parts of combineParts(shape.map((count, axis) => splitWindows(windows, count, tensor.shape[axis]!, axis)))) {
    // Splits each axis into two: from window to window, and within a window.
    const view: Tensor = {
      data: tensor.data,
      shape: parts.flatMap(({ count, size }) => [count, size]),
      stride: tensor.stride.flatMap((step, axis) => [step * steps[axis]!, step]),
      offset: parts.reduce((at, { first }, axis) => at + first * steps[axis]! * tensor.stride[axis]!, 0),
    }
    const first = parts.reduce((at, { first }, axis) => at + first * cellStride[axis]!, 0)
    readRows(reader, view, { stride: cellStride.flatMap((step) => [step, 0]) }, first, fold.row)
  }
  return tensorOf(foldedDType(source.dtype, kind), shape, fold.finish() as never)
}

/** Returns the windows along an axis; a shorter one at the end comes separately. */
function splitWindows({ sizes, steps }: Windows, count: number, length: number, axis: number): Part[] {
  const [size, step] = [sizes[axis]!, steps[axis]!]
  const rest = length - (count - 1) * step
  if (rest >= size) return [{ first: 0, count, size }]
  return [...(count > 1 ? [{ first: 0, count: count - 1, size }] : []), { first: count - 1, count: 1, size: rest }]
}

interface Part {
  readonly first: number
  readonly count: number
  readonly size: number
}

const combineParts = (axes: readonly (readonly Part[])[]): Part[][] =>
  axes.reduce<Part[][]>((all, parts) => all.flatMap((some) => parts.map((part) => [...some, part])), [[]])
