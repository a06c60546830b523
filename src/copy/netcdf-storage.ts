import type { ClassicType } from '../adapters/netcdf/types.ts'
import { attributeValue } from '../adapters/netcdf/write/attributes.ts'
import { elementIn, parseSign } from '../array/lazy/signs.ts'
import type { BlockSource } from '../array/source.ts'
import { type DataOf, type DType, isBigInt, type NumericDType, toBytes } from '../core/dtype.ts'
import type { Signal } from '../core/signal.ts'
import { denseData } from '../core/tensor.ts'
import { TypedValue } from '../core/typed-value.ts'

/** Options of reading all values of an array. */
export interface ScanOptions {
  /** Limit of the bytes of elements in memory. */
  readonly maxBytes: number
  readonly signal?: Signal | undefined
}

/** Stored form of elements, and the changes of attributes that it requires. */
export interface Storage {
  readonly type: ClassicType
  /** Length of each text in bytes, with padding; undefined for numbers. */
  readonly textBytes?: number
  /** Returns elements as little-endian numbers or as text. The result may share their memory. */
  encode(data: DataOf<DType>): Uint8Array
  /** Converts an element in an attribute. Returns undefined if the stored type has no such value. */
  element?(value: number | bigint): number | bigint | undefined
  /** Converts a bound of valid values in an attribute. Without it, bounds are converted like elements. */
  bound?(value: number | bigint, attribute: string): number | bigint | undefined
  /** Attributes to set. An undefined value removes the attribute. */
  readonly attributes?: Readonly<Record<string, unknown>>
}

/** Returns the bytes of numbers, in the same memory. */
export const asBytes = (data: DataOf<DType>): Uint8Array => toBytes(data as Uint8Array)

/** Returns the sign that the attribute `_Unsigned` declares for elements of a type. */
export function givenSign(given: ReadonlyMap<string, unknown>, dtype: DType): ReturnType<typeof parseSign> {
  const unsigned = given.get('_Unsigned')
  return parseSign(dtype, unsigned instanceof TypedValue ? unsigned.value : unsigned)
}

/** Returns the values of an attribute as elements; undefined if the type cannot represent all of them. */
export function toElements(given: unknown, dtype: NumericDType, hasOtherSign = false): (number | bigint)[] | undefined {
  const numbers = attributeValue(given)
  if (numbers === undefined || typeof numbers === 'string') return undefined
  const list = numbers.list.map((value) =>
    elementIn(dtype, typeof value === 'bigint' && !isBigInt(dtype) ? Number(value) : value, hasOtherSign),
  )
  return list.includes(undefined) ? undefined : (list as (number | bigint)[])
}

/** Returns a target that passes all written elements to `use`, in the order of the writes. */
export const sinkFor = (source: BlockSource, use: (data: DataOf<DType>) => Promise<void> | void): BlockSource => ({
  dtype: source.dtype,
  shape: source.shape,
  chunks: source.chunks,
  fillValue: source.fillValue,
  missing: source.missing,
  readBlock: () => {},
  writeBlock: (_, tensor) => use(denseData(tensor)),
})
