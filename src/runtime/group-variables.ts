import { withDurationUnit } from '../adapters/zarr/duration-units.ts'
import type { ZarrGroup } from '../adapters/zarr/group.ts'
import { isHyperslabError } from '../core/errors.ts'
import { plainAttrs } from '../dataset/attributes.ts'
import type { DatasetFile } from '../dataset/dataset-file.ts'
import { variableOf } from './raw-variable.ts'
import { withCharacters } from './zarr-characters.ts'

/** Returns the arrays of a group of a Zarr store. Omits those that cannot be opened, with the reasons. */
export async function variablesOfGroup(group: ZarrGroup): Promise<DatasetFile> {
  const unreadable = new Map(await group.unreadable())
  const opened = (await group.arrays()).map(async (name) => {
    try {
      return [await group.array(name)]
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      unreadable.set(name, error)
      return []
    }
  })
  const arrays = (await Promise.all(opened)).flat()
  const variables = arrays.map((array) => {
    const variable = variableOf(array.name, withCharacters(array, arrays))
    return { ...variable, attrs: withDurationUnit(variable.array.attrs, array.metadata.type) }
  })
  return { variables, attrs: plainAttrs(group.attrs), unreadable }
}
