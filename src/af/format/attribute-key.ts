import { encodeBase64 } from '../../core/base64.ts'
import { type TypedArray, toBytes } from '../../core/dtype.ts'
import { checkedBits } from '../rkyv/leaves.ts'
import type { AttributeValue } from './footer-attributes.ts'

/**
 * Returns a text that only equal values share: of one type, with equal elements, floats down to their bits.
 * Dictionaries hold such values once.
 */
export function attributeKey({ type, value, ...rest }: AttributeValue & { readonly bits?: number | bigint }): string {
  if (typeof value === 'number' && Number.isNaN(value)) return `${type} NaN ${checkedBits(type as 'float64', value, rest.bits)}`
  // Texts of a list follow their lengths, so that no two lists run together into the same text.
  if (Array.isArray(value)) return `${type} ${value.map((each) => withLength(textOf(each))).join('')}`
  return `${type} ${textOf(value)}`
}

const withLength = (text: string): string => `${text.length} ${text}`

function textOf(value: unknown): string {
  if (ArrayBuffer.isView(value)) return encodeBase64(toBytes(value as TypedArray))
  return Object.is(value, -0) ? '-0' : String(value)
}
