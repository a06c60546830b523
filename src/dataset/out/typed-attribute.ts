import { type Attrs, SOURCES, type TypedValue } from '../attributes.ts'

/** An attribute with its type, where it is still the one of the file it came from. */
export function typedAttribute(attrs: Attrs, name: string): TypedValue | undefined {
  const typed = SOURCES.get(attrs)?.typed?.(name)
  return typed !== undefined && Object.is(typed.value, attrs[name]) ? typed : undefined
}
