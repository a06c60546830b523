import type { DiskArray } from '../../array/disk-array.ts'
import type { ArrayNode } from '../../array/nodes.ts'
import { textLengths } from '../../core/characters.ts'
import { asCharacters } from '../characters.ts'

/** An array of a group, as the rule for characters needs it. */
export type GroupArray = Pick<ArrayNode, 'name' | 'array' | 'isCharacter'>

/**
 * Returns an array of a group with its single characters, `|S1`, joined to text by the rule for NetCDF, as
 * xarray and kerchunk store `char` data. Other arrays are returned unchanged.
 * @param arrays all arrays of its group
 */
export function withCharacters({ array, isCharacter }: GroupArray, arrays: readonly GroupArray[]): DiskArray {
  if (!isCharacter || array.dimensionNames === undefined) return array
  const uses = arrays.map((each) => ({ name: each.name, dims: each.array.dimensionNames ?? [], isCharacter: each.isCharacter }))
  return asCharacters(array, textLengths(uses, (dim) => dim).has(array.dimensionNames.at(-1)!))
}
