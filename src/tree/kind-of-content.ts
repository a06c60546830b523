import type { Signal } from '../core/signal.ts'
import type { ObjectTail, StoredAt } from '../store/store.ts'
import { FORMATS } from './formats.ts'
import { begins, HEAD_BYTES } from './signature.ts'

/** First bytes of a picture that `hyperslab plot` writes. */
const PICTURE = '\x89PNG\r\n\x1a\n'

/** Bytes at the end of a file that formats are told by. */
export const END_BYTES = 12

/**
 * Returns the name of the format of a file by its content, among those that are read here and others that are
 * known. Undefined for other files.
 * @param start first bytes, as characters
 * @param end last bytes
 * @throws ConflictError for a file that is being replaced
 */
export async function kindOfContent(
  place: StoredAt,
  start: string,
  end: ObjectTail,
  signal: Signal | undefined,
): Promise<string | undefined> {
  const head = start.slice(0, HEAD_BYTES)
  for (const { name, starts, isContent } of FORMATS) {
    if (starts !== undefined && !begins(head, starts)) continue
    if (isContent === undefined ? starts !== undefined : await isContent(end, place, signal)) return name
  }
  return start.startsWith(PICTURE) ? 'png' : (await import('./refused-formats.ts')).nameOfRefused(head)
}
