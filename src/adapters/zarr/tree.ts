import { type HyperslabError, isHyperslabError } from '../../core/errors.ts'
import type { ZarrArray, ZarrGroup } from './group.ts'

/** All nodes at and below a location. */
export interface ZarrTree {
  /** Groups: first the location itself; each group comes before the groups in it. */
  readonly groups: readonly ZarrGroup[]
  /** Arrays: those of a group come before those of the groups in it. */
  readonly arrays: readonly ZarrArray[]
  /** Nodes that cannot be read, by path, with the reason. */
  readonly unreadable: ReadonlyMap<string, HyperslabError>
}

/**
 * Opens all groups and arrays at and below a node.
 * @throws UnsupportedError if the nodes in a group cannot be listed; errors of the store
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

/** Whether an error means that metadata are damaged, or require features that are not supported. */
export const isUnreadable = (error: unknown): error is HyperslabError =>
  isHyperslabError(error, 'FormatError', 'UnsupportedError', 'CodecError', 'TooLargeError')
