import { type Checks, checkOptions } from '../core/options.ts'
import type { Dataset } from '../dataset/dataset.ts'
import { DECODE_CHECKS, type DecodeOptions } from '../dataset/dataset-file.ts'
import { checkNotFound, type Location } from '../tree/location.ts'
import type { DatasetFileOptions } from './dataset-file.ts'

/** Options of `openDataset`. */
export interface OpenDatasetOptions extends DecodeOptions, DatasetFileOptions {}

export const OPEN_DATASET_CHECKS: Checks<OpenDatasetOptions> = {
  ...DECODE_CHECKS,
  pool: 'WorkerPool',
  budget: 'MemoryBudget',
  group: 'string',
  level: 'integer from 0',
  notFound: 'list of integers',
}

/**
 * Opens what it finds as a dataset: a container (`.af`), classic NetCDF, a Zarr group (a folder, URL, `.zip`
 * or kerchunk's references). Attributes are read, and the labels of dimensions; values when they are
 * asked for, decoded by the CF conventions.
 * @throws NotFoundError; FormatError for a file of no known format; UnsupportedError for formats that are
 *   known and not read here, with what to do
 */
export async function openDataset(location: Location, options: OpenDatasetOptions = {}): Promise<Dataset> {
  checkOptions('openDataset', options, OPEN_DATASET_CHECKS)
  checkNotFound('openDataset', location, options)
  const [{ openDatasetFile }, { Dataset }] = await Promise.all([import('./dataset-file.ts'), import('../dataset/dataset.ts')])
  const file = await openDatasetFile(location, options)
  try {
    const { decode, signal, limits } = options
    return await Dataset.from(file, { ...(decode !== undefined && { decode }), ...(limits && { limits }), signal })
  } catch (error) {
    await file.close?.()
    throw error
  }
}
