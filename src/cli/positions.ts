import { axisKindOf } from '../dataset/cf/axis-kind.ts'
import type { Label } from '../dataset/label-index.ts'
import type { Variable } from '../dataset/variable.ts'
import { showShort } from './element.ts'
import { textAttribute } from './labelled.ts'
import { printable } from './output.ts'

/** What the labels of a coordinate say, by the CF conventions. */
const kindOf = ({ name, attrs }: Variable) => axisKindOf(name, attrs)

/** The labels of a coordinate at the positions that were selected of it: of one position, too. */
const labelsOf = ({ index, scalar }: Variable): ArrayLike<Label> => (index ?? scalar)!.values

/** An attribute of a coordinate that is text. */
const textOf = ({ attrs }: Variable, name: string): string | undefined =>
  textAttribute({ attrs: { get: (key: string) => attrs[key] } as never }, name)

/**
 * True when positions run upwards, as from south to north, so that they have to be drawn from the last to the
 * first.
 */
export function runsUp(coord: Variable): boolean {
  const isUpward =
    kindOf(coord) === 'latitude' ||
    textOf(coord, 'axis')?.toUpperCase() === 'Y' ||
    textOf(coord, 'standard_name') === 'projection_y_coordinate'
  const labels = labelsOf(coord)
  return isUpward && labels.length > 1 && labels[labels.length - 1]! > labels[0]!
}

/** One position of a coordinate in words: `45.5N`, `2005-01-16 12:00`, `850 hPa`. */
export function showPosition(coord: Variable, position: number): string {
  const index = (coord.index ?? coord.scalar)!
  const label = index.at(position)
  if (typeof label === 'string') return printable(label)
  if (index.kind.calendar !== undefined) return index.show(label).replace('T', ' ')
  const value = Number(label)
  const [kind, units] = [kindOf(coord), textOf(coord, 'units') ?? '']
  // The north of a grid that is turned is none.
  const isTurned = textOf(coord, 'standard_name')?.startsWith('grid_') ?? false
  if (/^degree/i.test(units) && !isTurned && (kind === 'latitude' || kind === 'longitude')) {
    const [positive, negative] = kind === 'latitude' ? ['N', 'S'] : ['E', 'W']
    return value === 0 ? '0' : `${showShort(Math.abs(value))}${value < 0 ? negative : positive}`
  }
  return `${showShort(value, 7)}${/^1?$/.test(units) ? '' : ` ${units}`}`
}
