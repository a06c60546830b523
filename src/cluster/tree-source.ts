import { attributeKey } from '../af/format/attribute-key.ts'
import type { AttributeValue } from '../af/format/footer.ts'
import { Attributes } from '../af/layers/attributes.ts'
import { toImport } from '../copy/import-arrays.ts'
import { groupAttributes } from '../copy/stored-arrays.ts'
import { groupDocuments } from '../copy/zarr-target.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import type { TypedValues } from '../dataset/attributes.ts'
import { chosenContents, contentsAsStored } from '../dataset/out/stored-tree.ts'
import type { LabelledTree, TreeContents } from '../dataset/tree/labelled-tree.ts'
import type { CopiedArrays } from './job-operation.ts'

/** Options of `treeSource`. */
export interface TreeSourceOptions {
  /** Names of the arrays. Default: all. */
  readonly variables?: readonly string[]
  /** Whether the target is a container, whose attributes have types. Default: Zarr. */
  readonly toContainer?: boolean
  /** HTTP statuses that mean "not found" for workers, too. */
  readonly notFound?: readonly number[]
  /** Function that is called with a message about each array that is left out. */
  readonly onWarning?: (text: string) => void
}

const CHECKS: Checks<TreeSourceOptions> = {
  variables: 'list of strings',
  toContainer: 'boolean',
  notFound: 'list of integers',
  onWarning: 'function',
}

/**
 * Returns the source of a job that copies arrays of a tree as they are stored: `planJob({ method: 'copy',
 * source, target })`.
 * @param location of the tree, as workers open it
 * @throws UnknownArrayError for unknown variables; UnsupportedError if an attribute would change its type on
 *   the way to a container
 */
export async function treeSource(tree: LabelledTree, location: string, options: TreeSourceOptions = {}): Promise<CopiedArrays> {
  checkOptions('treeSource', options, CHECKS)
  const { variables, toContainer = false, notFound, onWarning } = options
  const contents = await chosenContents(tree, variables, onWarning)
  const source = createRecipes({ location, ...(notFound && { notFound }) }, contents)
  const changed = toContainer ? changedAttribute(contents.groups.get('') as TypedValues, source) : undefined
  if (changed === undefined) return source
  const text = `the attribute '${changed}' of the file would change its type on the way to workers`
  throw new HyperslabError('UnsupportedError', text, { file: tree.location, actual: changed, expected: 'type' })
}

/** Returns the recipes by which workers open the arrays. */
function createRecipes(
  at: { readonly location: string; readonly notFound?: readonly number[] },
  contents: TreeContents,
): CopiedArrays {
  const isGroup = contents.groups.size > 0
  const recipes = contents.arrays.map(({ name, path }) => [isGroup ? name : '', { ...at, ...(path !== '' && { array: path }) }])
  // As text, attributes keep integers beyond 2^53 and whole floats.
  const groups = groupDocuments(contentsAsStored(contents))
  return { arrays: Object.fromEntries(recipes), ...(isGroup && { groups: Object.fromEntries(groups) }) }
}

/** Returns the name of an attribute of the file that a job would change; undefined if there is none. */
function changedAttribute(values: TypedValues, { groups = {} }: CopiedArrays): string | undefined {
  const map = new Map<string, AttributeValue>()
  const kept = new Attributes(() => map, () => map) // biome-ignore format: one line
  const { attributes } = toImport({ attributes: groupAttributes(groups['']!, ''), arrays: [] })
  for (const [name, value] of attributes) kept.set(name, value)
  return [...values.keys()].find((name) => {
    const [written, own] = [map.get(name), values.typed!(name) as AttributeValue]
    return written === undefined || attributeKey(written) !== attributeKey(own)
  })
}
