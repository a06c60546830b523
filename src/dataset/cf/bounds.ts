import { type Attrs, dropAttributes, plainAttrs, type TypedValues } from '../attributes.ts'
import type { VariableParts } from '../variable.ts'
import { decodeVariable, type RawVariable } from './decode.ts'

/** Attributes that name bounds: of cells, and of the periods that a climatology is of (CF 7.1, 7.4). */
export const BOUNDS = ['bounds', 'climatology']

/** The attributes of a variable, which may be others than those of its array. */
export const attributesOfRaw = ({ attrs, array }: RawVariable): TypedValues | undefined => attrs ?? array.attrs

/** Names of what attributes say the bounds of a variable are in. */
export const boundsOf = (raw: RawVariable): string[] =>
  BOUNDS.map((key) => attributesOfRaw(raw)?.get(key)).filter((name) => typeof name === 'string')

/**
 * Bounds by the CF conventions: without units of their own they have those of what they are of (CF 7.1), but
 * not as attributes.
 * @param of what they are the bounds of, if anything
 * @throws as {@link decodeVariable}
 */
export function decodeBounds(raw: RawVariable, of: RawVariable | undefined): VariableParts {
  const own = attributesOfRaw(raw)
  const theirs = of && attributesOfRaw(of)
  if (theirs === undefined || own?.get('units') !== undefined) return decodeVariable(raw)
  const names = ['units', 'calendar'].filter((name) => theirs.get(name) !== undefined && own?.get(name) === undefined)
  const inherited = names.map((name) => [name, theirs.get(name)] as const)
  const all = new Map([...Object.entries<unknown>(plainAttrs(own)), ...inherited])
  const parts = decodeVariable({
    ...raw,
    attrs: Object.assign(all, {
      typed: (name: string) => own?.typed?.(name),
      isFloat: (name: string) => own?.isFloat?.(name) === true,
    }),
  })
  const without = (attrs: Attrs): Attrs => dropAttributes(attrs, names)
  return { ...parts, attrs: without(parts.attrs), encoding: without(parts.encoding!) }
}
