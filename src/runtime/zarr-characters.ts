import type { ZarrArray, ZarrGroup } from '../adapters/zarr/group.ts'
import type { DiskArray } from '../array/disk-array.ts'
import { textLengths } from '../core/characters.ts'
import { isHyperslabError } from '../core/errors.ts'
import { asCharacters } from '../dataset/characters.ts'

/** Whether elements are single characters, `|S1`, as xarray and kerchunk store `char` data. */
const isCharacter = ({ metadata: { type } }: ZarrArray): boolean => type.kind === 'fixed-bytes' && type.bytes === 1

/**
 * Returns an array of a group with its single characters joined to text by the rule for NetCDF. Other arrays
 * are returned unchanged.
 * @param arrays all arrays of its group
 */
export function withCharacters(array: ZarrArray, arrays: readonly ZarrArray[]): DiskArray {
  if (!isCharacter(array) || array.dimensionNames === undefined) return array
  const uses = arrays.map((each) => ({ name: each.name, dims: each.dimensionNames ?? [], isCharacter: isCharacter(each) }))
  return asCharacters(array, textLengths(uses, (dim) => dim).has(array.dimensionNames.at(-1)!))
}

/**
 * Joins the characters of arrays to text. The rule depends on the other arrays of the same group, which are
 * read once.
 */
export class CharactersOf {
  readonly #root: ZarrGroup | ZarrArray
  readonly #known = new Map<string, Promise<ZarrArray[]>>()

  constructor(root: ZarrGroup | ZarrArray) {
    this.#root = root
  }

  async array(array: ZarrArray): Promise<DiskArray> {
    if (this.#root.kind === 'array' || !isCharacter(array)) return array
    const path = array.path.slice(0, Math.max(0, array.path.length - array.name.length - 1))
    if (!this.#known.has(path))
      this.#known.set(path, arraysIn(path === this.#root.path ? this.#root : await this.#root.group(path)))
    return withCharacters(array, await this.#known.get(path)!)
  }
}

/** Returns the arrays of a group that can be opened. */
async function arraysIn(group: ZarrGroup): Promise<ZarrArray[]> {
  const opened = (await group.arrays()).map(async (name) => {
    try {
      return [await group.array(name)]
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      return []
    }
  })
  return (await Promise.all(opened)).flat()
}
