import type { ZarrExport } from '../../copy/stored-arrays.ts'
import type { Dataset } from '../dataset.ts'
import { encodedParts } from './write.ts'

export { collectWarnings } from './write.ts'

/**
 * Returns a dataset in its encoded form, with its coordinates.
 * @param names of variables. Default: all
 * @throws UnknownArrayError
 */
export const datasetExport = (ds: Dataset, names: readonly string[] | undefined): Promise<ZarrExport> =>
  encodedParts((names === undefined ? ds : onlyVariables(ds, names)).parts, {})

/** @throws UnknownArrayError */
function onlyVariables(ds: Dataset, names: readonly string[]): Dataset {
  for (const name of names) ds.get(name)
  return ds.drop(...Object.keys(ds.variables).filter((name) => !names.includes(name)))
}
