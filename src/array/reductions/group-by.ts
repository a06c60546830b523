import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { Pace } from '../../core/pace.ts'
import { showShape, sizeOf, stridesOf } from '../../core/shape.ts'
import { type Tensor, tensorOf, viewTensor } from '../../core/tensor.ts'
import type { Box } from '../../grid/range.ts'
import { type Axis, resolveAxes } from '../axes.ts'
import { checkBytes, MAX_RESULT_BYTES } from '../bounds.ts'
import type { BlockSource } from '../source.ts'
import { emptyExtreme, foldOf } from './fold.ts'
import { checkKind, type FoldedDType, type FoldKind, foldedDType, modeOf } from './fold-kinds.ts'
import type { GroupOptions } from './options.ts'
import { RowReader, skippedOf } from './rows.ts'
import { eachRun, eachUnwritten, MOST_CELLS, unwrittenValue } from './runs.ts'

/** Groups of positions, each reduced to one. */
export interface Grouped<R extends DType, L> {
  /** The different labels in the order they first appear. */
  readonly labels: readonly L[]
  /** The reduced array, with the groups in place of the axis. */
  readonly values: Tensor<R>
}

/**
 * Reduces together the positions of an axis that have the same label, reading each chunk once.
 * @throws InvalidArgumentError when there are not as many labels as positions
 */
export async function groupBy<D extends DType, L, K extends FoldKind>(
  source: BlockSource<D>,
  along: Axis,
  given: Iterable<L>,
  kind: K,
  options: GroupOptions,
): Promise<Grouped<FoldedDType<D, K>, L>> {
  checkKind('groupBy', kind, source)
  const axis = [...resolveAxes(along, source)][0]!
  const numbers = new Map<L, number>()
  const groups = Array.from(given, (label) => {
    if (!numbers.has(label)) numbers.set(label, numbers.size)
    return numbers.get(label)!
  })
  if (groups.length !== source.shape[axis]) {
    const text = `${groups.length} labels for axis ${along} of an array of shape ${showShape(source.shape)}`
    throw new HyperslabError('InvalidArgumentError', text, { axis, actual: groups.length, expected: source.shape[axis] })
  }
  const shape = replaced(source.shape, axis, numbers.size)
  checkBytes(source, 16 * sizeOf(shape), 2 * MAX_RESULT_BYTES, `the result ${showShape(shape)}`, 'reduce parts of the array')
  const stride = stridesOf(shape)
  const within = replaced(stride, axis, 0)
  const skipped = skippedOf(source, options)
  const reader = new RowReader(source.dtype, modeOf(kind), skipped)
  const fold = foldOf(kind, source.dtype, sizeOf(shape), reader.skipped, {
    ...options,
    empty: emptyExtreme(source.dtype, skipped),
  })
  const places = { start: 0, stride: shape.map(() => 0) }
  const others = { reduced: shape.map((_, k) => k === axis), stride: within }
  const pace = new Pace(options.signal)
  const unwritten = async (box: Box): Promise<void> => {
    const { start, stop } = box[axis]!
    const positions = new Map<number, number>()
    for (let k = start; k < stop; k++) {
      if (k % MOST_CELLS === 0 && pace.due()) await pace.turn()
      positions.set(groups[k]!, (positions.get(groups[k]!) ?? 0) + 1)
    }
    for (const [group, times] of positions) {
      const first = (part: Box): number => part.reduce((at, range, k) => at + (k === axis ? group : range.start) * stride[k]!, 0)
      const repeat = (value: never, _: number, cell: number): void => fold.repeat(value, times, cell)
      await eachUnwritten(source, reader, { ...others, first }, options.signal, repeat)(box)
    }
  }
  const isKept = unwrittenValue(source, reader) !== undefined
  await eachRun(source, { ...options, unwritten: isKept ? unwritten : async () => undefined }, ({ box, tensor }) => {
    const { start, stop } = box[axis]!
    for (let from = start, to = start; from < stop; from = to) {
      while (to < stop && groups[to] === groups[from]) to++
      const whole = tensor.shape.map((length) => ({ start: 0, step: 1, length }))
      const slice = viewTensor(tensor, replaced(whole, axis, { start: from - start, step: 1, length: to - from }))
      const cell = box.reduce((at, range, k) => at + (k === axis ? groups[from]! : range.start) * stride[k]!, 0)
      reader.each(slice, { start: cell, stride: within }, places, fold.row)
    }
  })
  const dtype = foldedDType(source.dtype, kind)
  return { labels: [...numbers.keys()], values: tensorOf(dtype, shape, fold.finish() as never) as never }
}

const replaced = <T>(list: readonly T[], axis: number, item: T): T[] => list.map((each, k) => (k === axis ? item : each))
