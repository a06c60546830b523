import type { Signal } from '../../core/signal.ts'
import type { RangeRequester } from '../requester.ts'
import type { ObjectTail } from '../store.ts'
import { checkWhole, MAX_WHOLE_BYTES, objectTooLarge } from '../whole.ts'
import { isHtml, readRefusal, short } from './answers.ts'
import type { HttpAnswer, HttpClient } from './client.ts'
import { Absence, type RequestContext } from './context.ts'
import { contentLength, headerInfo } from './headers.ts'

/** Assumed size of the first object of unknown size, in bytes. */
const FIRST_BYTES = 2 ** 20

/** Resources for reading whole objects. */
export interface WholeReads {
  readonly client: HttpClient
  readonly requester: RangeRequester
  /** Pages that the server is known to send. */
  readonly pages: Pages
}

/** Knowledge about the pages that a server sends for missing objects. */
export interface Pages {
  /** The latest such page. */
  page?: Uint8Array
  /** Assumed size of an object of unknown size: that of the previous object. */
  wholeBytes?: number
  /** Folders in which the server does not send pages for missing objects. */
  without?: Set<string>
}

/** An answer that proves nothing, in words. */
export const PAGE_ANSWER = '200 with a page of HTML'

interface Found {
  readonly tail: ObjectTail
  readonly html: boolean
}

/**
 * Requests a whole object.
 * @param statuses statuses that count as an object; any other status means there is none
 */
export function requestWhole(
  { client, requester, pages }: WholeReads,
  place: RequestContext,
  maxBytes: number | undefined,
  signal: Signal | undefined,
  statuses?: readonly number[],
): Promise<Found | Absence | undefined> {
  const receive = async (answer: HttpAnswer, hold: (bytes: number) => void): Promise<Found | Absence | undefined> => {
    if (statuses?.includes(answer.status) !== false) return receiveWhole(answer, place, hold, maxBytes)
    answer.discard()
    return undefined
  }
  const guess = Math.min(maxBytes ?? MAX_WHOLE_BYTES, pages.wholeBytes ?? FIRST_BYTES)
  const send = async (hold: (bytes: number) => void): Promise<Found | Absence | undefined> => {
    const found = await client.send({ ...place, method: 'GET' }, (answer) => receive(answer, hold), signal)
    if (found !== undefined && !(found instanceof Absence)) pages.wholeBytes = found.tail.size
    return found
  }
  return requester.run(guess, send, signal)
}

/**
 * Reads the object from the answer to a request without a range.
 * @throws TooLargeError; StoreError for a status other than 200 and those of missing objects; Transient if
 *   the transfer was cut short
 */
async function receiveWhole(
  answer: HttpAnswer,
  place: RequestContext,
  hold: (bytes: number) => void,
  maxBytes = MAX_WHOLE_BYTES,
): Promise<Found | Absence> {
  const { status, headers } = answer
  const { file, crossOrigin } = place
  if (status !== 200) return readRefusal(answer, place)
  // Browsers hide `Content-Encoding` of other origins, so this may be the compressed length.
  const told = crossOrigin ? undefined : contentLength(headers)
  try {
    checkWhole(file, told ?? 0, maxBytes)
  } catch (error) {
    answer.discard()
    throw error
  }
  if (told !== undefined) hold(told)
  let room = new Uint8Array(told ?? 0)
  await answer.receive(maxBytes + 1, (bytes, offset) => {
    const end = offset + bytes.length
    if (end > maxBytes) return
    if (end > room.length) {
      const larger = new Uint8Array(offset === 0 ? end : Math.min(Math.max(end, 2 * room.length), maxBytes))
      larger.set(room)
      room = larger
      hold(room.length)
    }
    room.set(bytes, offset)
  })
  const size = answer.received
  if (size > maxBytes) throw objectTooLarge(file, `more than ${maxBytes}`, size, maxBytes)
  if (told !== undefined && size < told) throw short(file, size, told)
  const tail = { ...headerInfo(headers, size), bytes: size === room.length ? room : room.slice(0, size) }
  return { tail, html: isHtml(headers) }
}

/** Returns the path of the folder of an object, with a slash at its end. */
export function folderOfPlace({ url }: RequestContext): string {
  const { pathname } = new URL(url)
  return pathname.slice(0, pathname.lastIndexOf('/') + 1)
}
