import type { DType } from '../../core/dtype.ts'
import type { Signal } from '../../core/signal.ts'
import { wholeAxis } from '../../core/tensor.ts'
import type { SelectionPart } from '../../grid/selection.ts'
import type { BlockSource } from '../source.ts'
import { viewAxes } from './axes-view.ts'
import { viewPoints } from './view-points.ts'

/** Positions of points along each of some axes: known, or found by reading other arrays. */
export interface PointPositions {
  /** Number of points. */
  readonly length: number
  readonly known?: readonly Float64Array[] | undefined
  readonly find?: ((signal?: Signal) => Promise<readonly Float64Array[]>) | undefined
}

/**
 * Returns points of an array as one axis, which replaces the first of the axes they are on; the others are
 * dropped. Each block is read once for all points in it.
 * @param positions of the points along each of `axes`, which are ascending
 */
export function pointwiseSource<D extends DType>(
  source: BlockSource<D>,
  axes: readonly number[],
  { length, known, find }: PointPositions,
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
  const toParts = (picks: readonly Float64Array[]): SelectionPart[] => [
    ...before.map(whole),
    { picks, length, shape: [length] },
    ...after.map(whole),
  ]
  // Unknown points are cut into chunks as if they were spread over the axes.
  const spread = (axis: number): Float64Array => Float64Array.from({ length }, (_, i) => i % Math.max(1, source.shape[axis]!))
  const finding = find && (async (signal?: Signal) => toParts(await find(signal)))
  return viewPoints(below, toParts(known ?? axes.map(spread)), name, finding)
}
