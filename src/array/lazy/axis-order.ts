import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { checkValue } from '../../core/options.ts'
import { showShape } from '../../core/shape.ts'
import { wholeAxis } from '../../core/tensor.ts'
import { type AxisOption, resolveAxes } from '../axes.ts'
import type { BlockSource } from '../source.ts'
import { viewAxes } from './axes-view.ts'

const allAxes = (source: BlockSource): number[] => [...source.shape.keys()]

/**
 * Returns a source with its axes in another order; by default reversed.
 * @param order for each axis of the result the axis it comes from, by number or name
 * @throws InvalidArgumentError unless each axis is named once
 */
export function transpose<D extends DType>(source: BlockSource<D>, order?: readonly (number | string)[]): BlockSource<D> {
  if (order === undefined) return viewAxes(source, { order: allAxes(source).reverse() })
  const axes = [...resolveAxes(order, source)]
  if (axes.length !== source.shape.length) {
    throw new HyperslabError('InvalidArgumentError', `${axes.length} axes named of an array of ${source.shape.length}`, {
      actual: order,
      expected: source.shape.length,
    })
  }
  return viewAxes(source, { order: axes })
}

/**
 * Returns a source without axes of length 1: the named ones, or all.
 * @throws InvalidArgumentError if a named axis has another length
 */
export function squeeze<D extends DType>(source: BlockSource<D>, axis?: AxisOption): BlockSource<D> {
  const dropped = axis === undefined ? undefined : resolveAxes(axis, source)
  for (const each of dropped ?? []) {
    if (source.shape[each] === 1) continue
    throw new HyperslabError('InvalidArgumentError', `axis ${each} of ${showShape(source.shape)} has not length 1`, {
      axis: each,
      actual: source.shape[each],
      expected: 1,
    })
  }
  const order = allAxes(source).filter((each) => (dropped === undefined ? source.shape[each] !== 1 : !dropped.has(each)))
  return viewAxes(source, { order })
}

/**
 * Returns a source with a new axis of length 1.
 * @param axis its number in the result; negative ones count from the end
 * @param name of the dimension
 * @throws InvalidArgumentError if the axis number is out of range
 */
export function expandDims<D extends DType>(source: BlockSource<D>, axis: number, name = ''): BlockSource<D> {
  checkValue('expandDims', 'name', name, 'string')
  const order: (number | string)[] = allAxes(source)
  const [place] = resolveAxes(axis, { shape: [...source.shape, 1] })
  order.splice(place!, 0, name)
  return viewAxes(source, { order })
}

/** Returns a source reversed along the named axes, or along all. */
export function flip<D extends DType>(source: BlockSource<D>, axis?: AxisOption): BlockSource<D> {
  const axes = resolveAxes(axis, source)
  const picks = source.shape.map((length, each) =>
    axes.has(each) && length > 0 ? { start: length - 1, step: -1, length } : wholeAxis(length),
  )
  return viewAxes(source, { picks, order: allAxes(source) })
}
