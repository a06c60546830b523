import { allocate, isBigInt, isNumeric, type NumericDType, toBytes, toElement } from '../../../core/dtype.ts'
import { HyperslabError } from '../../../core/errors.ts'
import { writeJson } from '../../../core/json.ts'
import { typeOfNumbers } from '../../../core/number-type.ts'
import { TypedValue } from '../../../core/typed-value.ts'
import type { HeaderAttribute } from '../header.ts'
import type { ClassicDType } from '../types.ts'
import { textFault } from './elements.ts'

const utf8 = new TextEncoder()

/** @throws UnsupportedError for text that would be read as another one */
export function encodeTextAttribute(name: string, text: string): HeaderAttribute {
  const fault = textFault(text)
  if (fault !== undefined)
    throw new HyperslabError('UnsupportedError', `the text of attribute '${name}' ${fault}; change it, or remove it`, {
      actual: text,
    })
  return { name, type: 'char', bytes: utf8.encode(text) }
}

/** Numbers with their type. */
export interface TypedNumbers {
  readonly dtype: NumericDType
  readonly list: readonly (number | bigint)[]
}

/** Returns an attribute with numbers, which are stored in big-endian order. */
export function encodeNumberAttribute(name: string, { dtype, list }: TypedNumbers): HeaderAttribute {
  const data = allocate(dtype, list.length)
  // Reversed as a whole, each number is big-endian, and the last one comes first.
  for (const [i, value] of list.entries()) data[list.length - 1 - i] = convert(dtype, value) as never
  return { name, type: dtype as ClassicDType, bytes: toBytes(data).slice().reverse() }
}

const convert = (dtype: NumericDType, value: number | bigint): number | bigint =>
  toElement(dtype, typeof value === 'bigint' && !isBigInt(dtype) ? Number(value) : value) as number | bigint

/**
 * Returns the value of an attribute as text or numbers; undefined for other values. Numbers without a type
 * have that of `typeOfNumbers`. Booleans become `int8` (0 or 1), as xarray writes them.
 */
export function attributeValue(given: unknown): string | TypedNumbers | undefined {
  const { type, value } = given instanceof TypedValue ? given : { type: undefined, value: given }
  if (typeof value === 'string') return value
  const isList = Array.isArray(value) || ArrayBuffer.isView(value)
  const list: readonly unknown[] = isList ? Array.from(value as ArrayLike<unknown>) : [value]
  const dtype = type?.replace('[]', '') ?? chooseType(value, list)
  if (dtype === 'bool' && list.every((each) => typeof each === 'boolean')) return { dtype: 'int8', list: list.map(Number) }
  const isNumbers = list.every((each) => typeof each === 'number' || typeof each === 'bigint')
  return isNumbers && isNumeric(dtype as NumericDType)
    ? { dtype: dtype as NumericDType, list: list as readonly (number | bigint)[] }
    : undefined
}

/** Chooses the type of values that have no type in their source. */
function chooseType(value: unknown, list: readonly unknown[]): string | undefined {
  if (ArrayBuffer.isView(value)) return value.constructor.name.replace(/^Big/, '').replace('Clamped', '').replace('Array', '').toLowerCase() // biome-ignore format: one line
  if (list.length > 0 && list.every((each) => typeof each === 'boolean')) return 'bool'
  return typeOfNumbers(list as readonly (number | bigint)[])
}

/** Returns a value that has no type in NetCDF as JSON text. */
export const attributeJson = (given: unknown): string => writeJson(given instanceof TypedValue ? given.value : given)

/**
 * Converts numbers to a type that all versions of the format have. If no such type can represent all values,
 * returns them unchanged.
 */
export function inClassicType({ dtype, list }: TypedNumbers): TypedNumbers {
  if (dtype === 'uint8') return { dtype: 'int16', list }
  if (dtype === 'uint16') return { dtype: 'int32', list }
  if (dtype !== 'uint32' && !isBigInt(dtype)) return { dtype, list }
  if (list.every((value) => value >= -(2 ** 31) && value < 2 ** 31)) return { dtype: 'int32', list }
  const isExact = list.every((value) => BigInt(Number(value)) === BigInt(value))
  return isExact ? { dtype: 'float64', list: list.map(Number) } : { dtype, list }
}
