import { encodeBase64 } from '../../core/base64.ts'
import { type TypedArray, toBytes } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { checkedBits } from '../rkyv/leaves.ts'
import type { AttributeValue } from './footer-attributes.ts'

/**
 * Limit of the characters of the texts in one list. JavaScript engines cannot hold strings of twice this
 * length.
 */
const MOST_CHARACTERS = 2 ** 28

/**
 * Returns a text that identifies the value: equal only for values of one type with equal elements, floats
 * compared by their bits. Dictionaries store such values once.
 * @throws TooLargeError for a list of more than 2^28 characters. A small file of footer version 6 can have
 *   one, because its strings are in a pool
 */
export function attributeKey({ type, value, ...rest }: AttributeValue & { readonly bits?: number | bigint }): string {
  if (typeof value === 'number' && Number.isNaN(value)) return `${type} NaN ${checkedBits(type as 'float64', value, rest.bits)}`
  // Each text of a list follows its length, so that different lists never yield the same text.
  if (Array.isArray(value)) checkCharacters(value)
  if (Array.isArray(value)) return `${type} ${value.map((each) => withLength(textOf(each))).join('')}`
  return `${type} ${textOf(value)}`
}

function checkCharacters(values: readonly unknown[]): void {
  const characters = values.reduce<number>((sum, each) => sum + (typeof each === 'string' ? each.length : 0), 0)
  if (characters <= MOST_CHARACTERS) return
  const text = `a list of strings has ${characters} characters, at most ${MOST_CHARACTERS} are written`
  throw new HyperslabError('TooLargeError', text, { actual: characters, expected: MOST_CHARACTERS })
}

const withLength = (text: string): string => `${text.length} ${text}`

function textOf(value: unknown): string {
  if (ArrayBuffer.isView(value)) return encodeBase64(toBytes(value as TypedArray))
  return Object.is(value, -0) ? '-0' : String(value)
}
