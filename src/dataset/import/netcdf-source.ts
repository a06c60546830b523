import type { NetcdfAttributes } from '../../adapters/netcdf/index.ts'
import { copyToContainer } from '../../copy/copy.ts'
import {
  IMPORT_CHECKS,
  type ImportOptions,
  type ImportResult,
  type ImportSource,
  type TypedAttributes,
} from '../../copy/import-arrays.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import type { Location } from '../../tree/location.ts'
import { openNetcdf } from '../../tree/open-netcdf.ts'
import type { NotFoundOptions } from '../../tree/url-options.ts'
import { toRawVariable } from '../open/raw-variable.ts'
import { decodeWarnings } from './decode-warnings.ts'

/** Options of `importNetcdf`. */
export interface ImportNetcdfOptions extends ImportOptions, NotFoundOptions {}

/** Result of `importNetcdf`. */
export interface NetcdfImportResult extends ImportResult {
  /** Size of the NetCDF file in bytes. */
  readonly sourceBytes: number
}

const CHECKS: Checks<ImportNetcdfOptions> = { ...IMPORT_CHECKS, notFound: 'list of integers' }

/** See `importNetcdf` of hyperslab/netcdf. */
export async function importFile(
  source: Location,
  target: Location,
  options: ImportNetcdfOptions = {},
): Promise<NetcdfImportResult> {
  checkOptions('importNetcdf', options, CHECKS)
  const { signal, variables, notFound } = options
  let sourceBytes = 0
  const open = async (): Promise<ImportSource> => {
    const file = await openNetcdf(source, { signal, notFound })
    sourceBytes = file.byteLength
    const chosen = variables === undefined ? file.variables : [...new Set(variables)].map((name) => file.variable(name))
    return {
      attributes: typed(file.attrs),
      arrays: chosen.map((array) => ({
        name: array.name,
        array,
        dimensionNames: array.dimensionNames ?? [],
        attributes: () => typed(array.attrs),
      })),
      dimensions: file.dimensions.map(({ name }) => name),
      warnings: decodeWarnings(chosen.map((variable) => toRawVariable(variable.name, variable as never))),
      [Symbol.asyncDispose]: () => file.close(),
    }
  }
  const imported = await copyToContainer('importNetcdf', open, target, options)
  return { ...imported, sourceBytes }
}

const typed = (attrs: NetcdfAttributes): TypedAttributes => [...attrs.keys()].map((name) => [name, attrs.typed(name)!])
