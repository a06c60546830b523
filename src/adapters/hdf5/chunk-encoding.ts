import { sizeOf } from '../../core/shape.ts'
import type { ChunkEncoding } from '../../engine/chunk-index.ts'
import { refuse } from './cursor.ts'
import type { ArrayHeader } from './dataset.ts'
import type { ElementPlan } from './elements/plan.ts'
import { isPayload } from './elements/steps.ts'
import { BLOSC_COMPRESSORS, type Filter } from './filters/index.ts'
import { filterName } from './filters/names.ts'
import type { OpenFile } from './open-file.ts'

/** Parts of an array that determine its encoding. */
interface StoredParts {
  readonly file: OpenFile
  readonly dataset: ArrayHeader
  readonly plan: ElementPlan
  /** Bytes in other files, if there are some. */
  readonly raw?: object | undefined
}

/**
 * Describes the stored chunks of an array in the terms of Zarr version 2.
 * @param isFiltered whether all filters were applied to the chunk
 * @throws UnsupportedError with the reason if readers of Zarr would decode other elements
 */
export function describeEncoding({ dataset, plan, raw, file }: StoredParts, isFiltered: boolean): ChunkEncoding {
  const { type, layout, filters, space } = dataset
  if (raw !== undefined) refuse('its elements are in other files (external raw data)')
  if (!isFiltered) refuse('some of its chunks are stored without some of the filters')
  const isText = type.kind === 'string' && (type.padding === 'nulls' || (type.padding === 'terminated' && type.size === 1))
  if (!isPayload({ ...plan, isBigEndian: false, ...(isText && { convert: undefined }) }))
    refuse(
      type.kind === 'compound'
        ? 'its elements are fields of compounds'
        : `its elements, of the class '${type.kind}', are stored in another form than those of Zarr`,
    )
  const bytes = sizeOf(layout.kind === 'chunked' ? layout.chunkShape : (space.shape ?? [0])) * plan.recordBytes
  const described = filters.map((filter) => {
    if (file.options.codecs?.some(({ name }) => name === filterName(filter.id)))
      refuse(`the filter '${filterName(filter.id)}' is replaced by a codec of the caller`)
    return describeFilter(filter, plan.recordBytes, bytes)
  })
  const own = isText ? { dtype: `|S${plan.valueBytes}` } : {}
  return { bigEndian: plan.isBigEndian, filters: described, ...own, isInMemory: layout.kind === 'compact' }
}

/** Describes a filter as numcodecs names it. Filters that no test compares with Python are refused. */
function describeFilter({ id, parameters }: Filter, elementBytes: number, bytes: number): ChunkEncoding['filters'][number] {
  switch (filterName(id)) {
    case 'deflate':
      return { id: 'zlib', level: parameters[0] ?? 1 }
    case 'shuffle': {
      const elementsize = parameters[0] ?? elementBytes
      if (bytes % elementsize !== 0) refuse(`its chunks of ${bytes} bytes are shuffled as elements of ${elementsize}`)
      return { id: 'shuffle', elementsize }
    }
    case 'fletcher32':
      return { id: 'fletcher32' }
    case 'zstd':
      return { id: 'zstd', level: parameters[0] ?? 0 }
    case 'blosc':
      return { id: 'blosc', cname: BLOSC_COMPRESSORS[parameters[6] ?? 0] ?? 'blosclz', clevel: parameters[4] ?? 5 }
    default:
      return refuse(`numcodecs does not decode the filter '${filterName(id)}' as HDF5 stores it`)
  }
}
