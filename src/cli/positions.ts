import { axisKindOf } from '../dataset/cf/axis-kind.ts'
import type { Label } from '../dataset/label-values.ts'
import type { Variable } from '../dataset/variable.ts'
import { showShort } from './element.ts'
import { textAttribute } from './labelled.ts'
import { printable } from './output.ts'

/** Returns the direction of a coordinate by the CF conventions. */
const kindOf = ({ name, attrs }: Variable) => axisKindOf(name, attrs)

/** Returns the labels of a coordinate at the selected positions, even for a single one. */
const labelsOf = ({ index, scalar }: Variable): ArrayLike<Label> => (index ?? scalar)!.values

/** Returns a textual attribute of a coordinate. */
const textOf = ({ attrs }: Variable, name: string): string | undefined =>
  textAttribute({ attrs: { get: (key: string) => attrs[key] } as never }, name)

/**
 * Whether positions run upwards, such as from south to north. They are then drawn from the last to the first.
 */
export function runsUp(coord: Variable): boolean {
  const isUpward =
    kindOf(coord) === 'latitude' ||
    textOf(coord, 'axis')?.toUpperCase() === 'Y' ||
    textOf(coord, 'standard_name') === 'projection_y_coordinate'
  const labels = labelsOf(coord)
  return isUpward && labels.length > 1 && labels[labels.length - 1]! > labels[0]!
}

/** Formats one position of a coordinate: `45.5N`, `2005-01-16 12:00`, `850 hPa`. */
export function showPosition(coord: Variable, position: number): string {
  const index = (coord.index ?? coord.scalar)!
  const label = index.at(position)
  if (typeof label === 'string') return printable(label)
  if (index.kind.calendar !== undefined) return index.show(label).replace('T', ' ')
  const value = Number(label)
  const [kind, units] = [kindOf(coord), textOf(coord, 'units') ?? '']
  // The grid north of a rotated grid is not north.
  const isTurned = textOf(coord, 'standard_name')?.startsWith('grid_') ?? false
  if (/^degree/i.test(units) && !isTurned && (kind === 'latitude' || kind === 'longitude')) {
    const [positive, negative] = kind === 'latitude' ? ['N', 'S'] : ['E', 'W']
    return value === 0 ? '0' : `${showShort(Math.abs(value))}${value < 0 ? negative : positive}`
  }
  return `${showShort(value, 7)}${/^1?$/.test(units) ? '' : ` ${units}`}`
}
