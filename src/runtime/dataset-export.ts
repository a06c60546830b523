import type { Dataset } from '../dataset/dataset.ts'
import { encodedParts } from '../dataset/out/write.ts'
import type { ZarrExport } from './export-zarr.ts'

export { warningsOf } from '../dataset/out/write.ts'

/**
 * Returns a dataset in its encoded form, with its coordinates.
 * @param names of variables. Default: all
 * @throws UnknownArrayError
 */
export const datasetExport = (ds: Dataset, names: readonly string[] | undefined): ZarrExport =>
  encodedParts((names === undefined ? ds : onlyVariables(ds, names)).parts, {})

/** @throws UnknownArrayError */
export function onlyVariables(ds: Dataset, names: readonly string[]): Dataset {
  for (const name of names) ds.get(name)
  return ds.drop(...Object.keys(ds.variables).filter((name) => !names.includes(name)))
}
