import type { ZarrArray, ZarrGroup } from '../../adapters/zarr/group.ts'
import { isSingleByte } from '../../adapters/zarr/single-byte.ts'
import type { DiskArray } from '../../array/disk-array.ts'
import { isHyperslabError } from '../../core/errors.ts'
import { type GroupArray, withCharacters } from '../open/characters.ts'

const asMember = (array: ZarrArray): GroupArray => ({
  name: array.name,
  array: array as unknown as DiskArray,
  isCharacter: isSingleByte(array),
})

/**
 * Joins the characters of arrays to text. The rule depends on the other arrays of the same group, which are
 * read once.
 */
export class ZarrCharacters {
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
