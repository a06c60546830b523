/// <reference lib="esnext.disposable" preserve="true" />
import { DiskArray } from '../../array/disk-array.ts'
import { elementIn, parseSign } from '../../array/lazy/signs.ts'
import type { Missing } from '../../array/missing.ts'
import { SCALAR_CHECKS, type ScalarOptions } from '../../array/source.ts'
import type { AsyncBuffer } from '../../core/async-buffer.ts'
import { decodeText } from '../../core/characters.ts'
import { NETCDF4_FILL } from '../../core/default-fill.ts'
import type { DType, ScalarOf } from '../../core/dtype.ts'
import { HyperslabError, within } from '../../core/errors.ts'
import { counted } from '../../core/inspect.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Checks } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'
import type { BlockOrigin } from '../../engine/block.ts'
import type { ChunkIndex } from '../../engine/chunk-index.ts'
import { ChunkedSource } from '../../engine/chunked-source.ts'
import { StridedReader } from '../../engine/strided-reader.ts'
import type { WorkerPool } from '../../pool/task.ts'
import { type NetcdfAttributes, toAttributes } from './attributes.ts'
import { type ClassicVariable, checkAsyncBuffer, readBytes, readHeader } from './header.ts'
import { layOut, type OpenNetcdf, VariableIndex, type VariableLayout } from './layout.ts'
import { type ClassicDType, TYPE_BYTES } from './types.ts'

/** Options of `openNetcdf`. Aborting `signal` cancels the opening. */
export interface OpenNetcdfOptions extends ScalarOptions {
  /** Name of the file in errors. */
  readonly name?: string | undefined
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool | undefined
  /** Limit of the memory that reads take at once, shared by all that have this budget. */
  readonly budget?: MemoryBudget | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
  /**
   * HTTP statuses that mean "not found" for a URL. Default: 404 and 410. If the list has another one, such as
   * 403, and the server sends it, the read also requests an object that is known to exist. The absence counts
   * only if the server returns that object. For a store of your own, pass the option to the store.
   */
  readonly notFound?: readonly number[] | undefined
}

export const NETCDF_CHECKS: Checks<OpenNetcdfOptions> = {
  ...SCALAR_CHECKS,
  name: 'string',
  pool: 'WorkerPool',
  budget: 'MemoryBudget',
  signal: 'AbortSignal',
  notFound: 'list of integers',
}

/** An open NetCDF file, with its `dimensions`. */
export interface NetcdfFile extends AsyncDisposable {
  readonly dimensions: readonly NetcdfDimension[]
  /** Global attributes. */
  readonly attrs: NetcdfAttributes
  /** Variables in the order of the file. */
  readonly variables: readonly NetcdfVariable[]
  /** Size of the file in bytes. */
  readonly byteLength: number
  /**
   * Returns the variable of a name.
   * @throws UnknownArrayError, which lists the existing names
   */
  variable(name: string): NetcdfVariable
  /** Returns the name and the contents: `NetcdfFile { 'air.nc', 3 variables }`. */
  toString(): string
  /** Releases all handles. Later reads throw a ClosedError. */
  close(): Promise<void>
}

/** A dimension of a NetCDF file, with `name` and `length`. */
export interface NetcdfDimension {
  readonly name: string
  readonly length: number
  /** Whether it is the record dimension, the only one that can grow. */
  readonly isRecord: boolean
}

/** A variable of a NetCDF file, as a lazy array on it. */
export class NetcdfVariable<D extends DType = DType> extends DiskArray<D> {
  /** Name of the variable in the file. */
  readonly name: string
  /** @internal */
  readonly index: ChunkIndex<D>

  /** @internal */
  constructor(name: string, index: ChunkIndex<D>) {
    super(new ChunkedSource(index))
    this.name = name
    this.index = index
  }

  override get attrs(): NetcdfAttributes {
    return this.source.attrs as NetcdfAttributes
  }
}

/** Reads a range of a file. If the signal aborts, the request is cancelled. */
export type ElementReader = (offset: number, length: number, signal: Signal | undefined) => Promise<Uint8Array>

/** Bytes of an open file. Closing the NetCDF file calls `close`. */
export type OpenBuffer = AsyncBuffer &
  Pick<BlockOrigin, 'local' | 'recycle' | 'quickReads'> &
  Pick<ChunkIndex, 'origins'> & { close?(): Promise<void> }

/**
 * Opens a classic NetCDF file (CDF-1, CDF-2 or CDF-5). Reads the header only; the variables are lazy arrays
 * on the file. Elements equal to `_FillValue` or to one of `missing_value` are missing. Without `_FillValue`,
 * elements equal to the default fill value of the type are missing, too, except for those of one byte.
 * `valid_min`, `valid_max` and `valid_range` are not applied. `char` variables are arrays of strings: of
 * whole texts if the last dimension is the length of texts, otherwise of single characters.
 * @throws FormatError if the bytes are not NetCDF, or if the header is damaged or truncated; UnsupportedError
 *   for NetCDF-4. Reads throw FormatError for elements beyond the end of the file
 * @param readRange reads elements. Default: slices of the buffer, which no signal cancels
 */
