import type { DiskArray } from '../../array/disk-array.ts'
import type { ArrayNode, GroupNode, OpenedNodes, StorageInfo } from '../../array/nodes.ts'
import { elementBytes, isFixed } from '../../core/dtype.ts'
import { readOnce } from '../../core/kept.ts'
import type { ObjectStart, StoredAt } from '../../store/store.ts'
import { variableName, visibleAttributes } from './dimensions.ts'
import { filterName } from './filters/names.ts'
import type { Hdf5Array, Hdf5Group, LabelledArray } from './group.ts'
import { type OpenHdf5Options, openHdf5File } from './open.ts'

/** Opens an HDF5 file as a tree. */
export async function openHdf5Nodes(place: StoredAt, options: OpenHdf5Options, start?: ObjectStart): Promise<OpenedNodes> {
  const { root, file } = await openHdf5File(place, options, start)
  const title = 'HDF5'
  return { root: groupNode(root, title), warnings: file.superblock.warnings, close: () => file.close() }
}

function groupNode(group: Hdf5Group, title: string): GroupNode {
  /** Links of the variables in the group by their names. Scales that are only lengths are no variables. */
  const links = readOnce(async (): Promise<ReadonlyMap<string, string>> => {
    const lengths = new Set((await group.scales()).filter(({ isVariable }) => !isVariable).map(({ name }) => name))
    const stored = (await group.arrays()).filter((link) => !lengths.has(link))
    return new Map(stored.map((link) => [variableName(link), link]))
  })
  return {
    kind: 'group',
    path: group.path,
    name: group.name,
    title: group.isCompound ? `${title}, compound` : title,
    attrs: visibleAttributes(group.attrs),
    hasGroups: true,
    arrays: async () => [...(await links()).keys()],
    groups: () => group.groups(),
    unreadable: () => group.unreadable(),
    array: async (path) => {
      const end = path.lastIndexOf('/') + 1
      if (end > 0) return groupNode(await group.group(path.slice(0, end)), title).array(path.slice(end))
      const labelled = await group.labelledArray((await links()).get(path) ?? path)
      return arrayNode(labelled.array, title, await atFullLength(labelled))
    },
    group: async (path) => groupNode(await group.group(path), title),
    levels: async () => [],
  }
}

/** Returns an array at the lengths of its dimensions. */
async function atFullLength({ array, shape }: LabelledArray): Promise<DiskArray> {
  if (shape.every((length, axis) => length === array.shape[axis])) return array as unknown as DiskArray
  return (await import('./extended.ts')).extendArray({ array, shape })
}

const arrayNode = (array: Hdf5Array, title: string, elements: DiskArray): ArrayNode => ({
  kind: 'array',
  path: array.path.slice(0, -array.name.length) + variableName(array.name),
  name: variableName(array.name),
  title,
  array: elements,
  attrs: array.attrs,
  isCharacter: isCharacter(array),
  isComplex: array.index.plan.isComplex,
  unlimited: array.dimensionNames?.filter((_, axis) => isUnlimited(array, axis)) ?? [],
  storage: async () => describeStorage(array),
})

const isUnlimited = ({ index: { dataset } }: Hdf5Array, axis: number): boolean => {
  const { maxShape } = dataset.space
  return axis < maxShape.length && maxShape[axis] === undefined
}

/**
 * Whether elements are single characters, as netCDF stores `char`. Those padded with spaces have lost
 * some.
 */
function isCharacter({ index: { dataset } }: Hdf5Array): boolean {
  const { type } = dataset
  return type.kind === 'string' && type.size === 1 && type.padding !== 'spaces'
}

function describeStorage({ index, dtype, size, chunks }: Hdf5Array): StorageInfo {
  const { filters } = index.dataset
  return {
    chunkShape: chunks.chunkShape,
    codecs: filters.map(({ id }) => filterName(id) ?? `filter ${id}`).join(', ') || undefined,
    ...(isFixed(dtype) && { bytes: size * elementBytes(dtype) }),
  }
}
