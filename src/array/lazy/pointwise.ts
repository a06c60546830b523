import type { DType } from '../../core/dtype.ts'
import { wholeAxis } from '../../core/tensor.ts'
import type { SelectionPart } from '../../grid/selection.ts'
import type { BlockSource } from '../source.ts'
import { viewAxes } from './axes-view.ts'
import { viewPoints } from './view-points.ts'

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
  const whole = (axis: number): SelectionPart => {
    const length = source.shape[axis]!
    return { picks: wholeAxis(length), length, shape: [length] }
  }
  const { length } = positions[0]!
  return viewPoints(below, [...before.map(whole), { picks: positions, length, shape: [length] }, ...after.map(whole)], name)
}
