import type { CreateOptions } from '../af/layers/file-options.ts'
/** Classic NetCDF files: their variables as arrays, and copies of them as containers. */
import type { Progress } from '../array/transfers.ts'
import type { Signal } from '../core/signal.ts'
import type { Location } from './location.ts'

/** Options of `importNetcdf`. */
export interface ImportNetcdfOptions extends Pick<CreateOptions, 'codec' | 'level' | 'codecs' | 'overwrite'> {
  /** Names of the variables to copy; all when left out. */
  readonly variables?: readonly string[]
  /**
   * Lengths of chunks along dimensions, by name: `{ time: 12, lat: 48 }`. Those along the others are chosen
   * to give `chunkBytes`.
   */
  readonly chunks?: Readonly<Record<string, number>>
  /** Size that chunks should have; 128 KiB by default. */
  readonly chunkBytes?: number
  /** Size of blocks before compression, the least that is fetched to read a point; 256 KiB by default. */
  readonly blockBytes?: number
  /** Ends the import when it is aborted. */
  readonly signal?: Signal
  /** Told after every chunk of the copy. */
  readonly onProgress?: (progress: Progress) => void
}

/** The outcome of an import. */
export interface ImportedNetcdf {
  /** Names of the arrays. */
  readonly arrays: readonly string[]
  /** Size of the NetCDF file, and of the container (`bytes`), in bytes. */
  readonly sourceBytes: number
  readonly bytes: number
  /**
   * Mishaps after which the container is complete all the same, one line each: statistics that were not
   * stored, temporary files that are left.
   */
  readonly warnings: readonly string[]
}

/**
 * Copies a classic NetCDF file into a container of a single file, with dimension names, fill values and
 * attributes. Both are places as `open` takes them. The container is written under another name beside its
 * own and appears when it is finished; after an error there is nothing new, and what was there before is
 * untouched.
 * @throws AlreadyExistsError unless `overwrite` is set; NotFoundError; FormatError and UnsupportedError for
 *   what is not classic NetCDF; UnknownArrayError for variables that are not there; InvalidArgumentError for
 *   other options that do not fit; ReadOnlyError
 * @example
 * const { arrays } = await importNetcdf('tas.nc', 'imported.af', { chunks: { time: 1 } })
 * console.log(arrays) // [ 'tas' ]
 */
export async function importNetcdf(
  source: Location,
  target: Location,
  options: ImportNetcdfOptions = {},
): Promise<ImportedNetcdf> {
  // What writes containers is of no use to those who read.
  const { importFile } = await import('./import-netcdf.ts')
  return importFile(source, target, options)
}

export type {
  NetcdfAttribute,
  NetcdfAttributes,
  NetcdfDimension,
  NetcdfFile,
  NetcdfVariable,
  OpenNetcdfOptions,
} from '../adapters/netcdf/index.ts'
export type { AsyncBuffer } from '../core/async-buffer.ts'
export { openNetcdf } from './open-netcdf.ts'
