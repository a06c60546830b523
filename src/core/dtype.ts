import { HyperslabError } from './errors.ts'
import { quoted } from './quoted.ts'

/**
 * Typed array class and JavaScript value of each data type. Names are those of Zarr v3; `timestamp_ns` counts
 * nanoseconds since 1970-01-01T00:00Z.
 */
interface DTypes {
  bool: { data: Uint8Array; scalar: boolean }
  int8: { data: Int8Array; scalar: number }
  int16: { data: Int16Array; scalar: number }
  int32: { data: Int32Array; scalar: number }
  int64: { data: BigInt64Array; scalar: bigint }
  uint8: { data: Uint8Array; scalar: number }
  uint16: { data: Uint16Array; scalar: number }
  uint32: { data: Uint32Array; scalar: number }
  uint64: { data: BigUint64Array; scalar: bigint }
  float32: { data: Float32Array; scalar: number }
  float64: { data: Float64Array; scalar: number }
  timestamp_ns: { data: BigInt64Array; scalar: bigint }
  string: { data: string[]; scalar: string }
  binary: { data: Uint8Array[]; scalar: Uint8Array }
}

/** A numeric data type. */
export type NumericDType = 'int8' | 'int16' | 'int32' | 'int64' | 'uint8' | 'uint16' | 'uint32' | 'uint64' | 'float32' | 'float64'
/** Types whose elements are JavaScript values of variable length. */
export type VariableDType = 'string' | 'binary'
// Spelled out, because editors would show `keyof DTypes`.
/** A data type by its name, such as `'float32'`. */
export type DType = NumericDType | VariableDType | 'bool' | 'timestamp_ns'
export type FixedDType = Exclude<DType, VariableDType>
/** Array type that contains elements of `D`: a typed array, or a plain one for strings and binaries. */
export type DataOf<D extends DType> = DTypes[D]['data']
/** JavaScript type of one element of `D`: number, bigint, boolean, string or `Uint8Array`. */
export type ScalarOf<D extends DType> = DTypes[D]['scalar']
/** Typed arrays that contain elements. */
export type TypedArray = DataOf<FixedDType>

type TypedArrayConstructor = {
  readonly BYTES_PER_ELEMENT: number
  new (length: number): TypedArray
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): TypedArray
}

const CONSTRUCTORS: Record<FixedDType, TypedArrayConstructor> = {
  bool: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float32: Float32Array,
  float64: Float64Array,
  timestamp_ns: BigInt64Array,
}

/** All data types, in a fixed order. */
export const DTYPES = [...Object.keys(CONSTRUCTORS), 'string', 'binary'] as DType[]

export const NUMERIC_DTYPES = DTYPES.filter((dtype) => !/^(bool|timestamp_ns|string|binary)$/.test(dtype)) as NumericDType[]

/** @throws InvalidArgumentError if `dtype` is not one of {@link DTYPES} */
export function checkDType(dtype: unknown): asserts dtype is DType {
  if (!DTYPES.includes(dtype as DType)) {
    throw new HyperslabError('InvalidArgumentError', `unknown dtype ${quoted(dtype)}`, {
      actual: dtype,
      expected: DTYPES,
    })
  }
}

export const isFixed = (dtype: DType): dtype is FixedDType => dtype in CONSTRUCTORS
export const isNumeric = (dtype: DType): dtype is NumericDType => (NUMERIC_DTYPES as readonly DType[]).includes(dtype)
export const isFloat = (dtype: DType): dtype is 'float32' | 'float64' => dtype === 'float32' || dtype === 'float64'
/** Whether elements are `bigint` in JavaScript. */
export const isBigInt = (dtype: DType): dtype is 'int64' | 'uint64' | 'timestamp_ns' =>
  dtype === 'int64' || dtype === 'uint64' || dtype === 'timestamp_ns'

/** Returns the bytes of one element. */
export const elementBytes = (dtype: FixedDType): 1 | 2 | 4 | 8 => CONSTRUCTORS[dtype].BYTES_PER_ELEMENT as 1 | 2 | 4 | 8

