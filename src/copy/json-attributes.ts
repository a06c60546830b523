import type { AttributeValue } from '../af/format/footer.ts'
import { writeJson } from '../core/json.ts'
import { typeOfNumbers } from '../core/number-type.ts'
import { integerAttribute } from '../core/typed-value.ts'

/** Attributes whose text is JSON, because containers have no type for their value. */
const TEXTS = new WeakSet<object>()

/** Returns a value without an attribute type as text of JSON. The copy of the attribute gets a warning. */
export function textOfJson(value: unknown): AttributeValue {
  const attribute = { type: 'string', value: writeJson(value) } as const
  TEXTS.add(attribute)
  return attribute
}

/** Whether an attribute was made by {@link textOfJson}. */
export const isTextOfJson = (attribute: unknown): boolean => TEXTS.has(Object(attribute))

/** Whether a value is JSON that may have no attribute type. */
export const isJsonValue = (value: unknown): boolean =>
  value === null ||
  (typeof value === 'bigint' && typeOfNumbers([value]) === undefined) ||
  (Array.isArray(value) && !value.every((each) => each instanceof Uint8Array)) ||
  (typeof value === 'object' && [Object.prototype, null].includes(Object.getPrototypeOf(value)))

/**
 * Returns a value of JSON as an attribute with a type. Numbers that are written as floats are `float64`.
 * Other whole numbers are `int32` or `int64`, and beyond 2^53 `int64` or `uint64`. Lists have the type of
 * their elements. Returns undefined for null, objects, numbers that no type holds, and lists of anything but
 * numbers, texts or booleans alone.
 */
export function attributeOfJson(value: unknown, isFloat: boolean): AttributeValue | undefined {
  const integers = isFloat ? undefined : integerAttribute(value)
  if (integers !== undefined) return { ...integers } as AttributeValue
  switch (typeof value) {
    case 'string':
      return { type: 'string', value }
    case 'boolean':
      return { type: 'bool', value }
    case 'number':
      return { type: 'float64', value }
    case 'bigint': {
      const type = typeOfNumbers([value])
      return type && ({ type, value } as AttributeValue)
    }
    default:
      return Array.isArray(value) ? listOfJson(value) : undefined
  }
}

function listOfJson(list: readonly unknown[]): AttributeValue | undefined {
  const all = (test: (value: unknown) => boolean): boolean => list.every(test)
  if (all((value) => typeof value === 'string')) return { type: 'string[]', value: list as string[] }
  if (all((value) => typeof value === 'boolean')) return { type: 'bool[]', value: list as boolean[] }
  if (!all((value) => typeof value === 'number' || typeof value === 'bigint')) return undefined
  const numbers = list as readonly (number | bigint)[]
  const type = typeOfNumbers(numbers)
  if (type === 'float64') return { type: 'float64[]', value: Float64Array.from(numbers, Number) }
  const integers = () => numbers.map(BigInt)
  if (type === 'int64') return { type: 'int64[]', value: BigInt64Array.from(integers()) }
  return type && { type: 'uint64[]', value: BigUint64Array.from(integers()) }
}
