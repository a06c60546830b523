import { HyperslabError } from '../core/errors.ts'
import { type FoundTree, findTree } from '../tree/open-tree.ts'
import { resolveTarget } from '../tree/target.ts'
import { oneLine, UsageError } from './failure.ts'
import { notFoundAt, type PlaceOptions, type ReadingOptions } from './options.ts'
import { printError } from './output.ts'
import type { Place } from './place.ts'
import { namingUntold, TreePlace } from './tree-place.ts'
import { checkTargets } from './view-references.ts'

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
): Promise<Place> {
  const at = notFoundAt(location, options)
  const found = await findTree(isConfined ? await resolveTarget(location, at) : location, at)
  return openFound(found, location, { ...options, ...at }, reading, isConfined)
}

/** Opens a place whose format is known; as {@link openPlace}. */
export async function openFound(
  found: FoundTree,
  location: string,
  options: PlaceOptions,
  reading: ReadingOptions = {},
  isConfined = false,
): Promise<Place> {
  await checkPlaceOptions(found, location, options)
  const { names, layer, group, notFound } = options
  const check = isConfined ? { checkReferences: checkTargets } : {}
  const tree = await namingUntold(location, () => found.open({ ...reading, names, layer, notFound, ...check }, KINDS))
  try {
    for (const warning of tree.warnings) printError(`warning: ${oneLine(warning)}`)
    if (tree.root.kind === 'array' && group !== undefined)
      throw new UsageError(`--group is for groups, and ${location} is an array`)
    return new TreePlace(tree, group)
  } catch (error) {
    await tree.close()
    throw error
  }
}

/** Formats in the error for a place of none. */
export const KINDS = 'neither a container (.af) nor a Zarr array or group'

/** @throws UsageError for options of other formats; closes the place then */
export async function checkPlaceOptions(
  found: FoundTree,
  location: string,
  options: PlaceOptions & { readonly deep?: boolean },
): Promise<void> {
  const option = await found.foreignOption(options)
  if (option === undefined) return
  await found.close()
  throw new UsageError(`--${option.name} is for ${option.plural}, and ${location} is ${found.format.noun}`)
}

/** Returns the error of commands that need a container. */
export function importFirst(file: string, why: string): HyperslabError {
  const text = `this is a classic NetCDF file, ${why}; import it first: hyperslab import ${file} out.af`
  return new HyperslabError('UnsupportedError', text, { file })
}
