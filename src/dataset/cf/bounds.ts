import { type Attrs, dropAttributes, plainAttrs, type TypedValues } from '../attributes.ts'
import type { VariableParts } from '../variable.ts'
import { decodeVariable, type RawVariable } from './decode.ts'

/** Attributes that name bounds of cells, or of the periods of a climatology (CF 7.1, 7.4). */
export const BOUNDS = ['bounds', 'climatology']

/** Returns the attributes of a variable, which may differ from those of its array. */
export const attributesOfRaw = ({ attrs, array }: RawVariable): TypedValues | undefined => attrs ?? array.attrs

/** Returns the names of the variables that contain the bounds of a variable. */
export const boundsOf = (raw: RawVariable): string[] =>
  BOUNDS.map((key) => attributesOfRaw(raw)?.get(key)).filter((name) => typeof name === 'string')

/**
 * Decodes bounds by the CF conventions. If bounds have no units or no calendar, they are decoded by those of
 * the variable that they bound (CF 7.1). The attributes of the result do not contain inherited units.
 * @param of variable that they bound, if it is known
 * @throws as {@link decodeVariable}
 */
export function decodeBounds(raw: RawVariable, of: RawVariable | undefined): VariableParts {
  const own = attributesOfRaw(raw)
  const theirs = of && attributesOfRaw(of)
  const names = ['units', 'calendar'].filter((name) => theirs?.get(name) !== undefined && own?.get(name) === undefined)
  if (theirs === undefined || names.length === 0) return decodeVariable(raw)
  const inherited = names.map((name) => [name, theirs.get(name)] as const)
  const all = new Map([...Object.entries<unknown>(plainAttrs(own)), ...inherited])
  const parts = decodeVariable({
    ...raw,
    attrs: Object.assign(all, {
      typed: (name: string) => own?.typed?.(name),
      isFloat: (name: string) => own?.isFloat?.(name) === true,
    }),
  })
  // Own units of another calendar would mean other times.
  if (!names.includes('units')) return parts
  const without = (attrs: Attrs): Attrs => dropAttributes(attrs, names)
  return { ...parts, attrs: without(parts.attrs), encoding: without(parts.encoding!) }
}
