import { allocate } from './dtype.ts'

/**
 * A value with the type that a file stores it in. A class, because an attribute of a user may be an object
 * with the same members.
 */
export class TypedValue {
  readonly type: string
  readonly value: unknown
  /** Bits of a NaN. */
  readonly bits?: unknown

  constructor({ type, value, bits }: { readonly type: string; readonly value: unknown; readonly bits?: unknown }) {
    this.type = type
    this.value = value
    if (bits !== undefined) this.bits = bits
  }
}

/**
 * Returns integers of JSON, one or a list, with a type of integers: `int32`, or `int64` beyond it. Undefined
 * for other values. Without a type they would be stored as floats.
 */
export function integerAttribute(value: unknown): TypedValue | undefined {
  const isList = Array.isArray(value)
  const list: readonly unknown[] = isList ? value : [value]
  if (list.length === 0 || !list.every((each) => Number.isSafeInteger(each) && !Object.is(each, -0))) return undefined
  const type = list.every((each) => each === (Number(each) | 0)) ? 'int32' : 'int64'
  const data = allocate(type, list.length)
  for (const [i, each] of list.entries()) data[i] = (type === 'int32' ? each : BigInt(each as number)) as never
  return new TypedValue(isList ? { type: `${type}[]`, value: data } : { type, value: data[0] })
}
