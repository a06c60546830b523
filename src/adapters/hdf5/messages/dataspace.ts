import { type Cursor, damaged } from '../cursor.ts'
import { LIMITS } from '../limits.ts'

/** Shape of an array or an attribute. */
export interface Dataspace {
  /** Lengths of the axes; undefined for a null dataspace, which has no elements. */
  readonly shape: readonly number[] | undefined
  /** Limits of the lengths; undefined for unlimited axes. */
  readonly maxShape: readonly (number | undefined)[]
}

export function parseDataspace(cursor: Cursor): Dataspace {
  const version = cursor.version('the dataspace', [1, 2])
  const rank = cursor.u8()
  const flags = cursor.u8()
  const kind = cursor.u8()
  if (version === 1) cursor.skip(4)
  if (version === 2 && kind === 2) return { shape: undefined, maxShape: [] }
  if (rank > LIMITS.rank) damaged(`an array of ${rank} axes`, cursor.start, rank)
  const shape = Array.from({ length: rank }, () => cursor.length())
  const maxShape = flags & 1 ? Array.from({ length: rank }, () => cursor.maxLength()) : shape
  const count = shape.reduce((product, length) => product * length, 1)
  if (!Number.isSafeInteger(count)) damaged(`an array of ${count} elements`, cursor.start, count)
  return { shape, maxShape }
}
