import type { HeaderAttribute } from '../adapters/netcdf/header.ts'
import { type ClassicType, TYPE_BYTES } from '../adapters/netcdf/types.ts'
import {
  attributeJson,
  attributeValue,
  encodeNumberAttribute,
  encodeTextAttribute,
  inClassicType,
  type TypedNumbers,
} from '../adapters/netcdf/write/attributes.ts'
import type { NetcdfKind } from '../adapters/netcdf/write/header.ts'
import { checkDistinctNames, checkedName } from '../adapters/netcdf/write/names.ts'
import type { Element } from '../array/missing.ts'
import { NETCDF4_FILL } from '../core/default-fill.ts'
import { type DataOf, type DType, isFloat, isNumeric, type NumericDType } from '../core/dtype.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { TypedValue } from '../core/typed-value.ts'
import { asBytes, givenSign, type ScanOptions, type Storage, toElements } from './netcdf-storage.ts'
import type { ExportedArray } from './stored-arrays.ts'

/** Stored form of a variable in NetCDF. */
export interface StoredVariable {
  readonly exported: ExportedArray
  readonly type: ClassicType
  /** Bytes of one element. */
  readonly elementBytes: number
  /** Length of each text in bytes, with padding; undefined for numbers. */
  readonly textBytes?: number
  readonly attributes: readonly HeaderAttribute[]
  /** Default fill value of the type, if readers treat it as missing although the array does not. */
  readonly defaultFill?: number | bigint | undefined
  /** Returns elements as little-endian numbers or as text. The result may share their memory. */
  encode(data: DataOf<DType>): Uint8Array
}

/** Names of the attributes whose values are elements. */
const OF_ELEMENTS = ['_FillValue', 'missing_value', 'valid_min', 'valid_max', 'valid_range', 'flag_values', 'flag_masks']

/**
 * Chooses the stored form of a variable. Reads all values of texts, of times without units and, unless `kind`
 * is 5, of 64-bit integers, to find a form that holds them.
 * @param kind requested kind of the file
 */
export function storeVariable(
  exported: ExportedArray,
  kind: NetcdfKind | undefined,
  warnings: string[],
  options: ScanOptions,
): Promise<StoredVariable> {
  const { name: array } = exported
  return within({ array }, async () => {
    const given = withMissing(exported)
    const hasOtherSign = typeof givenSign(given, exported.array.dtype) === 'string'
    const storage = await chooseStorage(exported, given, kind, warnings, options)
    for (const [name, value] of Object.entries(storage.attributes ?? {}))
      if (value === undefined) given.delete(name)
      else given.set(name, value)
    const { type, textBytes, encode } = storage
    const isText = textBytes !== undefined
    const implied = isText ? undefined : impliedFill(exported, storage)
    const fill =
      isText || type === 'int8' || type === 'uint8' ? undefined : NETCDF4_FILL[type as NumericDType & keyof typeof NETCDF4_FILL]
    if (implied !== undefined && implied !== fill) given.set('_FillValue', new TypedValue({ type, value: implied }))
    const attributes = encodeAttributes(given, kind, warnings, storage, { array, dtype: exported.array.dtype, hasOtherSign })
    return {
      exported,
      type,
      elementBytes: textBytes ?? TYPE_BYTES[type],
      ...(isText && { textBytes }),
      attributes,
      encode,
      ...(!given.has('_FillValue') && implied === undefined && { defaultFill: fill }),
    }
  })
}

/** Returns the attributes, with one for the missing value if they do not name it. */
function withMissing({ array: { dtype }, attributes, fill, implied }: ExportedArray): Map<string, unknown> {
  const all = new Map(attributes)
  const key = dtype === 'string' ? 'missing_value' : '_FillValue'
  // If there are several missing values, `missing_value` may name the others alone.
  const isNamed = all.has(key) || namesElement(all.get('missing_value'), dtype, fill)
  const isTold = fill === undefined || implied !== undefined || isNamed || dtype === 'timestamp_ns'
  return isTold ? all : all.set(key, new TypedValue({ type: dtype, value: fill }))
}

/** Whether an attribute names an element. Texts are compared as they are. */
const namesElement = (given: unknown, dtype: DType, element: Element | undefined): boolean =>
  isNumeric(dtype)
    ? toElements(given, dtype)?.some((value) => Object.is(value, element) || value === element) === true
    : given !== undefined

