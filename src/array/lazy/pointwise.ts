import type { DType } from '../../core/dtype.ts'
import { wholeAxis } from '../../core/tensor.ts'
import { ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { cutPicks } from '../../grid/list-pieces.ts'
import { type Box, viewOf } from '../../grid/range.ts'
import { planResolved } from '../get.ts'
import { type BlockSource, requestsOf } from '../source.ts'
import { type Planned, readInto } from '../transfers.ts'
import { viewAxes } from './axes-view.ts'
import { deriveSource } from './derive.ts'

/**
 * Returns points of an array as one axis, which replaces the first of the axes they are on; the others are
 * dropped. Each block is read once for all points in it.
 * @param positions of the points along each of `axes`, which are ascending
 */
export function pointwiseSource<D extends DType>(
  source: BlockSource<D>,
  axes: readonly number[],
  positions: readonly Float64Array[],
  name: string,
): BlockSource<D> {
  const [first] = axes
  const rest = [...source.shape.keys()].filter((axis) => !axes.includes(axis))
  const [before, after] = [rest.filter((axis) => axis < first!), rest.filter((axis) => axis > first!)]
  const below = viewAxes(source, { picks: source.shape.map(wholeAxis), order: [...before, ...axes, ...after] })
  const count = positions[0]!.length
  const at = before.length
  const planned = (box: Box): Planned => {
    const views = box.map(viewOf)
    const parts = views.map((view, axis) =>
      axis === at
        ? { picks: positions.map((list) => listOf(list, view)), length: view.length, shape: [view.length] }
        : { picks: view, length: view.length, shape: [view.length] },
    )
    return planResolved(below, { parts, shape: views.map(({ length }) => length), scalar: false }, {}, cutPicks)
  }
  const grid = [...before, first!, ...after].map((axis) =>
    axis === first ? new RegularChunks(Math.max(1, count), count) : source.chunks.axes[axis]!,
  )
  const names = source.dimensionNames
  return deriveSource<D>(source, {
    chunks: new ChunkGrid(grid),
    dimensionNames: names && [...before, first!, ...after].map((axis) => (axis === first ? name : names[axis]!)),
    capabilities: { steps: true },
    readBlock: async (box, out, options = {}) => readInto(below, planned(box).plan, out, options),
    bulk: { requests: async (boxes) => requestsOf(below, boxes.flatMap((box) => planned(box).plan.transfers.map((each) => each.box))) }, // biome-ignore format: one line
  })
}

const listOf = (list: Float64Array, { start, step, length }: ReturnType<typeof viewOf>): Float64Array =>
  Float64Array.from({ length }, (_, i) => list[start + i * step]!)
