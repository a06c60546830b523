import type { Cursor } from '../cursor.ts'
import type { Filter } from '../filters/index.ts'

/** Ids of filters below this one have no name in version 2. */
const FIRST_NAMED = 256

export function parseFilters(cursor: Cursor): Filter[] {
  const version = cursor.version('the filter pipeline', [1, 2])
  const count = cursor.u8()
  if (version === 1) cursor.skip(6)
  return Array.from({ length: count }, () => {
    const id = cursor.u16()
    const nameBytes = version === 1 || id >= FIRST_NAMED ? cursor.u16() : 0
    const flags = cursor.u16()
    const values = cursor.u16()
    const name = cursor.text(version === 1 ? Math.ceil(nameBytes / 8) * 8 : nameBytes)
    const parameters = Array.from({ length: values }, () => cursor.u32())
    if (version === 1 && values % 2 === 1) cursor.skip(4)
    return { id, flags, ...(name !== '' && { name }), parameters }
  })
}
