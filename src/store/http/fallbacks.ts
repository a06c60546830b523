import { HyperslabError } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import { changed, endsBefore, type ObjectInfo } from '../store.ts'
import { readRefusal } from './answers.ts'
import type { HttpAnswer, HttpClient } from './client.ts'
import { Absence, type RequestContext } from './context.ts'
import { contentLength, contentRange, type Headers, headerInfo } from './headers.ts'
import { type HttpRange, refuseEncoded } from './range-answers.ts'
import { statusError } from './status-error.ts'

/** Requests size and version through the first byte, for servers that do not answer HEAD. */
export async function statByByte(
  client: HttpClient,
  place: RequestContext,
  signal: Signal | undefined,
  note: (answer: HttpAnswer) => HttpAnswer,
): Promise<ObjectInfo | Absence> {
  const range = { offset: 0, length: 1 }
  const request = { ...place, method: 'GET', headers: { range: 'bytes=0-0' }, range } as const
  const receive = async (answer: HttpAnswer): Promise<ObjectInfo | Absence> => {
    const { status, headers } = note(answer)
    if (![200, 206, 416].includes(status) || place.missing.includes(status)) return readRefusal(answer, place)
    answer.discard()
    if (status === 206) await refuseEncoded(answer, place.file)
    const size =
      status === 200 ? contentLength(headers) : status === 206 ? contentRange(headers)?.total : sizeOfUnsatisfied(headers)
    if (size !== undefined) return headerInfo(headers, size)
    const hidden = place.crossOrigin ? '; on other origins it must expose the header Content-Range' : ''
    const text = `the server does not tell the size of the object${hidden}`
    throw new HyperslabError('UnsupportedError', text, { file: place.file })
  }
  return client.send(request, receive, signal)
}

/** Parses the size of the object in a 416, as in `bytes * /5`. */
function sizeOfUnsatisfied(headers: Headers): number | undefined {
  const [, total] = /^\s*bytes\s+\*\/(\d+)\s*$/i.exec(headers.get('content-range') ?? '') ?? []
  return total === undefined ? undefined : Number(total)
}

/**
 * Interprets the refusal of a range by the current state of the object. Returns if the version is the
 * expected one, because the server then compares tags in its own way.
 * @param pinned whether one version was requested
 * @throws Absence; ConflictError for another version; FormatError when the object is too short; StoreError
 */
export function settleRefusal(
  status: 412 | 416,
  place: RequestContext,
  { offset, length, ifMatch }: HttpRange,
  pinned: boolean,
  now: ObjectInfo | Absence,
): void {
  if (now instanceof Absence) throw now
  if (ifMatch !== undefined && now.etag !== ifMatch) throw changed(place.file)
  if (status === 412 && pinned) return
  if (status === 416 && offset + length > now.size) throw endsBefore(place.file, now.size, offset + length)
  throw statusError(status, place)
}
