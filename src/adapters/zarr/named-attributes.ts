import { floatsIn, markFloats } from '../../core/json.ts'

/** Attributes of JSON by name, which know which whole numbers are floats. */
export interface NamedAttributes extends Map<string, unknown> {
  typed(name: string): { readonly type: string; readonly value: unknown } | undefined
}

/**
 * Attributes by name. A whole number that is spelt as a float, `10.0`, has the type `float64`; no other has
 * one.
 */
export function namedAttributes(attrs: Readonly<Record<string, unknown>>): NamedAttributes {
  const map = new Map<string, unknown>()
  const typed = (name: string) => (floatsIn(map).has(name) ? { type: 'float64', value: map.get(name) } : undefined)
  // Listed by no program that prints the map.
  Object.defineProperty(map, 'typed', { value: typed })
  replaceAttributes(map, attrs)
  return map as NamedAttributes
}

/** Gives a map of attributes other ones. */
export function replaceAttributes(map: Map<string, unknown>, attrs: Readonly<Record<string, unknown>>): void {
  map.clear()
  for (const [name, value] of Object.entries(attrs)) map.set(name, value)
  markFloats(map, floatsIn(attrs))
}
