import type { DType } from '../../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { showShape, sizeOf } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { type Axis, resolveAxes } from '../axes.ts'
import { checkBytes, MAX_RESULT_BYTES } from '../bounds.ts'
import type { BlockSource } from '../source.ts'
import { divideCells, type FoldedCells } from './divide-cells.ts'
import {
  checkFoldable,
  checkKind,
  chooseRowMode,
  type FoldedDType,
  type FoldKind,
  foldedDType,
  isRankKind,
  shareOf,
} from './fold-kinds.ts'
import type { GroupOptions } from './options.ts'
import { type DividedReduction, unitsAlong } from './units.ts'

/** Groups of positions, each reduced to one. */
export interface GroupByResult<R extends DType, L> {
  /** Distinct labels in order of first appearance. */
  readonly labels: readonly L[]
  /** The reduced array, in which groups replace the axis. */
  readonly values: Tensor<R>
}

/**
 * Reduces the positions of an axis that have the same label together, reading each chunk once. Unwritten
 * elements of units are counted, and added last.
 * @throws InvalidArgumentError if there is another number of labels than positions
 */
export function divideGroups<D extends DType, L, K extends FoldKind>(
  source: BlockSource<D>,
  options: GroupOptions,
  unitBytes: number,
  along: Axis,
  given: Iterable<L>,
  kind: K,
): DividedReduction<FoldedCells, GroupByResult<FoldedDType<D, K>, L>> {
  checkKind('groupBy', kind, source)
  shareOf(kind, options)
  const { dtype } = source
  checkFoldable(kind, dtype)
  if (isRankKind(kind))
    throw new HyperslabError(
      'UnsupportedError',
      `a ${String(kind)} of groups is not divided into tasks: call groupBy of the array`,
    )
  const axis = [...resolveAxes(along, source)][0]!
  const { numbers, groupOf } = groupsByLabel(source, axis, along, given)
  const shape = source.shape.map((length, k) => (k === axis ? numbers.size : length))
  checkBytes(source, 16 * sizeOf(shape), 2 * MAX_RESULT_BYTES, `the result ${showShape(shape)}`, 'reduce parts of the array')
  const reduced = source.shape.map((_, k) => k === axis)
  const pieced = unitsAlong(source, unitBytes, reduced)
  return divideCells(
    { source, kind, mode: chooseRowMode(kind), options, reduced, pieced, grouping: { axis, groupOf } },
    (values) => ({
      labels: [...numbers.keys()],
      values: tensorOf(foldedDType(dtype, kind), shape, values as never) as never,
    }),
  )
}

/**
 * Numbers the labels in order of first appearance.
 * @throws InvalidArgumentError if there is another number of labels than positions
 */
export function groupsByLabel<L>(
  { shape }: BlockSource,
  axis: number,
  along: Axis,
  given: Iterable<L>,
): { readonly numbers: ReadonlyMap<L, number>; readonly groupOf: readonly number[] } {
  if (typeof (Object(given) as Iterable<L>)[Symbol.iterator] !== 'function')
    invalidArgument(`groupBy: labels must be a list, got ${quoted(given)}`, given)
  const numbers = new Map<L, number>()
  const groupOf = Array.from(given, (label) => {
    if (!numbers.has(label)) numbers.set(label, numbers.size)
    return numbers.get(label)!
  })
  if (groupOf.length === shape[axis]) return { numbers, groupOf }
  const text = `${groupOf.length} labels for axis ${along} of an array of shape ${showShape(shape)}`
  throw new HyperslabError('InvalidArgumentError', text, { axis, actual: groupOf.length, expected: shape[axis] })
}
