import type { NamedValues } from '../array/source.ts'

/** Attributes by name: text, numbers, lists of numbers, and whatever JSON holds. */
export type Attrs = Readonly<Record<string, unknown>>

/** The attributes of a source as an object of their own. */
export function plainAttrs(values: NamedValues | undefined): Attrs {
  const attrs: Record<string, unknown> = {}
  if (values !== undefined) for (const name of values.keys()) attrs[name] = values.get(name)
  return attrs
}

/** An attribute that is text, without the NULs that some writers leave behind it. */
export function attributeText(attrs: Attrs, name: string): string | undefined {
  const value = attrs[name]
  return typeof value === 'string' ? value.replace(/\0+$/, '') : undefined
}

/** The numbers of an attribute, one or a list; undefined where it is none of these. */
export function attributeNumbers(attrs: Attrs, name: string): (number | bigint)[] | undefined {
  const value = attrs[name]
  const list = ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value as ArrayLike<unknown>) : [value]
  return list.every((each) => typeof each === 'number' || typeof each === 'bigint') ? (list as (number | bigint)[]) : undefined
}

/** Attributes but for some names. */
export function dropAttributes(attrs: Attrs, names: readonly string[]): Attrs {
  return Object.fromEntries(Object.entries(attrs).filter(([name]) => !names.includes(name)))
}
