import type { AxisIndices } from '../../core/axis-indices.ts'
import { copyTensor, fillTensor, type Tensor, tensorOf } from '../../core/tensor.ts'
import { ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { type Box, rangeLength, viewOf } from '../../grid/range.ts'
import { NOT_A_NUMBER } from '../missing.ts'
import type { BlockSource } from '../source.ts'
import { deriveSource } from './derive.ts'
import { readPicks, requestsThrough } from './picked.ts'

/** For each point along an axis, the positions it is between, and its fraction of the way to the second. */
export interface AxisPlaces {
  readonly axis: number
  /** Lower position; -1 for points outside. */
  readonly below: Float64Array
  readonly above: Float64Array
  readonly weights: Float64Array
}

/** Largest ratio of points to positions in a chunk. */
const MOST_REFINED = 4

/**
 * Interpolates floats linearly along some axes; NaN outside. If a point is exactly at a position, both of its
 * positions are the same. The result is then the stored element, whatever its neighbours are.
 */
export function interpolatedSource<D extends 'float32' | 'float64'>(
  source: BlockSource<D>,
  places: readonly AxisPlaces[],
): BlockSource<D> {
  const { dtype } = source
  const findAxisPlaces = (axis: number): AxisPlaces | undefined => places.find((each) => each.axis === axis)
  const grid = source.chunks.axes.map((chunks, axis) => {
    const count = findAxisPlaces(axis)?.weights.length
    if (count === undefined) return chunks
    const { chunkLength } = chunks
    const share = Math.ceil((count * chunkLength) / Math.max(1, source.shape[axis]!))
    return new RegularChunks(Math.max(1, Math.min(share, MOST_REFINED * chunkLength)), count)
  })
  /** Returns the picks to read for a box; undefined if the whole box is outside. */
  const picksInBox = (box: Box): AxisIndices<Float64Array>[] | undefined => {
    const picks = box.map((range, axis) => {
      const own = findAxisPlaces(axis)
      return own === undefined ? viewOf(range) : neededPositions(own, box, axis)
    })
    return picks.some((pick) => pick.length === 0) ? undefined : picks
  }
  return deriveSource<D>(
    source,
    {
      chunks: new ChunkGrid(grid),
      capabilities: { steps: true },
      readBlock: async (box, out, options) => {
        const picks = picksInBox(box)
        if (picks === undefined) return fillTensor(out, Number.NaN as never)
        const read = tensorOf(dtype, picks.map(({ length }) => length)) // biome-ignore format: one line
        await readPicks(source, picks, read, options)
        let values = tensorOf('float64', read.shape, Float64Array.from(read.data as ArrayLike<number>))
        for (const own of places) values = interpolate(values, own, box, picks[own.axis] as Float64Array)
        const data = dtype === 'float32' ? Float32Array.from(values.data as ArrayLike<number>) : values.data
        copyTensor(tensorOf(dtype, values.shape, data as never), out)
      },
      bulk: {
        requests: (boxes) =>
          requestsThrough(
            source,
            boxes.map(picksInBox).filter((picks) => picks !== undefined),
          ),
      },
    },
    { dtype, fillValue: Number.NaN as never, missing: NOT_A_NUMBER },
  )
}

/** Returns the positions that the points in a box are between, ascending. */
function neededPositions({ below, above }: AxisPlaces, box: Box, axis: number): Float64Array {
  const { start, step } = box[axis]!
  const needed = new Set<number>()
  for (let i = 0, at = start; i < rangeLength(box[axis]!); i++, at += step) {
    if (below[at]! < 0) continue
    needed.add(below[at]!).add(above[at]!)
  }
  return Float64Array.from(needed).sort()
}

/** @param needed the positions along the axis that `values` contains */
function interpolate(values: Tensor<'float64'>, own: AxisPlaces, box: Box, needed: Float64Array): Tensor<'float64'> {
  const { axis, below, above, weights } = own
  const { start, step } = box[axis]!
  const count = rangeLength(box[axis]!)
  const result = tensorOf('float64', values.shape.with(axis, count))
  const inner = values.stride[axis]!
  const [from, to] = [values.data as Float64Array, result.data as Float64Array]
  const placeOf = new Map(Array.from(needed, (position, place) => [position, place]))
  for (let i = 0, at = start; i < count; i++, at += step) {
    const weight = weights[at]!
    const isOutside = below[at]! < 0
    const low = placeOf.get(below[at]!)! * inner
    const high = placeOf.get(above[at]!)! * inner
    for (let outer = 0; outer * needed.length * inner < from.length; outer++) {
      const [a, b] = [outer * needed.length * inner + low, outer * needed.length * inner + high]
      const target = (outer * count + i) * inner
      for (let k = 0; k < inner; k++)
        to[target + k] = isOutside
          ? Number.NaN
          : low === high
            ? from[a + k]!
            : from[a + k]! * (1 - weight) + from[b + k]! * weight
    }
  }
  return result
}
