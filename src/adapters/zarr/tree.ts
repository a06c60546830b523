import { type HyperslabError, isHyperslabError } from '../../core/errors.ts'
import type { ZarrArray, ZarrGroup } from './group.ts'

/** All that is at and below a place. */
export interface ZarrTree {
  /** The place itself first, and each before those in it. */
  readonly groups: readonly ZarrGroup[]
  /** Those of a group before those of the groups in it. */
  readonly arrays: readonly ZarrArray[]
  /** What is there and cannot be read, by its path, with the reason. */
  readonly unreadable: ReadonlyMap<string, HyperslabError>
}

/**
 * Opens all groups and arrays at and below a node.
 * @throws UnsupportedError where nobody can tell what is in a group; errors of the store
 */
export async function treeOf(root: ZarrGroup | ZarrArray): Promise<ZarrTree> {
  if (root.kind === 'array') return { groups: [], arrays: [root], unreadable: new Map() }
  const groups: ZarrGroup[] = []
  const arrays: ZarrArray[] = []
  const unreadable = new Map<string, HyperslabError>()
  const visit = async (group: ZarrGroup): Promise<void> => {
    groups.push(group)
    const pathOf = (name: string): string => (group.path === '' ? name : `${group.path}/${name}`)
    for (const [name, error] of await group.unreadable()) unreadable.set(pathOf(name), error)
    for (const name of await group.arrays()) {
      try {
        arrays.push(await group.array(name))
      } catch (error) {
        if (!isUnreadable(error)) throw error
        unreadable.set(pathOf(name), error)
      }
    }
    for (const name of await group.groups()) await visit(await group.group(name))
  }
  await visit(root)
  return { groups, arrays, unreadable }
}

/** Whether an error says that metadata are damaged, or ask for what nobody here reads. */
export const isUnreadable = (error: unknown): error is HyperslabError =>
  isHyperslabError(error, 'FormatError', 'UnsupportedError', 'CodecError', 'TooLargeError')
