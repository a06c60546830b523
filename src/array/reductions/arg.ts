import type { PositionReduction } from '../../aggregate/positions.ts'
import type { FixedDType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { coordsAt, stridesOf } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import type { BlockSource } from '../source.ts'
import { checkFoldable } from './fold-kinds.ts'
import { emptyReduction } from './fold-results.ts'
import { layoutOf, type ReduceOptions, reduceCells } from './reduce.ts'
import { skipOf } from './rows.ts'

/**
 * Where the extremes are: the index of the first smallest (greatest) element in C order, or along one axis
 * the positions on it.
 * @throws InvalidArgumentError for several axes; EmptyReductionError
 */
export async function arg(
  source: BlockSource,
  kind: 'argMin' | 'argMax',
  options: ReduceOptions,
): Promise<readonly number[] | Tensor<'float64'>> {
  const { dtype, shape } = source
  checkFoldable(kind, dtype)
  const layout = layoutOf(source, options.axis)
  const whole = options.axis === undefined
  if (!whole && layout.axes.size !== 1) {
    throw new HyperslabError('InvalidArgumentError', `${kind} takes one axis, or none for all of the array`, {
      actual: options.axis,
    })
  }
  const { reduced } = layout
  const reduction: PositionReduction = {
    op: kind === 'argMin' ? 'min' : 'max',
    dtype,
    skip: skipOf(source, options),
    reduced,
    places: whole ? stridesOf(shape) : reduced.map(Number),
  }
  const { counts, places } = await reduceCells(source as BlockSource<FixedDType>, reduction, layout, options)
  if (counts.includes(0) && (whole || reduction.skip === 'none')) throw emptyReduction('position')
  if (!whole) {
    const positions = places!.map((place, cell) => (counts[cell] === 0 ? -1 : place))
    return tensorOf('float64', layout.resultShape(options.keepDims), positions)
  }
  return coordsAt(places![0]!, shape)
}
