import { arrayAsStored, type ZarrExport } from '../../copy/stored-arrays.ts'
import type { TypedValues } from '../attributes.ts'
import type { LabelledTree, TreeContents } from '../tree/labelled-tree.ts'

/**
 * Returns the content of a tree, or some arrays of it with the attributes of all groups.
 * @param onWarning is called with a message about each array that is left out
 * @throws UnknownArrayError with the known names
 */
export async function chosenContents(
  tree: LabelledTree,
  names: readonly string[] | undefined,
  onWarning: ((text: string) => void) | undefined,
): Promise<TreeContents> {
  const contents = await tree.contents()
  for (const each of contents.leftOut) onWarning?.(`left out: ${each}`)
  if (names === undefined) return contents
  // An unknown name is an error that lists the known ones.
  for (const name of names) if (!contents.arrays.some((each) => each.name === name)) await tree.array(name)
  return { ...contents, arrays: contents.arrays.filter(({ name }) => names.includes(name)) }
}

/** Returns arrays with all metadata that are stored with them. */
export function contentsAsStored({ arrays, groups }: TreeContents): ZarrExport {
  const attributes = (values: TypedValues | undefined): ReadonlyMap<string, unknown> => {
    const named = Array.from(values?.keys() ?? [], (name): [string, unknown] => [name, values!.get(name)])
    return Object.assign(new Map(named), { typed: (name: string) => values?.typed?.(name) })
  }
  return {
    attributes: attributes(groups.get('')),
    groups: new Map([...groups].filter(([path]) => path !== '').map(([path, values]) => [path, attributes(values)])),
    // A place without groups is a single array.
    arrays: arrays.map(({ name, array }) => arrayAsStored(groups.size === 0 ? '' : name, array)),
  }
}
