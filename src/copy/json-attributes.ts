import type { AttributeValue } from '../af/format/footer.ts'
import { writeJson } from '../core/json.ts'
import { integerAttribute } from '../core/typed-value.ts'

const isIn64Bits = (value: bigint): boolean => value >= -(2n ** 63n) && value < 2n ** 64n
const isUnsigned = (value: bigint): boolean => value >= 2n ** 63n

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
  (typeof value === 'bigint' && !isIn64Bits(value)) ||
  (Array.isArray(value) && !value.every((each) => each instanceof Uint8Array)) ||
  (typeof value === 'object' && [Object.prototype, null].includes(Object.getPrototypeOf(value)))

/**
 * Returns a value of JSON as an attribute with a type. Numbers that are written as floats are `float64`.
 * Other whole numbers are `int32` or `int64`, and beyond 2^53 `int64` or `uint64`. Lists have the type of
 * their elements. Returns undefined for null, objects, integers beyond 64 bits, and lists of anything but
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
    case 'bigint':
      return isIn64Bits(value) ? { type: isUnsigned(value) ? 'uint64' : 'int64', value } : undefined
    default:
      return Array.isArray(value) ? listOfJson(value) : undefined
  }
}

function listOfJson(list: readonly unknown[]): AttributeValue | undefined {
  const all = (test: (value: unknown) => boolean): boolean => list.every(test)
  if (all((value) => typeof value === 'string')) return { type: 'string[]', value: list as string[] }
  if (all((value) => typeof value === 'boolean')) return { type: 'bool[]', value: list as boolean[] }
  if (all((value) => typeof value === 'number')) return { type: 'float64[]', value: Float64Array.from(list as number[]) }
  if (!all((value) => typeof value === 'bigint' || Number.isSafeInteger(value))) return undefined
  const integers = list.map((value) => BigInt(value as number | bigint))
  if (!integers.every(isIn64Bits)) return undefined
  if (!integers.some(isUnsigned)) return { type: 'int64[]', value: BigInt64Array.from(integers) }
  return integers.every((value) => value >= 0n) ? { type: 'uint64[]', value: BigUint64Array.from(integers) } : undefined
}