export async function openBuffer(
  buffer: OpenBuffer,
  options: OpenNetcdfOptions = {},
  readRange?: ElementReader,
): Promise<NetcdfFile> {
  const fileName = options.name ?? 'NetCDF file'
  return within({ file: fileName }, async () => {
    checkAsyncBuffer(buffer)
    let closed = false
    const checkOpen = (): void => {
      if (closed) throw new HyperslabError('ClosedError', 'the file was closed')
    }
    const file: AsyncBuffer = {
      byteLength: buffer.byteLength,
      slice: (start, end) => {
        checkOpen()
        return buffer.slice(start, end)
      },
    }
    const header = await readHeader(file, options.signal)
    const { records, variables: layouts } = layOut(header, file.byteLength)
    const origin = {
      file: fileName,
      version: fileName,
      local: buffer.local,
      recycle: buffer.recycle,
      quickReads: () => (closed ? undefined : buffer.quickReads?.()),
      read: async (offset: number, length: number, signal?: Signal) => {
        if (readRange === undefined) return readBytes(file, offset, offset + length)
        checkOpen()
        return readRange(offset, length, signal)
      },
    }
    const { pool, budget, scalar } = options
    const opened = { origin, reader: new StridedReader(pool, budget), budget, scalar, checkOpen, origins: buffer.origins }
    const variables = header.variables.map((variable, i) => createVariable(opened, variable, layouts[i]!))
    const close = async (): Promise<void> => {
      closed = true
      await buffer.close?.()
    }
    const print = (): string => `NetcdfFile { '${fileName}', ${counted(variables.length, 'variable')} }`
    return {
      dimensions: header.dimensions.map((dimension, id) =>
        id === header.recordId ? { name: dimension.name, length: records, isRecord: true } : { ...dimension, isRecord: false },
      ),
      attrs: toAttributes(header.attributes),
      variables,
      byteLength: file.byteLength,
      variable: (name) => {
        // The names in `variables` are in this form.
        const wanted = typeof name === 'string' ? name.normalize('NFC') : name
        return variables.find((one) => one.name === wanted) ?? unknownVariable(fileName, name, variables)
      },
      close,
      [Symbol.asyncDispose]: close,
      toString: print,
      [Symbol.for('nodejs.util.inspect.custom')]: print,
      [Symbol.for('Deno.customInspect')]: print,
    }
  })
}

function unknownVariable(file: string, array: string, variables: readonly NetcdfVariable[]): never {
  const names = variables.map(({ name }) => name)
  const text = `there is no such variable; there are ${names.join(', ') || 'none'}`
  throw new HyperslabError('UnknownArrayError', text, { file, array, actual: array, expected: names })
}

function createVariable(file: OpenNetcdf, variable: ClassicVariable, layout: VariableLayout): NetcdfVariable {
  const { name, type } = variable
  const attrs = toAttributes(variable.attributes)
  const label = { file: file.origin.file, array: name }
  const index =
    type === 'char'
      ? new VariableIndex(file, layout, { dtype: 'string', attrs, label, fillValue: textFill(variable, layout) })
      : new VariableIndex(file, layout, {
          dtype: type,
          attrs,
          label,
          ...fillAndMissing(type, attrs),
        })
  return new NetcdfVariable(name, index as ChunkIndex)
}

/**
 * Returns the fill value and the missing values, by the conventions of netCDF. Without `_FillValue`, the fill
 * value is the default of the type, and elements equal to it are missing. For types of one byte, it is not a
 * missing value, because all values are valid then. `missing_value` only adds missing values.
 */
function fillAndMissing<D extends ClassicDType>(
  dtype: D,
  attributes: NetcdfAttributes,
): { fillValue: ScalarOf<D> | undefined; missing: Missing<D> } {
  const given = attributes.get('_FillValue')
  const fills = valuesOf(dtype, attributes, '_FillValue')
  const values = [...fills, ...valuesOf(dtype, attributes, 'missing_value')]
  if (given !== undefined) return { fillValue: fills[0], missing: { values, nan: false } }
  const unwritten = NETCDF4_FILL[dtype] as ScalarOf<D>
  if (TYPE_BYTES[dtype] === 1) return { fillValue: unwritten, missing: { values, nan: false } }
  return { fillValue: unwritten, missing: { values: [...values, unwritten], nan: false, implied: unwritten } }
}

/**
 * Returns the values of an attribute that the type of the elements can represent. The others are omitted,
 * because no element equals them. With `_Unsigned`, values may have either sign.
 */
function valuesOf<D extends ClassicDType>(dtype: D, attributes: NetcdfAttributes, name: string): ScalarOf<D>[] {
  const given = attributes.get(name)
  if (given === undefined || typeof given === 'string') return []
  const list: readonly (number | bigint)[] = typeof given === 'object' ? Array.from(given as ArrayLike<number>) : [given]
  const hasOtherSign = typeof parseSign(dtype, attributes.get('_Unsigned')) === 'string'
  return list.flatMap((value) => (elementIn(dtype, value, hasOtherSign) as ScalarOf<D> | undefined) ?? [])
}

/** Returns the fill value of texts. `_FillValue` is one character, and unwritten elements repeat it. */
function textFill({ attributes }: ClassicVariable, { elementBytes }: VariableLayout): string | undefined {
  const given = attributes.find(({ name }) => name === '_FillValue')
  if (given?.type !== 'char' || given.bytes.length > 1) return undefined
  const [byte = 0] = given.bytes
  return decodeText(new Uint8Array(elementBytes).fill(byte))
}
