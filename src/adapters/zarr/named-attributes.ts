import { floatsIn, isFloatIn, markFloats } from '../../core/json.ts'

/** Attributes from JSON by name, with the information which whole numbers are floats. */
export interface NamedAttributes extends Map<string, unknown> {
  typed(name: string): { readonly type: string; readonly value: unknown } | undefined
  /**
   * Whether a number, or a list of numbers, is written as floats. JSON has no types, but other formats do.
   */
  isFloat?(name: string): boolean
}

/**
 * Returns attributes by name. A whole number that is written as a float, `10.0`, has the type `float64`.
 * Other attributes have no type.
 */
export function namedAttributes(attrs: Readonly<Record<string, unknown>>): NamedAttributes {
  const map = new Map<string, unknown>()
  const typed = (name: string) => (floatsIn(map).has(name) ? { type: 'float64', value: map.get(name) } : undefined)
  // Not enumerable, so that programs that print the map do not show it.
  Object.defineProperty(map, 'typed', { value: typed })
  Object.defineProperty(map, 'isFloat', { value: (name: string) => isFloatIn(map, name, map.get(name)) })
  replaceAttributes(map, attrs)
  return map as NamedAttributes
}

/** Replaces the content of a map of attributes. */
export function replaceAttributes(map: Map<string, unknown>, attrs: Readonly<Record<string, unknown>>): void {
  map.clear()
  for (const [name, value] of Object.entries(attrs)) map.set(name, value)
  markFloats(map, floatsIn(attrs))
}
