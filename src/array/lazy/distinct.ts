import { HyperslabError } from '../../core/errors.ts'
import { countAxes, type PointsViewOf } from './picks.ts'

/** Views whose elements are known to be distinct. */
const distinct = new WeakSet<object>()

/** Whether the elements of a view have been checked. */
export const isDistinct = (key: object): boolean => distinct.has(key)

/**
 * Refuses to write to a view that has an element several times. The read between written elements and its
 * write-back could undo a write.
 * @param key the definition of the view, which is checked once
 * @throws ReadOnlyError that names the element
 */
export function checkDistinct(key: object, { base, parts }: PointsViewOf): void {
  if (isDistinct(key)) return
  let axis = 0
  for (const part of parts) {
    const first = axis
    axis += countAxes(part)
    const lists = part.picks
    if ('step' in lists) continue
    const shape = base.shape.slice(first, axis)
    const seen = new Set<number>()
    for (let i = 0; i < part.length; i++) {
      const place = lists.reduce((sum, list, k) => sum * shape[k]! + list[i]!, 0)
      if (seen.has(place)) {
        const position = lists.map((list) => list[i]!)
        const axes = lists.length === 1 ? `axis ${first}` : `axes ${first} to ${axis - 1}`
        const text = `the view has the element at ${position.join(', ')} of ${axes} twice, so it is read-only: write to the array that it is a view of`
        throw new HyperslabError('ReadOnlyError', text, { ...base.label, axis: first, actual: position })
      }
      seen.add(place)
    }
  }
  distinct.add(key)
}
