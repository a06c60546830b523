import { stridesOf } from '../../core/shape.ts'
import { type FieldSlot, findComplexPart } from './elements/plan.ts'
import type { Datatype, Member } from './messages/datatype.ts'

/** Returns the members of a type whose elements are read field by field; undefined for other types. */
export function listFields({ type }: FieldSlot): readonly Member[] | undefined {
  const inner = innerElement(type)
  return inner.kind === 'compound' && findComplexPart(inner) === undefined ? inner.members : undefined
}

function innerElement(type: Datatype): Datatype {
  return type.kind === 'array' ? innerElement(type.base) : type
}

/** Returns the place of whole elements. */
export const wholeElements = (type: Datatype): FieldSlot => ({ type, offset: 0, lengths: [], strides: [] })

/** Returns the place of a field; undefined if there is none of this name. */
export function fieldIn(place: FieldSlot, name: string): FieldSlot | undefined {
  const member = listFields(place)?.find((each) => each.name === name)
  if (member === undefined) return undefined
  let { type } = place
  const [lengths, strides] = [[...place.lengths], [...place.strides]]
  while (type.kind === 'array') {
    const { shape, base } = type
    lengths.push(...shape)
    strides.push(...stridesOf(shape).map((stride) => stride * base.size))
    type = base
  }
  return { type: member.type, offset: place.offset + member.offset, lengths, strides }
}
