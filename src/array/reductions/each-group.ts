import { invalidArgument } from '../../core/errors.ts'
import { copyTensor, type Tensor, tensorOf, viewTensor, wholeAxis } from '../../core/tensor.ts'
import { view } from '../lazy/axes-view.ts'
import type { BlockSource } from '../source.ts'

/** Groups of positions along an axis. */
export interface GroupedPositions {
  readonly axis: number
  /** Group of each position; -1 for none. */
  readonly of: ArrayLike<number>
  readonly count: number
  /** Axes that are reduced together with the groups, and dropped. */
  readonly others: readonly number[]
}

/**
 * Reduces one group after another, in memory for one of them. A chunk is read once for each group in it.
 * Groups without positions are NaN.
 * @param reduce reduces some axes of a source, and keeps them with length 1
 * @throws InvalidArgumentError if no group has a position
 */
export async function reduceEachGroup(
  source: BlockSource,
  { axis, of, count, others }: GroupedPositions,
  reduce: (part: BlockSource, axes: number[]) => Promise<Tensor<'float64'>>,
): Promise<Tensor<'float64'>> {
  let result: Tensor<'float64'> | undefined
  const place = axis - others.filter((other) => other < axis).length
  const members = Array.from({ length: count }, (): number[] => [])
  for (const [at, group] of Array.from(of).entries()) members[group]?.push(at)
  for (const [group, positions] of members.entries()) {
    if (positions.length === 0) continue
    const part = view(
      source,
      source.shape.map((_, each) => (each === axis ? positions : null)),
    )
    const tensor = await reduce(part, [axis, ...others])
    const shape = tensor.shape.flatMap((length, each) => (each === axis ? [count] : others.includes(each) ? [] : [length]))
    if (result === undefined) {
      result = tensorOf('float64', shape)
      result.data.fill(Number.NaN)
    }
    const at = shape.map((length, each) => (each === place ? { start: group, step: 1, length: 1 } : wholeAxis(length)))
    const own = shape.map((length, each) => (each === place ? 1 : length))
    copyTensor(tensorOf('float64', own, tensor.data), viewTensor(result, at))
  }
  return result ?? invalidArgument('there is no value in any group', count)
}
