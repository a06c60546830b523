import { DiskArray } from '../../array/disk-array.js'
import type { AsyncBuffer } from '../../core/async-buffer.js'
import { type ScalarOf, toElement } from '../../core/dtype.js'
import { isHyperslabError, within } from '../../core/errors.js'
import type { Signal } from '../../core/signal.js'
import { checkAsyncBuffer } from './async-buffer.js'
import { attributesOf, type NetcdfAttribute } from './attributes.js'
import { type ClassicVariable, readHeader } from './header.js'
import { layOut, type VariableLayout } from './layout.js'
import { NetcdfSource } from './source.js'
import { bytesOfParsed, decodeText } from './text.js'
import { type ClassicDType, NUMERIC_TYPES } from './types.js'

export interface OpenNetcdfOptions {
  /** How errors call the file. */
  readonly name?: string | undefined
  readonly signal?: Signal | undefined
}

export interface NetcdfFile {
  readonly dimensions: readonly NetcdfDimension[]
  /** Global attributes. */
  readonly attributes: ReadonlyMap<string, NetcdfAttribute>
  /** In the order of the file. */
  readonly variables: readonly NetcdfVariable[]
}

export interface NetcdfDimension {
  readonly name: string
  readonly length: number
  /** True for the one dimension that grows. */
  readonly isRecord: boolean
}

export interface NetcdfVariable {
  readonly name: string
  readonly array: DiskArray
  readonly attributes: ReadonlyMap<string, NetcdfAttribute>
}

/**
 * Opens a classic NetCDF file (CDF-1 or CDF-2). Reads the header only; the variables are lazy arrays on the file. `char` variables are
 * arrays of strings along their last dimension.
 * @throws FormatError when the bytes are not NetCDF, broken or truncated; UnsupportedError for NetCDF-4 and CDF-5;
 *   MissingDependencyError without netcdfjs
 */
export async function openNetcdf(file: AsyncBuffer, options: OpenNetcdfOptions = {}): Promise<NetcdfFile> {
  const name = options.name ?? 'NetCDF file'
  return within({ file: name }, async () => {
    checkAsyncBuffer(file)
    const header = await readHeader(file, options.signal)
    const { records, variables } = layOut(header, file.byteLength)
    return {
      dimensions: header.dimensions.map((dimension, id) =>
        id === header.recordId ? { name: dimension.name, length: records, isRecord: true } : { ...dimension, isRecord: false },
      ),
      attributes: attributesOf(header.attributes),
      variables: header.variables.map((variable, i) => variableOf(file, name, variable, variables[i]!)),
    }
  })
}

function variableOf(file: AsyncBuffer, fileName: string, variable: ClassicVariable, layout: VariableLayout): NetcdfVariable {
  const { name, type } = variable
  const attributes = attributesOf(variable.attributes)
  const label = { file: fileName, array: name }
  const source =
    type === 'char'
      ? new NetcdfSource(file, { dtype: 'string', layout, label, fillValue: textFill(variable, layout) })
      : new NetcdfSource(file, {
          dtype: NUMERIC_TYPES[type],
          layout,
          label,
          fillValue: numberFill(NUMERIC_TYPES[type], attributes),
        })
  return { name, attributes, array: new DiskArray(source) as unknown as DiskArray }
}

function numberFill<D extends ClassicDType>(dtype: D, attributes: ReadonlyMap<string, NetcdfAttribute>): ScalarOf<D> | undefined {
  const fill = attributes.get('_FillValue')
  if (fill === undefined) return undefined
  try {
    return toElement(dtype, fill.value) as ScalarOf<D>
  } catch (error) {
    if (isHyperslabError(error, 'InvalidArgumentError')) return undefined
    throw error
  }
}

/** The fill value is one character: an element nobody wrote consists of it. */
function textFill({ attributes }: ClassicVariable, { elementBytes }: VariableLayout): string | undefined {
  const value = attributes.find(({ name }) => name === '_FillValue')?.value
  if (typeof value !== 'string' || value.length > 1) return undefined
  // netcdfjs has cut off a NUL.
  const [byte = 0] = bytesOfParsed(value)
  return decodeText(new Uint8Array(elementBytes).fill(byte))
}
