import { SCALAR_CHECKS } from '../../array/source.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { checkNotFound, type Location } from '../../tree/location.ts'
import type { Dataset } from '../dataset.ts'
import { DECODE_CHECKS, type DecodeOptions } from '../dataset-file.ts'
import type { DatasetFileOptions } from './dataset-file.ts'

/** Options of `openDataset`. */
export interface OpenDatasetOptions extends DecodeOptions, DatasetFileOptions {}

export const OPEN_DATASET_CHECKS: Checks<OpenDatasetOptions> = {
  ...DECODE_CHECKS,
  ...SCALAR_CHECKS,
  pool: 'WorkerPool',
  budget: 'MemoryBudget',
  group: 'string',
  level: 'integer from 0',
  notFound: 'list of integers',
}

/**
 * Opens a dataset: a container (`.af`), classic NetCDF, or a Zarr group (a folder, URL, `.zip` or kerchunk
 * references). Reads attributes and the labels of dimensions. Other values are read on request, decoded by
 * the CF conventions.
 * @throws NotFoundError; FormatError for a file of unknown format; UnsupportedError for a known format that
 *   cannot be read here, with advice
 */
export async function openDataset(location: Location, options: OpenDatasetOptions = {}): Promise<Dataset> {
  checkOptions('openDataset', options, OPEN_DATASET_CHECKS)
  await checkNotFound('openDataset', location, options)
  const [{ openDatasetFile }, { Dataset }] = await Promise.all([import('./dataset-file.ts'), import('../dataset.ts')])
  const file = await openDatasetFile(location, options)
  try {
    const { decode, signal, limits } = options
    return await Dataset.from(file, { ...(decode !== undefined && { decode }), ...(limits && { limits }), signal })
  } catch (error) {
    await file.close?.()
    throw error
  }
}
