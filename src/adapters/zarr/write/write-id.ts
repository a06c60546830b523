import { member } from '../../../core/member.ts'
import { isObject, type JsonObject } from '../document.ts'

/** Member of the metadata of a root that identifies the write that created the hierarchy. */
const WRITE = 'hyperslab_write'

/**
 * Returns the metadata of a root with the id of its write. Readers ignore the id. In groups it is a member of
 * the consolidated metadata, because zarr-python refuses unknown members of groups.
 */
export function withWriteId(root: JsonObject, id: string): JsonObject {
  const inline = member(root, 'consolidated_metadata')
  if (isObject(inline)) return { ...root, consolidated_metadata: { ...inline, [WRITE]: id } }
  return { ...root, [WRITE]: { must_understand: false, id } }
}

/** Returns the id of the write that created a hierarchy; undefined if its root has none. */
export function writeIdOf(root: JsonObject): string | undefined {
  const inline = member(root, 'consolidated_metadata')
  const found = isObject(inline) ? member(inline, WRITE) : undefined
  const own = member(root, WRITE)
  const id = found ?? (isObject(own) ? member(own, 'id') : undefined)
  return typeof id === 'string' ? id : undefined
}
