import { checkOptions } from '../../core/options.ts'
import { checkUrlOptions, type Location } from '../../tree/location.ts'
import type { Dataset, UnknownTypes, VariableTypes } from '../dataset.ts'
import type { DecodeOptions } from '../dataset-file.ts'
import type { DatasetFileOptions } from './dataset-file.ts'
import { OPEN_DATASET_CHECKS } from './open-checks.ts'

/** Options of `openDataset`. */
export interface OpenDatasetOptions<V extends VariableTypes = VariableTypes> extends DecodeOptions, DatasetFileOptions {
  /**
   * Data types of some variables: `{ tas: 'float32' }`. They are checked when the dataset is opened, and
   * `get` returns these types.
   */
  readonly variables?: V
}

/**
 * Opens a dataset: a container (`.af`), NetCDF, HDF5, TIFF, or a Zarr group (a folder, URL, `.zip` or
 * kerchunk references). Reads attributes and the labels of dimensions. Other values are read on request,
 * decoded by the CF conventions.
 * @throws NotFoundError; FormatError for a file of unknown format; UnsupportedError for a known format that
 *   cannot be read here, with advice; UnknownArrayError or InvalidArgumentError if `variables` names a
 *   missing variable, or a wrong type
 */
export async function openDataset<const V extends VariableTypes = UnknownTypes>(
  location: Location,
  options: OpenDatasetOptions<V> = {},
): Promise<Dataset<V>> {
  checkOptions('openDataset', options, OPEN_DATASET_CHECKS)
  await checkUrlOptions('openDataset', location, options)
  const [{ openDatasetFile }, { Dataset }] = await Promise.all([import('./dataset-file.ts'), import('../dataset.ts')])
  const file = await openDatasetFile(location, options)
  try {
    const { decode, signal, limits, onProgress, variables } = options
    const ds = await Dataset.from(file, {
      ...(decode !== undefined && { decode }),
      ...(limits && { limits }),
      signal,
      onProgress,
    })
    if (variables !== undefined) {
      const { checkVariableTypes } = await import('./variable-types.ts')
      await checkVariableTypes(ds, variables, file.opened?.path)
    }
    return ds as Dataset<V>
  } catch (error) {
    await file.close?.()
    throw error
  }
}
