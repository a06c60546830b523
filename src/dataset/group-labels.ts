import { HyperslabError } from '../core/errors.ts'
import type { Label } from './label-values.ts'
import { timeComponent } from './time/components.ts'
import type { Variable } from './variable.ts'

/**
 * Returns the group of each position along a coordinate: a component of its times or, if the key is its own
 * name, its label.
 * @throws InvalidArgumentError for components of values that are not times
 */
export function groupLabels(coord: Variable, key: string): ArrayLike<Label> {
  const index = coord.index!
  if (key === coord.name) return index.values as ArrayLike<Label>
  const { calendar } = index.kind
  const component = key.slice(key.indexOf('.') + 1)
  if (calendar === undefined) {
    const text = `${coord.name} has no times, so there is no ${key} of it`
    throw new HyperslabError('InvalidArgumentError', text, { array: coord.name, actual: key })
  }
  return timeComponent(index.values as ArrayLike<bigint>, calendar, component as never) as ArrayLike<Label>
}