/** Returns the stored form of a missing value that no attribute of the source names. */
const impliedFill = ({ implied }: ExportedArray, { element = (value) => value }: Storage): number | bigint | undefined =>
  typeof implied === 'number' || typeof implied === 'bigint' ? element(implied) : undefined

async function chooseStorage(
  exported: ExportedArray,
  given: ReadonlyMap<string, unknown>,
  kind: NetcdfKind | undefined,
  warnings: string[],
  options: ScanOptions,
): Promise<Storage> {
  const { dtype } = exported.array
  const isWide = dtype === 'int64' || dtype === 'uint64'
  // The code that chooses by the values loads only with such arrays.
  if (dtype === 'string' || dtype === 'timestamp_ns' || (isWide && kind !== 5))
    return (await import('./netcdf-values.ts')).storeScanned(exported, given, kind, warnings, options)
  if (dtype === 'bool') return { type: 'int8', encode: asBytes, attributes: { dtype: 'bool' } }
  if (!isNumeric(dtype)) {
    const text = `NetCDF has no values of ${dtype}; leave the variable out`
    throw new HyperslabError('UnsupportedError', text, { actual: dtype })
  }
  if (kind === 5) return { type: dtype, encode: asBytes }
  const sign = givenSign(given, dtype)
  if (!dtype.startsWith('uint')) return { type: dtype, encode: asBytes }
  const type = dtype.slice(1) as 'int8' | 'int16' | 'int32'
  const wrap = 2 ** (8 * TYPE_BYTES[type])
  return {
    type,
    encode: asBytes,
    element: (value) => (Number(value) >= wrap / 2 ? Number(value) - wrap : Number(value)),
    attributes: { _Unsigned: sign === 'signed' ? undefined : 'true' },
  }
}

/** Whether both are types of integers with the same width. */
const isAlike = (one: DType, other: DType): boolean => !isFloat(one) && one.replace('u', '') === other.replace('u', '')

/** Encodes the attributes of a variable. */
function encodeAttributes(
  given: ReadonlyMap<string, unknown>,
  kind: NetcdfKind | undefined,
  warnings: string[],
  { type, element = (value) => value, bound = element }: Storage,
  { array, dtype, hasOtherSign }: { readonly array: string; readonly dtype: DType; readonly hasOtherSign: boolean },
): HeaderAttribute[] {
  const own = (name: string, value: unknown): TypedNumbers | undefined => {
    if (type === 'char' || !OF_ELEMENTS.includes(name)) return undefined
    const numbers = attributeValue(value)
    if (numbers === undefined || typeof numbers === 'string') return undefined
    if (numbers.dtype === type) return numbers
    // Bounds of the other sign would become floats, which bound unpacked values.
    const isOfType = name === '_FillValue' || numbers.dtype === dtype || (hasOtherSign && isAlike(numbers.dtype, dtype))
    const list =
      isOfType && isNumeric(dtype)
        ? toElements(value, dtype, hasOtherSign)?.map((each) => (name.startsWith('valid_') ? bound(each, name) : element(each)))
        : undefined
    return list === undefined || list.includes(undefined)
      ? undefined
      : { dtype: type, list: list as readonly (number | bigint)[] }
  }
  return headerAttributes(given, kind, array, warnings, own)
}

/**
 * Encodes attributes. Values that have no type in NetCDF are written as JSON text, with a warning.
 * @param own converts the values of attributes that are elements of the variable; undefined for others
 */
export function headerAttributes(
  given: ReadonlyMap<string, unknown>,
  kind: NetcdfKind | undefined,
  array: string | undefined,
  warnings: string[],
  own: (name: string, value: unknown) => TypedNumbers | undefined = () => undefined,
): HeaderAttribute[] {
  const encoded = Array.from(given, ([key, value]): HeaderAttribute => {
    const name = checkedName(key, 'the attribute', array)
    const numbers = own(key, value)
    if (numbers !== undefined) return encodeNumberAttribute(name, numbers)
    const plain = attributeValue(value)
    if (typeof plain === 'string') return encodeTextAttribute(name, plain)
    if (plain !== undefined) return encodeNumberAttribute(name, kind === 5 ? plain : inClassicType(plain))
    warnings.push(`${array === undefined ? '' : `'${array}': `}the attribute '${key}' becomes text of JSON, because NetCDF has no type for its value`) // biome-ignore format: one line
    return encodeTextAttribute(name, attributeJson(value))
  })
  checkDistinctNames(encoded.map(({ name }) => name), 'attributes', array) // biome-ignore format: one line
  return encoded
}
