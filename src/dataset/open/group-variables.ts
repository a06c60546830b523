import type { ArrayNode, GroupNode } from '../../array/nodes.ts'
import { isHyperslabError } from '../../core/errors.ts'
import { plainAttrs } from '../attributes.ts'
import type { DatasetFile } from '../dataset-file.ts'
import { toRawVariable } from './raw-variable.ts'

/** Variables of a group, with the paths of what they are made of. */
export interface GroupContent extends DatasetFile {
  readonly paths: readonly string[]
}

/** Returns the arrays of a group as variables. Those that cannot be opened are omitted, with the reasons. */
export async function variablesOfGroup(group: GroupNode): Promise<GroupContent> {
  const unreadable = new Map(await group.unreadable())
  const opened = (await group.arrays()).map(async (name): Promise<ArrayNode[]> => {
    try {
      return [await group.array(name)]
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      unreadable.set(name, error)
      return []
    }
  })
  const nodes = (await Promise.all(opened)).flat()
  // Loaded only for groups that have such arrays.
  const characters = nodes.some((node) => node.isCharacter) ? await import('./characters.ts') : undefined
  const variables = nodes.map((node) => ({
    ...toRawVariable(node.name, (characters?.withCharacters(node, nodes) ?? node.array) as never),
    attrs: node.attrs,
    unlimited: node.unlimited,
  }))
  if (nodes.some((node) => node.isComplex)) (await import('./complex-labels.ts')).labelParts(variables)
  return { variables, attrs: plainAttrs(group.attrs), unreadable, paths: [group.path, ...nodes.map(({ path }) => path)] }
}
