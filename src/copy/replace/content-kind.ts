import { HyperslabError } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import type { ObjectInfo, StoredAt } from '../../store/store.ts'
import { END_BYTES, kindOfContent } from '../../tree/kind-of-content.ts'

/**
 * Kind of a file by its content: `container`, `references`, `text`, or the name of another known format.
 * Undefined if it is unknown.
 */
export type ContentKind = string | undefined

/** Number of bytes that tell text from other files. */
const START_BYTES = 512

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
  const text = `\`overwrite\` replaces only a file of the same kind; ${kinds}: write to another name, or remove it first`
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
  const last = Math.min(size, END_BYTES)
  const end = await store.getRange(path, size - last, last, options)
  const start = await store.getRange(path, 0, Math.min(size, START_BYTES), options)
  if (end === undefined || start === undefined) return undefined
  const known = await kindOfContent({ store, path }, String.fromCharCode(...start), { bytes: end, size, etag }, signal)
  if (known !== undefined) return known
  return start.includes(0) ? undefined : 'text'
}
