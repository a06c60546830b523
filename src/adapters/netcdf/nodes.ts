import type { DiskArray } from '../../array/disk-array.ts'
import { flatGroup } from '../../array/flat-group.ts'
import type { OpenedNodes } from '../../array/nodes.ts'
import { elementBytes, isFixed } from '../../core/dtype.ts'
import type { StoredAt } from '../../store/store.ts'
import { type OpenStoredOptions, openStored } from './stored.ts'

/** Opens a classic NetCDF file as a group of its variables. */
export async function openNetcdfNodes(place: StoredAt, options: OpenStoredOptions): Promise<OpenedNodes> {
  const file = await openStored(place, options)
  const records = file.dimensions.filter(({ isRecord }) => isRecord).map(({ name }) => name)
  const root = flatGroup({
    label: place.store.describe(place.path),
    title: 'classic NetCDF',
    attrs: file.attrs,
    names: () => file.variables.map(({ name }) => name),
    array: (name) => {
      const array = file.variable(name)
      const { dtype, size, chunks, attrs } = array
      const bytes = isFixed(dtype) ? size * elementBytes(dtype) : undefined
      return {
        array: array as unknown as DiskArray,
        attrs,
        unlimited: records.filter((dim) => array.dimensionNames?.[0] === dim),
        storage: async () => ({ chunkShape: chunks.chunkShape, bytes }),
      }
    },
  })
  return { root, warnings: [], close: () => file.close() }
}
