import type { NamedValues } from '../array/source.ts'
import { invalidArgument } from '../core/errors.ts'
import { checkValue } from '../core/options.ts'
import { withoutNuls } from '../core/text.ts'
import { TypedValue } from '../core/typed-value.ts'

/** Attributes by name: text, numbers, lists of numbers, and any JSON value. */
export type Attrs = Readonly<Record<string, unknown>>

/** Attributes by name, with their types if the format has them. */
export interface TypedValues extends NamedValues {
  typed?(name: string): { readonly type: string; readonly value: unknown } | undefined
  /** Whether a number, or a list of numbers, is written as floats. Used if types are not known. */
  isFloat?(name: string): boolean
}

/** Maximum nesting depth of attributes, that of documents of JSON. */
const MAX_DEPTH = 200

/** @throws InvalidArgumentError for values that are not an object, or nest too deeply, as cyclic ones do */
export function checkAttrs(call: string, attrs: unknown): asserts attrs is Attrs {
  checkValue(call, 'attrs', attrs, 'object')
  if (isDeeper(attrs, MAX_DEPTH, new Set()))
    invalidArgument(`${call}: attrs nest deeper than ${MAX_DEPTH} levels, or contain themselves`, attrs)
}

/** @param within the values that contain this one */
function isDeeper(value: unknown, depth: number, within: Set<unknown>): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false
  if (depth === 0 || within.has(value)) return true
  within.add(value)
  const isFound = Object.values(value).some((each) => isDeeper(each, depth - 1, within))
  within.delete(value)
  return isFound
}

/** Attributes of the source, by the plain object that was made from them. */
const SOURCES = new WeakMap<Attrs, TypedValues>()

/** Returns the attributes of a source as a plain object. */
export function plainAttrs(values: NamedValues | undefined): Attrs {
  const attrs = values === undefined ? [] : [...values.keys()].map((name) => [name, values.get(name)] as const)
  return withTypes(Object.fromEntries(attrs), values)
}

/** Associates plain attributes with a source, which makes their types known. */
export function withTypes(attrs: Attrs, values: NamedValues | undefined): Attrs {
  if (values !== undefined) SOURCES.set(attrs, values)
  return attrs
}

/** Returns an attribute with its type, if it still has the value of the source. */
export function typedAttribute(attrs: Attrs, name: string): TypedValue | undefined {
  const typed = SOURCES.get(attrs)?.typed?.(name)
  return typed !== undefined && Object.is(typed.value, attrs[name]) ? new TypedValue(typed) : undefined
}

/**
 * Whether JSON has the numbers of an attribute with a point or an exponent. Undefined if the attribute no
 * longer has the value of its file, and for formats without JSON.
 */
export function isWrittenAsFloat(attrs: Attrs, name: string): boolean | undefined {
  const source = SOURCES.get(attrs)
  return source !== undefined && Object.is(source.get(name), attrs[name]) ? source.isFloat?.(name) : undefined
}

/** Returns an attribute that is text, without the trailing NULs of some writers. */
export function attributeText(attrs: Attrs, name: string): string | undefined {
  const value = attrs[name]
  return typeof value === 'string' ? withoutNuls(value) : undefined
}

/** Returns the numbers of an attribute, one or a list; undefined for other values. */
export function attributeNumbers(attrs: Attrs, name: string): (number | bigint)[] | undefined {
  const value = attrs[name]
  const list = ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value as ArrayLike<unknown>) : [value]
  return list.every((each) => typeof each === 'number' || typeof each === 'bigint') ? (list as (number | bigint)[]) : undefined
}

export function dropAttributes(attrs: Attrs, names: readonly string[]): Attrs {
  return withTypes(Object.fromEntries(Object.entries(attrs).filter(([name]) => !names.includes(name))), SOURCES.get(attrs))
}
