import type { GroupNode, LevelAxis, NodeLevel } from '../../array/nodes.ts'
import { HyperslabError } from '../../core/errors.ts'
import { plainAttrs } from '../attributes.ts'
import type { RawVariable } from '../cf/decode.ts'
import { listArray } from '../variable.ts'
import { type GroupContent, variablesOfGroup } from './group-variables.ts'

/** Name of the array of a level if its pyramid has none. */
const UNNAMED = 'image'

/**
 * Returns the arrays of one level of a group's pyramid: those of its group, or its array with coordinates
 * computed from the scale and translation of each axis, in their units.
 * @throws InvalidArgumentError if the group has no pyramid, several, or no such level
 */
export async function variablesOfLevel(group: GroupNode, level: number, file: string): Promise<GroupContent> {
  if (!group.hasGroups)
    throw new HyperslabError('InvalidArgumentError', 'only Zarr stores and TIFF files have levels to open', {
      file,
      actual: level,
    })
  const pyramids = await group.levels()
  const refuse = (text: string): never => {
    throw new HyperslabError('InvalidArgumentError', text, { file, actual: level })
  }
  const [pyramid] = pyramids
  if (pyramid === undefined) return refuse('the group has no levels to open')
  if (pyramids.length > 1) refuse(`the group has ${pyramids.length} pyramids, so its levels are several: open arrays of one`)
  const found = pyramid.levels[level] ?? refuse(`there is no level ${level}: there are ${pyramid.levels.length}, from 0`)
  const { node } = found
  if (node.kind === 'group') return variablesOfGroup(node)
  const { array } = node
  const dims = array.shape.map((_, axis) => pyramid.axes?.[axis]?.name ?? (array.dimensionNames?.[axis] || `dim_${axis}`))
  const coordinates = pyramid.axes === undefined ? [] : levelCoordinates(pyramid.axes, found, array.shape)
  const image = { name: pyramid.name ?? UNNAMED, array: array as RawVariable['array'], dims }
  return { variables: [image, ...coordinates], attrs: plainAttrs(group.attrs), paths: [group.path, node.path] }
}

/**
 * Checks that the arrays of a group are not levels of a pyramid. Such arrays have the same dimensions with
 * different lengths, so they do not form a dataset.
 * @throws InvalidArgumentError for levels that are arrays of one group
 */
export async function checkNoLevels(group: GroupNode, file: string): Promise<void> {
  const levels = (await group.levels()).flatMap((pyramid) => pyramid.levels)
  if (levels.length < 2 || levels.every(({ node }) => node.kind === 'group')) return
  const text = `the group is a pyramid of ${levels.length} levels: open one of them, \`level: 0\``
  throw new HyperslabError('InvalidArgumentError', text, { file, actual: undefined, expected: levels.length })
}

/** Returns the coordinates of elements along each axis of space or time, in its units. */
function levelCoordinates(
  axes: readonly LevelAxis[],
  { scale, translation }: NodeLevel,
  shape: readonly number[],
): RawVariable[] {
  return axes.flatMap(({ name, type, unit }, axis) => {
    if (scale === undefined || translation === undefined || type === 'channel') return []
    const data = Float64Array.from({ length: shape[axis]! }, (_, i) => scale[axis]! * i + translation[axis]!)
    return [
      { name, array: listArray('float64', data), dims: [name], attrs: new Map(unit === undefined ? [] : [['units', unit]]) },
    ]
  })
}
