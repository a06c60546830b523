import { HyperslabError, type Tree } from '../../runtime/index.ts'
import { type FoundTree, findTree, LabelledTree } from '../../runtime/tree.ts'
import { oneLine, UsageError } from '../show/failure.ts'
import { printError } from '../show/text.ts'
import { followedBy, notFoundAt, type PlaceOptions, type ReadingOptions } from './options.ts'

/**
 * Opens a place for reading, and prints warnings about its content on standard error.
 * @param isConfined whether to refuse links and references that lead out of the place, because other users
 *   will read its content
 */
export async function openPlace(
  location: string,
  options: PlaceOptions,
  reading: ReadingOptions = {},
  isConfined = false,
): Promise<LabelledTree> {
  const at = notFoundAt(location, options)
  const found = await findTree(location, { ...at, ...(isConfined && { confined: 'links' }) })
  return openFound(found, location, { ...options, ...at }, reading)
}

/** Opens a place whose format is known; as {@link openPlace}. */
export async function openFound(
  found: FoundTree,
  location: string,
  options: PlaceOptions,
  reading: ReadingOptions = {},
): Promise<LabelledTree> {
  await checkPlaceOptions(found, location, options)
  const { names, layer, group, notFound, external } = options
  const tree = await found.open({ ...reading, names, layer, notFound, ...followedBy(external) })
  try {
    for (const warning of tree.warnings) printError(`warning: ${oneLine(warning)}`)
    const ofGroups = group === undefined ? options.pyramidLevel !== undefined && '--pyramid-level' : '--group'
    if (tree.root.kind === 'array' && ofGroups) throw new UsageError(`${ofGroups} is for groups, and ${location} is an array`)
    return new LabelledTree(tree, options.pyramidLevel === undefined ? group : await findLevel(tree, options.pyramidLevel, group))
  } catch (error) {
    await tree.close()
    throw error
  }
}

/** Returns the path of the group that is a level of the pyramid in another group. */
async function findLevel({ root }: Tree, level: number, group = ''): Promise<string> {
  const top = root.kind === 'array' || group === '' ? root : await root.group(group)
  const pyramids = top.kind === 'array' ? [] : await top.levels()
  const [pyramid] = pyramids
  if (pyramid === undefined || pyramids.length > 1)
    throw new UsageError(`--pyramid-level is for a group with one pyramid, and this one has ${pyramids.length || 'none'}`)
  const { levels } = pyramid
  const found = levels[level]
  if (found === undefined) throw new UsageError(`there is no level ${level}: there are ${levels.length}, from 0`)
  if (found.node.kind === 'group') return found.node.path
  const names = levels.map(({ node }) => node.path)
  throw new UsageError(`the levels are arrays: instead of --pyramid-level, name one of ${names.join(', ')}`)
}

/** @throws UsageError for options of other formats; closes the place then */
export async function checkPlaceOptions(
  found: FoundTree,
  location: string,
  options: PlaceOptions & { readonly deep?: boolean },
): Promise<void> {
  const option = await found.foreignOption(options, location)
  if (option === undefined) return
  await found.close()
  throw new UsageError(option.text)
}

/** Returns the error of commands that need a container, for a file of a format that is only read. */
export function importFirst({ format }: FoundTree, file: string, why: string): HyperslabError {
  const text = `this is ${format.title ?? format.noun}, ${why}; import it first: hyperslab import ${file} out.af`
  return new HyperslabError('UnsupportedError', text, { file })
}
