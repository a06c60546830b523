import { HyperslabError } from '../core/errors.ts'
import { sizeOf } from '../core/shape.ts'
import type { Named } from './axes.ts'
import { byAxis } from './by-axis.ts'

/** New lengths of all axes, or of some axes by number or name. */
export type NewShape = readonly number[] | Readonly<Record<string, number>>

/** @throws InvalidArgumentError for axes that do not exist, or another number of axes */
export function newShape(to: NewShape, array: Named): readonly number[] {
  const { shape } = array
  if (Array.isArray(to)) {
    if (to.length === shape.length) return to
    const text = `${to.length} lengths for an array of ${shape.length} axes`
    throw new HyperslabError('InvalidArgumentError', text, { actual: to, expected: shape.length })
  }
  const lengths = [...shape]
  for (const [axis, length] of byAxis(to as Record<string, number>, array)) lengths[axis] = length
  return lengths
}

/** Returns the number of positions along an axis that the values cover. */
export function addedLength(values: unknown, shape: readonly number[], axis: number): number {
  const { shape: given, length } = Object(values) as { shape?: readonly number[]; length?: number }
  if (Array.isArray(given)) return given[axis] ?? 0
  const each = sizeOf(shape.filter((_, i) => i !== axis))
  if (length !== undefined && typeof values !== 'string' && each > 0 && length % each === 0) return length / each
  const what = length === undefined || typeof values === 'string' ? 'one value' : `${length} elements`
  const text = `${what} cannot be appended along axis ${axis}: each position there has ${each} elements`
  throw new HyperslabError('InvalidArgumentError', text, { axis, actual: length, expected: each })
}