/** Allocates an array of `length` elements: zeros, or for strings and binaries empty values. */
export function allocate<D extends DType>(dtype: D, length: number): DataOf<D> {
  if (isFixed(dtype)) return new CONSTRUCTORS[dtype as FixedDType](length) as DataOf<D>
  return new Array(length).fill(zeroOf(dtype)) as DataOf<D>
}

/**
 * Returns the elements in `bytes` (little-endian). Shares memory if the bytes are aligned; copies otherwise.
 */
export function fromBytes<D extends FixedDType>(dtype: D, bytes: Uint8Array): DataOf<D> {
  const size = elementBytes(dtype)
  const aligned = bytes.byteOffset % size === 0 ? bytes : new Uint8Array(bytes)
  return new CONSTRUCTORS[dtype as FixedDType](aligned.buffer, aligned.byteOffset, bytes.byteLength / size) as DataOf<D>
}

/** Returns the bytes of a typed array, sharing its memory. */
export const toBytes = (data: TypedArray): Uint8Array => new Uint8Array(data.buffer, data.byteOffset, data.byteLength)

/** Returns the value of unwritten elements without a fill value. */
export function zeroOf<D extends DType>(dtype: D): ScalarOf<D> {
  const zero = dtype === 'string' ? '' : dtype === 'binary' ? EMPTY : isBigInt(dtype) ? 0n : dtype === 'bool' ? false : 0
  return zero as ScalarOf<D>
}

/**
 * Returns the stored form of unwritten elements.
 * @throws InvalidArgumentError if the fill value is of another type
 */
export const fillElement = <D extends DType>(dtype: D, fillValue: ScalarOf<D> | undefined): DataOf<D>[number] =>
  toElement(dtype, fillValue ?? zeroOf(dtype)) as DataOf<D>[number]

const EMPTY = new Uint8Array(0)

/** Returns an element as users see it: a boolean for `bool`. */
export function readElement<D extends DType>(dtype: D, data: DataOf<D>, index: number): ScalarOf<D> {
  const element = data[index]
  return (dtype === 'bool' ? element !== 0 : element) as ScalarOf<D>
}

const INTEGER_RANGES: Partial<Record<DType, readonly [number | bigint, number | bigint]>> = {
  int8: [-128, 127],
  int16: [-32768, 32767],
  int32: [-2147483648, 2147483647],
  uint8: [0, 255],
  uint16: [0, 65535],
  uint32: [0, 4294967295],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
  timestamp_ns: [-(2n ** 63n), 2n ** 63n - 1n],
}

/**
 * Converts a value to its stored form: booleans become 0 or 1, floats are rounded to the type, and safe
 * integers are accepted for 64-bit types.
 * @throws InvalidArgumentError if the value is of another kind or out of the type's range
 */
export function toElement(dtype: DType, value: unknown): number | bigint | string | Uint8Array {
  const element = convert(dtype, value)
  if (element !== undefined) return element
  const shown = quoted(value)
  throw new HyperslabError('InvalidArgumentError', `${shown} is not a ${dtype} value`, { actual: value, expected: dtype })
}

function convert(dtype: DType, value: unknown): number | bigint | string | Uint8Array | undefined {
  if (dtype === 'string') return typeof value === 'string' ? value : undefined
  if (dtype === 'binary') return value instanceof Uint8Array ? value : undefined
  if (dtype === 'bool') return typeof value === 'boolean' ? Number(value) : value === 0 || value === 1 ? value : undefined
  if (dtype === 'float32' || dtype === 'float64') {
    if (typeof value !== 'number') return undefined
    return dtype === 'float32' ? Math.fround(value) : value
  }
  const [low, high] = INTEGER_RANGES[dtype]!
  const wide = isBigInt(dtype)
  const integer = wide && Number.isSafeInteger(value) ? BigInt(value as number) : value
  if (wide ? typeof integer !== 'bigint' : !Number.isInteger(integer)) return undefined
  return (integer as bigint) >= low && (integer as bigint) <= high ? (integer as number | bigint) : undefined
}
