import type { DiskArray } from '../../array/disk-array.ts'
import type { NamedValues } from '../../array/source.ts'
import { withoutNuls } from '../../core/text.ts'
import { boundsOf, decodeBounds } from '../cf/bounds.ts'
import type { RawVariable } from '../cf/decode.ts'
import { Variable } from '../variable.ts'

/** An array of a tree. */
export interface TreeArray {
  /** Name to show: the name within the requested group, or the path of an array below it. */
  readonly name: string
  /** Path from the root of the tree; '' for an array that is the tree. */
  readonly path: string
  /** Elements as they are stored. */
  readonly array: DiskArray
  /** Attributes with those that its format implies. Default: those of the array. */
  readonly attrs?: NamedValues | undefined
}

/**
 * Returns the names of axes. Axes without a name are numbered, and so are repeated names except the first.
 */
export function listDimensions({ shape, dimensionNames }: DiskArray): string[] {
  return shape.map((_, axis) => {
    const name = dimensionNames?.[axis]
    return name === undefined || name === '' || dimensionNames!.indexOf(name) < axis ? `dim_${axis}` : name
  })
}

export const toRaw = ({ name, array }: Pick<TreeArray, 'name' | 'array'>): RawVariable => ({
  name,
  array,
  dims: listDimensions(array),
})

/**
 * Decodes an array by the CF conventions. Bounds have the units of the variable that they bound.
 * @throws errors of CF decoding
 */
export const decodedVariable = (array: Pick<TreeArray, 'name' | 'array'>, bounded?: TreeArray): Variable =>
  new Variable(decodeBounds(toRaw(array), bounded && toRaw(bounded)))

/** Whether an array has the bounds of another one. */
export const isBoundsVariable = ({ path }: TreeArray, other: TreeArray): boolean =>
  boundsOf(toRaw(other)).includes(lastName(path))

/** Returns a textual attribute, without the NULs that some writers append; undefined for empty text. */
export function textAttribute({ attrs }: Pick<DiskArray, 'attrs'>, name: string): string | undefined {
  const value = attrs?.get(name)
  const text = typeof value === 'string' ? withoutNuls(value).trim() : ''
  return text === '' ? undefined : text
}

/** Returns the last name of a path. */
export const lastName = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** Returns the group of an array with a slash at the end; empty for the root group. */
export const parentGroup = (name: string): string => name.slice(0, name.lastIndexOf('/') + 1)
