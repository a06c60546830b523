import type { HeaderAttribute } from '../adapters/netcdf/header.ts'
import type { ClassicType } from '../adapters/netcdf/types.ts'
import {
  attributeJson,
  attributeValue,
  encodeNumberAttribute,
  encodeTextAttribute,
  inClassicType,
  type TypedNumbers,
} from '../adapters/netcdf/write/attributes.ts'
import { encodeTexts, lowHalves } from '../adapters/netcdf/write/elements.ts'
import type { NetcdfKind } from '../adapters/netcdf/write/header.ts'
import { checkDistinctNames, checkedName } from '../adapters/netcdf/write/names.ts'
import { elementIn, parseSign, restoreSign } from '../array/lazy/signs.ts'
import type { Element } from '../array/missing.ts'
import { NETCDF4_FILL } from '../core/default-fill.ts'
import { type DataOf, type DType, isBigInt, isFloat, isNumeric, type NumericDType, toBytes } from '../core/dtype.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { TypedValue } from '../core/typed-value.ts'
import { MISSING_TIME, type ScanOptions, scanIntegers, scanTexts, scanTimes } from './netcdf-values.ts'
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

/** Stored form of elements, and the changes of attributes that it requires. */
interface Storage extends Pick<StoredVariable, 'type' | 'textBytes'> {
  encode(data: DataOf<DType>): Uint8Array
  /** Converts an element in an attribute. Returns undefined if the stored type has no such value. */
  element?(value: number | bigint): number | bigint | undefined
  /** Converts a bound of valid values in an attribute. Without it, bounds are converted like elements. */
  bound?(value: number | bigint, attribute: string): number | bigint | undefined
  /** Attributes to set. An undefined value removes the attribute. */
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** Names of the attributes whose values are elements. */
const OF_ELEMENTS = ['_FillValue', 'missing_value', 'valid_min', 'valid_max', 'valid_range', 'flag_values', 'flag_masks']

const asBytes = (data: DataOf<DType>): Uint8Array => toBytes(data as Uint8Array)

/**
 * Chooses the stored form of a variable. If CDF-1 has no type for its values, all of them are read, to find a
 * type that can hold them.
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
      elementBytes: textBytes ?? BYTES[type]!,
      ...(isText && { textBytes }),
      attributes,
      encode,
      ...(!given.has('_FillValue') && implied === undefined && { defaultFill: fill }),
    }
  })
}

const BYTES: Readonly<Record<string, number>> = { int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4, float32: 4, float64: 8, int64: 8, uint64: 8 } // biome-ignore format: one line

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
  { name, array: { dtype, source }, implied, fill }: ExportedArray,
  given: ReadonlyMap<string, unknown>,
  kind: NetcdfKind | undefined,
  warnings: string[],
  options: ScanOptions,
): Promise<Storage> {
  if (dtype === 'string') return storeTexts(await scanTexts(source, options), given, name, warnings)
  if (dtype === 'timestamp_ns') {
    const scan = await scanTimes(source, options)
    return storeTimes(scan, kind)
  }
  if (dtype === 'bool') return { type: 'int8', encode: asBytes, attributes: { dtype: 'bool' } }
  if (!isNumeric(dtype)) {
    const text = `NetCDF has no values of ${dtype}; leave the variable out`
    throw new HyperslabError('UnsupportedError', text, { actual: dtype })
  }
  if (kind === 5) return { type: dtype, encode: asBytes }
  const sign = givenSign(given, dtype)
  if (dtype === 'int64' || dtype === 'uint64') {
    const isUnsigned = sign === 'unsigned' || (dtype === 'uint64' && sign !== 'signed')
    const missing = (implied ?? fill) as bigint | undefined
    const { fits, low, high } = await scanIntegers(source, { isUnsigned, missing }, options)
    const stored = missing === undefined || holds(missing, isUnsigned) ? missing : low > LEAST ? BigInt(LEAST) : high < MOST ? BigInt(MOST) : null // biome-ignore format: one line
    if (!fits || stored === null || isBeyondBounds(given, dtype, sign)) return { type: dtype, encode: asBytes }
    warnings.push(`'${name}': values of ${dtype} are written as int32, which holds all of them${changedFill(missing, stored)}`)
    const changed = (attribute: string, value: number | bigint, bound: number): void => {
      warnings.push(`'${name}': ${attribute} ${value} becomes ${bound}, because int32 ends there; no value is beyond either`)
    }
    return { ...storeHalves(missing, stored, sign, changed), ...(sign !== undefined && { attributes: { _Unsigned: undefined } }) }
  }
  if (!dtype.startsWith('uint')) return { type: dtype, encode: asBytes }
  const type = dtype.slice(1) as 'int8' | 'int16' | 'int32'
  const wrap = 2 ** (8 * BYTES[type]!)
  return {
    type,
    encode: asBytes,
    element: (value) => (Number(value) >= wrap / 2 ? Number(value) - wrap : Number(value)),
    attributes: { _Unsigned: sign === 'signed' ? undefined : 'true' },
  }
}

function givenSign(given: ReadonlyMap<string, unknown>, dtype: DType): ReturnType<typeof parseSign> {
  const unsigned = given.get('_Unsigned')
  return parseSign(dtype, unsigned instanceof TypedValue ? unsigned.value : unsigned)
}

const [LEAST, MOST] = [-(2 ** 31), 2 ** 31 - 1]

const holds = (value: bigint, isUnsigned: boolean): boolean => value >= (isUnsigned ? 0n : LEAST) && value <= MOST

/** Returns a bound as a value, which may have the other sign than its type. */
const withSign = (bound: number | bigint, sign: ReturnType<typeof parseSign>): number | bigint =>
  typeof sign === 'string' ? restoreSign(bound, 64, sign) : bound

/** Whether bounds of valid values exclude all that int32 holds. No bound within int32 would do so. */
function isBeyondBounds(given: ReadonlyMap<string, unknown>, dtype: NumericDType, sign: ReturnType<typeof parseSign>): boolean {
  const list = (name: string) =>
    toElements(given.get(name), dtype, typeof sign === 'string')?.map((bound) => withSign(bound, sign))
  const range = list('valid_range') ?? []
  const isAbove = (bound: number | bigint | undefined): boolean => bound !== undefined && bound > MOST
  const isBelow = (bound: number | bigint | undefined): boolean => bound !== undefined && bound < LEAST
  return isAbove(range[0]) || isBelow(range[1]) || isAbove(list('valid_min')?.[0]) || isBelow(list('valid_max')?.[0])
}

const changedFill = (missing: bigint | undefined, stored: bigint | undefined): string =>
  missing === stored ? '' : `; the missing value ${missing} becomes ${stored}`

/**
 * Stores the low halves of 64-bit integers. The missing value may be replaced by another one.
 * @param changed called for a bound of valid values that int32 does not hold
 */
function storeHalves(
  missing: bigint | undefined,
  stored: bigint | undefined,
  sign: ReturnType<typeof parseSign>,
  changed: (attribute: string, value: number | bigint, bound: number) => void,
): Storage {
  const isSame = missing === stored
  return {
    type: 'int32',
    encode: (data) => {
      const low = lowHalves(data as BigInt64Array)
      if (!isSame) for (const [i, value] of (data as BigInt64Array).entries()) if (value === missing) low[i] = Number(stored)
      return asBytes(low)
    },
    element: (value) => {
      const own = Number(BigInt(value) === missing ? stored! : value)
      return own >= LEAST && own <= MOST ? own : undefined
    },
    // All values lie within int32, so farther bounds exclude none of them.
    bound: (given, attribute) => {
      const value = withSign(given, sign)
      const bound = Math.max(LEAST, Math.min(MOST, Number(value)))
      if (BigInt(bound) !== BigInt(value)) changed(attribute, value, bound)
      return bound
    },
  }
}

/** @param longest length of the longest text in bytes */
function storeTexts(longest: number, given: ReadonlyMap<string, unknown>, name: string, warnings: string[]): Storage {
  // A dimension of length 0 would become the record dimension.
  const textBytes = Math.max(1, longest)
  const fill = given.get('_FillValue')
  const text = fill instanceof TypedValue ? fill.value : fill
  const isCharacter = fill === undefined || (typeof text === 'string' && new TextEncoder().encode(text).length === 1)
  if (!isCharacter) warnings.push(`'${name}': _FillValue is left out, because that of text is one character in NetCDF`)
  const attributes = { _Encoding: 'utf-8', ...(!isCharacter && { _FillValue: undefined }) }
  return { type: 'char', textBytes, encode: (data) => encodeTexts(data as string[], textBytes), attributes }
}

/** Stores times as whole numbers of the unit that `scanTimes` found. */
function storeTimes(
  { name, nanoseconds, low, high, isAnyMissing }: Awaited<ReturnType<typeof scanTimes>>,
  kind: NetcdfKind | undefined,
): Storage {
  const isShort = low > LEAST && high <= MOST
  const isExact = low >= Number.MIN_SAFE_INTEGER && high <= Number.MAX_SAFE_INTEGER
  const type = isShort ? 'int32' : isExact && kind !== 5 ? 'float64' : 'int64'
  const missing = type === 'int32' ? LEAST : type === 'float64' ? Number.NaN : MISSING_TIME
  const encode = (data: DataOf<DType>): Uint8Array => {
    const times = data as BigInt64Array
    const out = type === 'int32' ? new Int32Array(times.length) : type === 'float64' ? new Float64Array(times.length) : new BigInt64Array(times.length) // biome-ignore format: one line
    for (const [i, time] of times.entries()) {
      const units = time / nanoseconds
      out[i] = time === MISSING_TIME ? missing : type === 'int64' ? units : Number(units)
    }
    return asBytes(out)
  }
  const fill = isAnyMissing ? new TypedValue({ type, value: missing }) : undefined
  const attributes = { units: `${name} since 1970-01-01`, calendar: 'proleptic_gregorian', _FillValue: fill }
  return { type, encode, attributes }
}

/** Returns the values of an attribute as elements; undefined if the type cannot represent all of them. */
function toElements(given: unknown, dtype: NumericDType, hasOtherSign = false): (number | bigint)[] | undefined {
  const numbers = attributeValue(given)
  if (numbers === undefined || typeof numbers === 'string') return undefined
  const list = numbers.list.map((value) =>
    elementIn(dtype, typeof value === 'bigint' && !isBigInt(dtype) ? Number(value) : value, hasOtherSign),
  )
  return list.includes(undefined) ? undefined : (list as (number | bigint)[])
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
