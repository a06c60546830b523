import { METADATA_PATH } from '../../adapters/zarr/metadata-names.ts'
import { TRAILER_BYTES } from '../../af/format/footer-trailer.ts'
import { refuseClaim } from '../../af/format/trailer-faults.ts'
import { isContainerEnd } from '../../af/write/occupied.ts'
import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { JsonMembers } from '../../core/json-members.ts'
import type { Signal } from '../../core/signal.ts'
import type { ObjectInfo, StoredAt } from '../../store/store.ts'
import { readWhole } from '../../store/whole.ts'
import { kindOfStart } from '../../tree/formats.ts'
import { REFERENCES_BYTES } from '../../tree/reference-store.ts'

/**
 * Kind of a file by its content: `container`, `references`, `text`, or the name of another known format.
 * Undefined if it is unknown.
 */
export type ContentKind = string | undefined

/** Number of bytes that tell text from other files. */
const START_BYTES = 512
/** Maximum number of references in a document. */
const MOST_REFERENCES = 2 ** 23

/**
 * Checks that a new file may replace an existing one: a file of the same known kind, or an empty one.
 * @param written returns the kind of the new file
 * @throws AlreadyExistsError for a file of another kind; ConflictError for a container that is being replaced
 */
export async function checkSameKind(
  place: StoredAt,
  info: ObjectInfo,
  written: () => Promise<ContentKind>,
  signal: Signal | undefined,
): Promise<void> {
  if (info.size === 0) return
  const there = await kindOf(place, info, signal)
  const own = await written()
  if (there !== undefined && there === own) return
  const kinds = `this file is ${inWords(there)}, and the new one ${inWords(own)}`
  const text = `--overwrite replaces only a file of the same kind; ${kinds}: write to another name, or remove it first`
  throw new HyperslabError('AlreadyExistsError', text, { file: place.store.describe(place.path), actual: there, expected: own })
}

const inWords = (kind: ContentKind): string => (kind === undefined ? 'of an unknown kind' : `of the kind '${kind}'`)

/** @throws ConflictError for a container that is being replaced */
export async function kindOf(
  { store, path }: StoredAt,
  { size, etag }: ObjectInfo,
  signal: Signal | undefined,
): Promise<ContentKind> {
  const options = { ifMatch: etag, signal }
  const last = Math.min(size, TRAILER_BYTES)
  const end = await store.getRange(path, size - last, last, options)
  const start = await store.getRange(path, 0, Math.min(size, START_BYTES), options)
  if (end === undefined || start === undefined) return undefined
  refuseClaim(end)
  if (isContainerEnd({ bytes: end, size, etag })) return 'container'
  const known = kindOfStart(String.fromCharCode(...start))
  const isJson = known === 'references'
  if (isJson && (await isReferences({ store, path }, signal))) return known
  if (known !== undefined && !isJson) return known
  return start.includes(0) ? undefined : 'text'
}

/** Whether a file is a document of references, and not any JSON. */
async function isReferences({ store, path }: StoredAt, signal: Signal | undefined): Promise<boolean> {
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
