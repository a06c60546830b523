import type { ArrayNode, GroupNode } from '../../array/nodes.ts'
import { nodesBelow } from '../../array/walk.ts'
import { copyToContainer } from '../../copy/copy.ts'
import type { ImportOptions, ImportResult, ImportSource, SourceArray } from '../../copy/import-arrays.ts'
import { toTypedAttributes } from '../../copy/named-arrays.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Location } from '../../tree/location.ts'
import type { Tree } from '../../tree/open-tree.ts'
import { withCharacters } from '../open/characters.ts'
import { toRawVariable } from '../open/raw-variable.ts'
import { decodeWarnings } from './decode-warnings.ts'

/**
 * Copies the arrays of a tree of any format into a container, with their attributes as they are stored. Names
 * of arrays are their paths; attributes of groups below are named by their paths, too.
 * @param call name of the called function in messages
 * @param open opens the tree, after the target was checked
 */
export function importTree(
  call: string,
  open: () => Promise<Tree>,
  target: Location,
  options: ImportOptions,
): Promise<ImportResult> {
  const openSource = async (): Promise<ImportSource> => {
    const tree = await open()
    try {
      return await sourceOfTree(tree, options.variables)
    } catch (error) {
      await tree.close()
      throw error
    }
  }
  return copyToContainer(call, openSource, target, options)
}

async function sourceOfTree(tree: Tree, variables: readonly string[] | undefined): Promise<ImportSource> {
  const { groups, arrays } = await listNodes(tree, variables)
  const copied = arrays.map((node): SourceArray => {
    const siblings = arrays.filter(({ path }) => groupOf(path) === groupOf(node.path))
    const array = withCharacters(node, siblings)
    const dimensionNames = array.shape.map((_, axis) => array.dimensionNames?.[axis] || `dim_${axis}`)
    return { name: node.path, array, dimensionNames, attributes: () => toTypedAttributes(node.attrs) }
  })
  return {
    attributes: groups.flatMap(({ path, attrs }) =>
      Array.from(toTypedAttributes(attrs), ([name, value]) => [path === '' ? name : `${path}/${name}`, value] as const),
    ),
    arrays: copied,
    dimensions: [...new Set(copied.flatMap(({ dimensionNames }) => dimensionNames))],
    warnings: [...tree.warnings, ...decodeWarnings(copied.map(({ name, array }) => toRawVariable(name, array as never)))],
    [Symbol.asyncDispose]: () => tree.close(),
  }
}

const groupOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))

/**
 * Returns the chosen arrays, or all, and the groups.
 * @throws the reason why an array cannot be read; UnknownArrayError
 */
async function listNodes(
  { root, location }: Tree,
  variables: readonly string[] | undefined,
): Promise<{ readonly groups: readonly GroupNode[]; readonly arrays: readonly ArrayNode[] }> {
  if (variables !== undefined && root.kind === 'group') {
    const arrays: ArrayNode[] = []
    for (const name of new Set(variables)) arrays.push(await root.array(name))
    return { groups: [root], arrays }
  }
  const { groups, arrays, unreadable } = await nodesBelow<ArrayNode, GroupNode>(root)
  const [first] = unreadable
  if (first === undefined) return { groups, arrays }
  const [array, { tag, message, details }] = first
  const more = unreadable.size > 1 ? `; ${unreadable.size - 1} more cannot be read` : ''
  const text = `'${array}' cannot be copied: ${message}${more}; name the arrays to copy as variables`
  throw new HyperslabError(tag, text, { file: location, actual: details.actual, expected: details.expected })
}
