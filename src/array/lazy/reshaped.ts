import type { DType } from '../../core/dtype.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { eachIndex, sizeOf, stridesOf } from '../../core/shape.ts'
import { type AxisView, copyTensor, fillTensor, type Tensor, tensorOf, viewTensor } from '../../core/tensor.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { checkListed } from '../../grid/irregular-chunks.ts'
import { type AxisProjection, projectAxis } from '../../grid/projection.ts'
import { type Box, boxShape, type Range, rangeLength, viewOf } from '../../grid/range.ts'
import type { BlockOptions, BlockSource } from '../source.ts'
import type { WriteWhere } from './derive.ts'
import { writeWhere } from './picked.ts'
import { READS_AT_A_TIME, readFresh } from './picks.ts'

/**
 * Neighbouring axes of the base that become neighbouring axes of the result, with the same elements in the
 * same order.
 */
export interface AxisGroup {
  readonly below: readonly number[]
  readonly own: readonly number[]
}

/** Reads a box of a reshaped array. */
export async function readReshaped<D extends DType>(
  source: BlockSource<D>,
  chunks: ChunkGrid,
  groups: readonly AxisGroup[],
  box: Box,
  out: Tensor<D>,
  options?: BlockOptions,
): Promise<void> {
  await forEachLimited(splitPieces(box, source, chunks, groups), READS_AT_A_TIME, async ({ below, elements, outer }) => {
    options?.signal?.throwIfAborted()
    copyTensor(elements(await readFresh(source, below, options)), viewTensor(out, outer))
  })
}

/**
 * Writes a box of a reshaped array. If the source accepts masks, elements between written ones are masked;
 * otherwise they are read and written back.
 */
export async function writeReshaped<D extends DType>(
  source: BlockSource<D>,
  chunks: ChunkGrid,
  groups: readonly AxisGroup[],
  ...[box, values, mask, options]: Parameters<WriteWhere<D>>
): Promise<void> {
  for (const { below, elements, outer } of splitPieces(box, source, chunks, groups)) {
    options?.signal?.throwIfAborted()
    const whole = tensorOf(source.dtype, boxShape(below))
    const part = viewTensor(values, outer)
    const isPart = sizeOf(part.shape) < sizeOf(whole.shape)
    const marks = mask || (isPart && source.writeMasked) ? tensorOf('bool', whole.shape) : undefined
    if (marks !== undefined) {
      if (mask === undefined) fillTensor(elements(marks), 1)
      else copyTensor(viewTensor(mask, outer), elements(marks))
    } else if (isPart) await source.readBlock(below, whole, options)
    copyTensor(part, elements(whole))
    await writeWhere(source, below, whole, marks, options)
  }
}

/** One read of the source, and the elements it contains. */
interface Piece {
  readonly below: Box
  /** Returns the requested elements among those read, with the axes of the result. */
  elements<D extends DType>(read: Tensor<D>): Tensor<D>
  readonly outer: readonly AxisView[]
}

/** The read for one group of axes: boxes of the base, and the requested elements in their run. */
interface GroupPiece {
  readonly below: readonly Range[]
  /** Offset of the first requested element. */
  readonly offset: number
  readonly stride: readonly number[]
  readonly outer: readonly AxisView[]
}

function splitPieces(box: Box, source: BlockSource, chunks: ChunkGrid, groups: readonly AxisGroup[]): Piece[] {
  const perGroup = groups.map((group) => groupPieces(box, source, chunks, group))
  const pieces: Piece[] = []
  eachIndex(
    perGroup.map(({ length }) => length),
    (index) => {
      const parts = index.map((i, group) => perGroup[group]![i]!)
      const below = parts.flatMap((part) => part.below)
      const outer = parts.flatMap((part) => part.outer)
      const elements = <D extends DType>(read: Tensor<D>): Tensor<D> => {
        let [offset, axis] = [0, 0]
        const stride = parts.flatMap((part) => {
          axis += part.below.length
          // Axes of the base in one group form one run of elements, with the stride of the last axis.
          const step = part.below.length === 0 ? 0 : read.stride[axis - 1]!
          offset += part.offset * step
          return part.stride.map((each) => each * step)
        })
        return { data: read.data, shape: outer.map(({ length }) => length), stride, offset }
      }
      pieces.push({ below, elements, outer })
    },
  )
  return pieces
}

/** Returns one piece if it is a box of the base, or within one chunk; otherwise one piece per chunk. */
function groupPieces(box: Box, source: BlockSource, chunks: ChunkGrid, { below, own }: AxisGroup): GroupPiece[] {
  const ranges = own.map((axis) => box[axis]!)
  const outer = ranges.map((range) => ({ start: 0, step: 1, length: rangeLength(range) }))
  if (below.length === 0) return [{ below: [], offset: 0, stride: own.map(() => 0), outer }]
  if (own.length === 0) return [{ below: [{ start: 0, stop: 1, step: 1 }], offset: 0, stride: [], outer }]
  if (below.length === 1 && own.length === 1) return [{ below: ranges, offset: 0, stride: [1], outer }]
  const [from, to] = [below.map((axis) => source.shape[axis]!), own.map((axis) => chunks.shape[axis]!)]
  const touched = ranges.map((range, i) => projectAxis(range, chunks.axes[own[i]!]!))
  const views = ranges.map(viewOf)
  const run = findRun(views, to)
  const one = touched.every(({ length }) => length === 1)
  const box1 = coveringBox(run.first, run.last, from)
  if (one || sizeOf(boxShape(box1)) === sizeOf(outer.map(({ length }) => length))) return [toPiece(views, outer, to, from)]
  const pieces: GroupPiece[] = []
  checkListed(sizeOf(touched.map(({ length }) => length)))
  eachIndex(
    touched.map(({ length }) => length),
    (index) => {
      const parts = index.map((k, i): AxisProjection => touched[i]![k]!)
      const positions = parts.map(({ chunk, from }, i) => ({
        ...from,
        start: chunks.axes[own[i]!]!.start(chunk) + from.start,
      }))
      pieces.push(toPiece(positions, parts.map((part) => part.to), to, from)) // biome-ignore format: one line
    },
  )
  return pieces
}

function toPiece(
  views: readonly AxisView[],
  outer: readonly AxisView[],
  to: readonly number[],
  from: readonly number[],
): GroupPiece {
  const { first, last } = findRun(views, to)
  const below = coveringBox(first, last, from)
  const strideBelow = stridesOf(from)
  const start = below.reduce((sum, range, i) => sum + range.start * strideBelow[i]!, 0)
  const stride = stridesOf(to).map((step, i) => step * views[i]!.step)
  return { below, offset: first - start, stride, outer }
}

/** Returns the numbers of the first and the last requested element in C order. */
function findRun(views: readonly AxisView[], shape: readonly number[]): { first: number; last: number } {
  const stride = stridesOf(shape)
  const first = views.reduce((sum, { start }, i) => sum + start * stride[i]!, 0)
  return { first, last: views.reduce((sum, { step, length }, i) => sum + (length - 1) * step * stride[i]!, first) }
}

/**
 * Returns the smallest box that contains both elements and is a run of elements in C order. It covers the
 * range between them along the first axis where they differ, and all positions along the axes after it.
 */
function coveringBox(first: number, last: number, shape: readonly number[]): Range[] {
  const stride = stridesOf(shape)
  let parted = false
  return shape.map((length, axis) => {
    if (parted) return { start: 0, stop: length, step: 1 }
    const [a, b] = [first, last].map((element) => Math.floor(element / stride[axis]!) % length)
    parted = a !== b
    return { start: a!, stop: b! + 1, step: 1 }
  })
}
