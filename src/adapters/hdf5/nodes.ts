import type { DiskArray } from '../../array/disk-array.ts'
import type { ArrayNode, GroupNode, OpenedNodes, StorageInfo } from '../../array/nodes.ts'
import { elementBytes, isFixed } from '../../core/dtype.ts'
import type { ObjectTail, StoredAt } from '../../store/store.ts'
import { filterName } from './filters/names.ts'
import type { Hdf5Array, Hdf5Group } from './group.ts'
import { type OpenHdf5Options, openHdf5File } from './open.ts'

/** Opens an HDF5 file as a tree. */
export async function openHdf5Nodes(place: StoredAt, options: OpenHdf5Options, start?: ObjectTail): Promise<OpenedNodes> {
  const { root, file } = await openHdf5File(place, options, start)
  const title = 'HDF5'
  return { root: groupNode(root, title), warnings: file.superblock.warnings, close: () => file.close() }
}

const groupNode = (group: Hdf5Group, title: string): GroupNode => ({
  kind: 'group',
  path: group.path,
  name: group.name,
  title: group.isCompound ? `${title}, compound` : title,
  attrs: group.attrs,
  hasGroups: true,
  arrays: () => group.arrays(),
  groups: () => group.groups(),
  unreadable: () => group.unreadable(),
  array: async (path) => arrayNode(await group.array(path), title),
  group: async (path) => groupNode(await group.group(path), title),
  levels: async () => [],
})

const arrayNode = (array: Hdf5Array, title: string): ArrayNode => ({
  kind: 'array',
  path: array.path,
  name: array.name,
  title,
  array: array as unknown as DiskArray,
  attrs: array.attrs,
  // Texts of one byte are texts, not bytes that stand for characters.
  isCharacter: false,
  isComplex: array.index.plan.isComplex,
  storage: async () => describeStorage(array),
})

function describeStorage({ index, dtype, size, chunks }: Hdf5Array): StorageInfo {
  const { filters } = index.dataset
  return {
    chunkShape: chunks.chunkShape,
    codecs: filters.map(({ id }) => filterName(id) ?? `filter ${id}`).join(', ') || undefined,
    ...(isFixed(dtype) && { bytes: size * elementBytes(dtype) }),
  }
}
