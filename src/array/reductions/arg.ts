import { type FixedDType, toBytes } from '../../core/dtype.js'
import { HyperslabError } from '../../core/errors.js'
import { stridesOf } from '../../core/shape.js'
import { type Tensor, tensorOf } from '../../core/tensor.js'
import { boxShape, wholeBox } from '../../grid/range.js'
import { withArena } from '../../kernels/arena.js'
import type { BlockSource } from '../source.js'
import { CellLayout } from './cells.js'
import { Extremes } from './extremes.js'
import { checkFoldable } from './fold-kinds.js'
import { emptyReduction } from './fold-results.js'
import type { PlacedPart } from './parts.js'
import { addExtremes, type PositionReduction, positionOf } from './positions.js'
import { type ReduceOptions, shrinks } from './reduce.js'
import { skipOf } from './rows.js'
import { eachRun } from './runs.js'

/**
 * Where the extremes are: the index of the first smallest (greatest) element in C order, or along one axis the positions on it.
 * @throws InvalidArgumentError for several axes; EmptyReductionError
 */
export async function arg(
  source: BlockSource,
  kind: 'argMin' | 'argMax',
  options: ReduceOptions,
): Promise<readonly number[] | Tensor<'float64'>> {
  const { dtype, shape } = source
  checkFoldable(kind, dtype)
  const layout = new CellLayout(source, options.axis)
  const whole = options.axis === undefined
  if (!whole && layout.axes.size !== 1) {
    throw new HyperslabError('InvalidArgumentError', `${kind} takes one axis, or none for all of the array`, {
      actual: options.axis,
    })
  }
  const flat = stridesOf(shape)
  const reduced = shape.map((_, axis) => layout.axes.has(axis))
  const places = whole ? flat : reduced.map(Number)
  const skip = skipOf(source, options)
  const found = await extremes(source, { op: kind === 'argMin' ? 'min' : 'max', dtype, skip, reduced, places }, layout, options)
  if (found.counts.includes(0) && (whole || skip === 'none')) throw emptyReduction('position')
  if (!whole) {
    const positions = found.places.map((place, cell) => (found.counts[cell] === 0 ? -1 : place))
    return tensorOf('float64', layout.resultShape(options.keepDims), positions)
  }
  let rest = found.places[0]!
  return flat.map((step) => {
    const position = Math.floor(rest / step)
    rest -= position * step
    return position
  })
}

/** By the source where it reduces its own boxes, otherwise in runs of its chunks. */
async function extremes(
  source: BlockSource,
  reduction: PositionReduction,
  layout: CellLayout,
  options: ReduceOptions,
): Promise<Extremes> {
  const found = new Extremes(reduction.op, reduction.dtype, layout.size)
  const { stride } = layout
  if (source.reduceBox !== undefined && shrinks(source, reduction)) {
    const take = (part: PlacedPart): void => found.take(part, boxShape(part.region), layout.first(part.region), stride)
    await source.reduceBox(wholeBox(source.shape), reduction, take, options)
    return found
  }
  await eachRun(source as BlockSource<FixedDType>, options, ({ box, tensor }) => {
    const cells = { first: positionOf(reduction, box), cell: layout.first(box), cellStride: stride }
    const { shape, stride: dense } = tensor
    withArena((arena) => {
      addExtremes(arena, reduction, found, { pointer: arena.put(toBytes(tensor.data)), shape, stride: dense, ...cells })
    })
  })
  return found
}
