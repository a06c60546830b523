import { DiskArray } from '../../array/disk-array.js'
import type { BlockSource } from '../../array/source.js'
import type { AsyncBuffer } from '../../core/async-buffer.js'
import { type DType, type ScalarOf, toElement } from '../../core/dtype.js'
import { HyperslabError, isHyperslabError, within } from '../../core/errors.js'
import type { Checks } from '../../core/options.js'
import type { Signal } from '../../core/signal.js'
import { checkAsyncBuffer } from './async-buffer.js'
import { attributesOf, type NetcdfAttributes } from './attributes.js'
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

export const OPEN_CHECKS: Checks<OpenNetcdfOptions> = { name: 'string', signal: 'AbortSignal' }

export interface NetcdfFile extends AsyncDisposable {
  readonly dimensions: readonly NetcdfDimension[]
  /** Global attributes. */
  readonly attrs: NetcdfAttributes
  /** In the order of the file. */
  readonly variables: readonly NetcdfVariable[]
  /** Bytes of the file. */
  readonly byteLength: number
  /**
   * The variable of a name.
   * @throws UnknownArrayError naming those there are
   */
  variable(name: string): NetcdfVariable
  /** Gives back all handles; what is read afterwards is a ClosedError. */
  close(): Promise<void>
}

export interface NetcdfDimension {
  readonly name: string
  readonly length: number
  /** True for the one dimension that grows. */
  readonly isRecord: boolean
}

/** A variable of a NetCDF file, as a lazy array on it. */
export class NetcdfVariable<D extends DType = DType> extends DiskArray<D> {
  readonly name: string
  readonly attrs: NetcdfAttributes

  /** @internal */
  constructor(name: string, attrs: NetcdfAttributes, source: BlockSource<D>) {
    super(source)
    this.name = name
    this.attrs = attrs
  }
}

/** Bytes of a file that somebody holds open. */
export type OpenBuffer = AsyncBuffer & { close?(): Promise<void> }

/**
 * Opens a classic NetCDF file (CDF-1 or CDF-2). Reads the header only; the variables are lazy arrays on the file. `char` variables are
 * arrays of strings along their last dimension.
 * @throws FormatError when the bytes are not NetCDF, broken or truncated; UnsupportedError for NetCDF-4 and CDF-5
 */
export async function openBuffer(buffer: OpenBuffer, options: OpenNetcdfOptions = {}): Promise<NetcdfFile> {
  const fileName = options.name ?? 'NetCDF file'
  return within({ file: fileName }, async () => {
    checkAsyncBuffer(buffer)
    let closed = false
    const file: AsyncBuffer = {
      byteLength: buffer.byteLength,
      slice: (start, end) => {
        if (closed) throw new HyperslabError('ClosedError', 'the file was closed')
        return buffer.slice(start, end)
      },
    }
    const header = await readHeader(file, options.signal)
    const { records, variables: layouts } = layOut(header, file.byteLength)
    const variables = header.variables.map((variable, i) => variableOf(file, fileName, variable, layouts[i]!))
    const close = async (): Promise<void> => {
      closed = true
      await buffer.close?.()
    }
    return {
      dimensions: header.dimensions.map((dimension, id) =>
        id === header.recordId ? { name: dimension.name, length: records, isRecord: true } : { ...dimension, isRecord: false },
      ),
      attrs: attributesOf(header.attributes),
      variables,
      byteLength: file.byteLength,
      variable: (name) => variables.find((one) => one.name === name) ?? unknownVariable(fileName, name, variables),
      close,
      [Symbol.asyncDispose]: close,
    }
  })
}

function unknownVariable(file: string, array: string, variables: readonly NetcdfVariable[]): never {
  const names = variables.map(({ name }) => name)
  const text = `there is no such variable; there are ${names.join(', ') || 'none'}`
  throw new HyperslabError('UnknownArrayError', text, { file, array, actual: array, expected: names })
}

function variableOf(file: AsyncBuffer, fileName: string, variable: ClassicVariable, layout: VariableLayout): NetcdfVariable {
  const { name, type } = variable
  const attrs = attributesOf(variable.attributes)
  const label = { file: fileName, array: name }
  const source =
    type === 'char'
      ? new NetcdfSource(file, { dtype: 'string', layout, label, fillValue: textFill(variable, layout) })
      : new NetcdfSource(file, {
          dtype: NUMERIC_TYPES[type],
          layout,
          label,
          fillValue: numberFill(NUMERIC_TYPES[type], attrs),
        })
  return new NetcdfVariable(name, attrs, source as unknown as BlockSource)
}

function numberFill<D extends ClassicDType>(dtype: D, attrs: NetcdfAttributes): ScalarOf<D> | undefined {
  const fill = attrs.get('_FillValue')
  if (fill === undefined) return undefined
  try {
    return toElement(dtype, fill) as ScalarOf<D>
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
