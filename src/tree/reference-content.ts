import { METADATA_PATH } from '../adapters/zarr/metadata-names.ts'
import { isHyperslabError } from '../core/errors.ts'
import { JsonMembers } from '../core/json-members.ts'
import type { Signal } from '../core/signal.ts'
import type { StoredAt } from '../store/store.ts'
import { readWhole } from '../store/whole.ts'
import { REFERENCES_BYTES } from './reference-store.ts'

/** Maximum number of references in a document. */
const MOST_REFERENCES = 2 ** 23

/** Whether a file is a document of references, and not any JSON. */
export async function isReferences({ store, path }: StoredAt, signal: Signal | undefined): Promise<boolean> {
  const found = await readWhole(store, path, { maxBytes: REFERENCES_BYTES, signal })
  if (found === undefined) return false
  try {
    const all = await JsonMembers.read(found.bytes, path, { most: MOST_REFERENCES, inner: 'refs', signal })
    const references = all.has('version') ? (all.get('version') === 1 ? all.inner('refs') : undefined) : all
    for (const name of references?.names ?? []) if (METADATA_PATH.test(name)) return true
    return false
  } catch (error) {
    if (isHyperslabError(error, 'FormatError', 'TooLargeError')) return false
    throw error
  }
}
