import { type HyperslabError, isHyperslabError } from '../core/errors.ts'

/** A group of nodes of which all can be listed. */
interface Walkable<A> {
  readonly kind: 'group'
  readonly path: string
  arrays(): Promise<readonly string[]>
  groups(): Promise<readonly string[]>
  unreadable(): Promise<ReadonlyMap<string, HyperslabError>>
  array(name: string): Promise<A>
  group(name: string): Promise<Walkable<A>>
}

/** All nodes at and below a node. */
export interface NodesBelow<G, A> {
  /** Groups: the node itself first, and each before those in it. */
  readonly groups: readonly G[]
  /** Arrays: those of a group before those of the groups in it. */
  readonly arrays: readonly A[]
  /** Paths of arrays and groups that cannot be read, with the reasons. */
  readonly unreadable: ReadonlyMap<string, HyperslabError>
}

/**
 * Opens all groups and arrays at and below a node.
 * @throws UnsupportedError for groups that cannot be listed; errors of the store
 */
export async function nodesBelow<A extends { readonly kind: 'array' }, G extends Walkable<A>>(
  root: G | A,
): Promise<NodesBelow<G, A>> {
  if (root.kind === 'array') return { groups: [], arrays: [root], unreadable: new Map() }
  const groups: G[] = []
  const arrays: A[] = []
  const unreadable = new Map<string, HyperslabError>()
  const visit = async (group: G): Promise<void> => {
    groups.push(group)
    const joinPath = (name: string): string => (group.path === '' ? name : `${group.path}/${name}`)
    for (const [name, error] of await group.unreadable()) unreadable.set(joinPath(name), error)
    for (const name of await group.arrays()) {
      try {
        arrays.push(await group.array(name))
      } catch (error) {
        if (!isUnreadable(error)) throw error
        unreadable.set(joinPath(name), error)
      }
    }
    for (const name of await group.groups()) await visit((await group.group(name)) as G)
  }
  await visit(root)
  return { groups, arrays, unreadable }
}

/** Whether an error means that metadata are damaged, or need what this package does not read. */
export const isUnreadable = (error: unknown): error is HyperslabError =>
  isHyperslabError(error, 'FormatError', 'UnsupportedError', 'CodecError', 'TooLargeError')
