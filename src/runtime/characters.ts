import type { ZarrArray, ZarrGroup } from '../adapters/zarr/group.ts'
import { isSingleByte } from '../adapters/zarr/single-byte.ts'
import type { DiskArray } from '../array/disk-array.ts'
import type { ArrayNode } from '../array/nodes.ts'
import { textLengths } from '../core/characters.ts'
import { isHyperslabError } from '../core/errors.ts'
import { asCharacters } from '../dataset/characters.ts'

/** An array of a group. */
type GroupArray = Pick<ArrayNode, 'name' | 'array' | 'isCharacter'>

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

const asMember = (array: ZarrArray): GroupArray => ({
  name: array.name,
  array: array as unknown as DiskArray,
  isCharacter: isSingleByte(array),
})

/**
 * Joins the characters of arrays to text. The rule depends on the other arrays of the same group, which are
 * read once.
 */
export class CharactersOf {
  readonly #root: ZarrGroup | ZarrArray
  readonly #known = new Map<string, Promise<GroupArray[]>>()

  constructor(root: ZarrGroup | ZarrArray) {
    this.#root = root
  }

  async array(array: ZarrArray): Promise<DiskArray> {
    if (this.#root.kind === 'array' || !isSingleByte(array)) return array
    const path = array.path.slice(0, Math.max(0, array.path.length - array.name.length - 1))
    if (!this.#known.has(path))
      this.#known.set(path, arraysIn(path === this.#root.path ? this.#root : await this.#root.group(path)))
    return withCharacters(asMember(array), await this.#known.get(path)!)
  }
}

/** Returns the arrays of a group that can be opened. */
async function arraysIn(group: ZarrGroup): Promise<GroupArray[]> {
  const opened = (await group.arrays()).map(async (name) => {
    try {
      return [asMember(await group.array(name))]
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      return []
    }
  })
  return (await Promise.all(opened)).flat()
}
