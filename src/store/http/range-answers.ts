import type { ByteRange, ObjectInfo, ObjectTail } from '../store.ts'
import { changed, endsBefore } from '../store.ts'
import { readRefusal, short } from './answers.ts'
import type { HttpAnswer } from './client.ts'
import type { Absence, RequestContext } from './context.ts'
import { contentEncoding, contentLength, contentRange, headerInfo, isVersion } from './headers.ts'

/*
 * Readers of answers about sizes and ranges, loaded beside the first such request. Whole objects need none.
 */

/** A range of one version, if the version is known. */
export interface HttpRange extends ByteRange {
  readonly ifMatch: string | undefined
}

const wrongAnswers = () => import('./wrong-answers.ts')

/** Most bytes that are transferred only to be dropped. */
const MAX_DROPPED_BYTES = 64 * 2 ** 20
/** Most extra bytes whose transfer is cheaper than another request. */
const SMALL_BYTES = 2 ** 20

/** Reads the size from an answer to HEAD; `unknown` if another kind of request may reveal it. */
export async function readSize(answer: HttpAnswer, place: RequestContext): Promise<ObjectInfo | Absence | 'unknown'> {
  const { status, headers } = answer
  const saysMissing = place.missing.includes(status) && !place.knowsHead
  if (status !== 200 && !saysMissing && ![403, 405, 501].includes(status)) return readRefusal(answer, place)
  answer.discard()
  // The server may forbid HEAD alone, because URLs are signed for one method. It may have no route for HEAD,
  // and answer that nothing is there. An answer to HEAD has no body that tells why.
  if (status !== 200) return 'unknown'
  const size = contentLength(headers)
  return size === undefined ? 'unknown' : headerInfo(headers, size)
}

/**
 * Reads the bytes of a range from an answer: 206, or 200 with the whole object. Returns the status for 412
 * and 416, whose meaning depends on the current state of the object.
 * @throws ConflictError if the answer has another version than `ifMatch`; FormatError if the object is too
 *   short; UnsupportedError if the part is compressed; StoreError for all other answers; Transient if the
 *   transfer was cut short
 */
export async function readRange(
  answer: HttpAnswer,
  place: RequestContext,
  { offset, length, ifMatch }: HttpRange,
): Promise<Uint8Array | Absence | 412 | 416> {
  const { status, headers } = answer
  const { file } = place
  const end = offset + length
  if (status === 412 || status === 416) {
    answer.discard()
    return status
  }
  if (status !== 200 && status !== 206) return readRefusal(answer, place)
  const covers = await covered(answer, place, offset)
  const isOther = ifMatch !== undefined && !isVersion(ifMatch, headers, covers.total)
  const { start, end: last = end, total = end } = covers
  if (isOther || end > Math.min(last, total) || start > offset || offset - start > MAX_DROPPED_BYTES) {
    answer.discard()
    throw isOther ? changed(file) : (await wrongAnswers()).misfit(covers, offset, end, file, MAX_DROPPED_BYTES)
  }
  const bytes = await answer.read(offset - covers.start, length)
  if (bytes.length === length) return bytes
  // A transfer of unannounced size that ended regularly shows where the object ends.
  const told = contentLength(headers)
  const inOrder = covers.end === undefined && (told === undefined || told === answer.received)
  if (inOrder) throw endsBefore(file, covers.start + answer.received, end)
  throw short(file, bytes.length, length)
}

/**
 * Range `[start, end)` of the object in the body. `end` is undefined if only the end of the body reveals it.
 */
interface Covered {
  readonly start: number
  readonly end: number | undefined
  readonly total: number | undefined
}

async function covered(answer: HttpAnswer, { file, crossOrigin }: RequestContext, offset: number): Promise<Covered> {
  const { status, headers } = answer
  if (status === 200) {
    const total = contentLength(headers)
    return { start: 0, end: total, total }
  }
  await refuseEncoded(answer, file)
  const range = contentRange(headers)
  if (range !== undefined) return { total: undefined, ...range }
  if (crossOrigin && headers.get('content-range') === null) return { start: offset, end: undefined, total: undefined }
  answer.discard()
  throw (await wrongAnswers()).unplaced(file, headers.get('content-range'))
}

/**
 * Reads the tail from the answer to a request for the last bytes. Returns size and version alone if the
 * server sends the whole object and it is large; `unknown` for other answers.
 */
export async function readSuffix(
  answer: HttpAnswer,
  place: RequestContext,
  length: number,
): Promise<ObjectTail | ObjectInfo | Absence | 'unknown'> {
  const { status, headers } = answer
  const total = status === 200 ? contentLength(headers) : status === 206 ? contentRange(headers)?.total : undefined
  if (total === undefined) return withoutSize(answer, place)
  const wanted = Math.min(length, total)
  if (status === 206) {
    await refuseEncoded(answer, place.file)
    const { start, end } = contentRange(headers)!
    if (start !== total - wanted || end !== total) {
      answer.discard()
      return 'unknown'
    }
  } else if (total - wanted > SMALL_BYTES) {
    answer.discard()
    return headerInfo(headers, total)
  }
  const bytes = await answer.read(status === 200 ? total - wanted : 0, wanted)
  if (bytes.length < wanted) throw short(place.file, bytes.length, wanted)
  return { ...headerInfo(headers, total), bytes }
}

/**
 * Interprets an answer that does not tell the size of the object. Returns `unknown` if the server may only
 * lack ranges.
 */
export async function withoutSize(answer: HttpAnswer, place: RequestContext): Promise<Absence | 'unknown'> {
  const { status } = answer
  const isUnknown = [200, 206, 400, 405, 416, 501].includes(status) && !place.missing.includes(status)
  if (!isUnknown) return readRefusal(answer, place)
  answer.discard()
  return 'unknown'
}

/**
 * Refuses a compressed answer, because offsets into it are useless.
 * @throws UnsupportedError
 */
export async function refuseEncoded(answer: HttpAnswer, file: string): Promise<void> {
  const encoding = contentEncoding(answer.headers)
  if (encoding === undefined) return
  answer.discard()
  throw (await wrongAnswers()).encoded(file, encoding)
}
