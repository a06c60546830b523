import type { GroupNode } from '../../array/nodes.ts'
import type { ScalarOptions } from '../../array/source.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { WorkerPool } from '../../pool/task.ts'
import type { OpenFormatOptions } from '../../tree/formats.ts'
import type { Location } from '../../tree/location.ts'
import { locateTree, type Tree } from '../../tree/open-tree.ts'
import type { UrlOptions } from '../../tree/url-options.ts'
import type { OmittedGroups } from '../coords.ts'
import type { DatasetFile, DecodeOptions } from '../dataset-file.ts'
import { type GroupContent, variablesOfGroup } from './group-variables.ts'

/** Options of opening the arrays of a dataset. */
export interface DatasetFileOptions
  extends UrlOptions,
    ScalarOptions,
    Pick<OpenFormatOptions, 'cache' | 'names' | 'external' | 'codecs'> {
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool
  /** Limit of the memory that reads take at once, shared by all that have this budget. */
  readonly budget?: MemoryBudget
  /**
   * Path of the group to open; '/' is the root alone. Default: the root, and copies refuse to leave out its
   * groups.
   */
  readonly group?: string
  /** Level of the pyramid that a Zarr group or a TIFF image is, from 0, usually the finest. */
  readonly level?: number
}

/** Opens the arrays of a place of any format. Loaded by the first call, because it opens nothing before. */
export async function openDatasetFile(
  location: Location,
  { group, level, ...options }: DatasetFileOptions & Pick<DecodeOptions, 'signal'>,
): Promise<DatasetFile> {
  const { names, external, codecs } = options
  // The coordinates are read right after the metadata. Loading their readers during these requests saves a
  // round trip.
  import('../../array/read-whole.ts').catch(() => undefined)
  const found = await locateTree(location, options)
  await found.checkOptions('openDataset', { names, external, codecs })
  const tree = await found.open(options)
  try {
    const opened = { format: level === undefined ? tree.format : 'level of a pyramid', path: tree.location, group }
    const { warnings } = tree
    const { paths, ...content } = await findContent(tree, { group, level })
    // A chosen group is opened without those below it. All others belong to a copy of the place.
    const groupsLeft = group === undefined && level === undefined ? () => findGroups(tree) : undefined
    return { ...content, warnings, opened, groupsLeft, version: () => tree.version(paths), close: () => tree.close() }
  } catch (error) {
    await tree.close()
    throw error
  }
}

async function findContent(
  { root, location: file }: Tree,
  { group: path, level }: { readonly group: string | undefined; readonly level: number | undefined },
): Promise<GroupContent> {
  if (root.kind === 'array')
    throw new HyperslabError('InvalidArgumentError', 'the place holds an array', { file, actual: 'array', expected: 'group' })
  const group = path === undefined || path === '' || path === '/' ? root : await root.group(path)
  if (level === undefined && !describesPyramid(group)) return variablesOfGroup(group)
  const { checkNoLevels, variablesOfLevel } = await import('./level-variables.ts')
  if (level !== undefined) return variablesOfLevel(group, level, file)
  await checkNoLevels(group, file)
  return variablesOfGroup(group)
}

/** Returns the groups at the root. */
const findGroups = async ({ root, location: file }: Tree): Promise<OmittedGroups> => ({
  file,
  names: root.kind === 'group' && root.hasGroups ? await root.groups() : [],
})

/** Whether a group may be a pyramid, which only groups of formats with groups are. */
const describesPyramid = ({ hasGroups, attrs }: GroupNode): boolean =>
  hasGroups && ['multiscales', 'ome'].some((name) => attrs.get(name) !== undefined)
