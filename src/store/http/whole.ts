import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import { randomName } from '../conditions.ts'
import type { RangeRequester } from '../requester.ts'
import type { ObjectTail, WholeOptions } from '../store.ts'
import { checkWhole, MAX_WHOLE_BYTES, objectTooLarge } from '../whole.ts'
import { isHtml, readRefusal, short } from './answers.ts'
import type { HttpAnswer, HttpClient } from './client.ts'
import { Absence, type RequestContext } from './context.ts'
import { contentLength, headerInfo } from './headers.ts'

/** Largest size of a page that a server sends for every name. */
const MAX_PAGE_BYTES = 2 ** 20

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

/** Reads a whole object, unless the answer is the page that the server sends for every name. */
export async function readWholeObject(
  reads: WholeReads,
  place: RequestContext,
  { maxBytes, signal, onUnproved }: WholeOptions,
): Promise<ObjectTail | Absence> {
  const found = await request(reads, place, maxBytes, signal)
  if (found === undefined || found instanceof Absence) return found ?? new Absence()
  const { tail, html } = found
  if (!html && !startsAsPage(tail.bytes)) return tail
  const folder = folderOf(place)
  if (!reads.pages.without?.has(folder)) {
    if (await isPage(reads, place, tail.bytes, signal)) return missingByPage(place)
    reads.pages.without ??= new Set()
    reads.pages.without.add(folder)
  } else onUnproved?.({ file: place.file, answer: PAGE })
  return tail
}

const PAGE = '200 with a page of HTML'

/** Returns the result for a missing object whose server sends a page instead. */
export const missingByPage = ({ file }: RequestContext): Absence => new Absence({ file, answer: PAGE })

/** Whether a body of any content type begins like HTML. */
function startsAsPage(bytes: Uint8Array): boolean {
  if (bytes[0] !== 0x3c) return false
  return /^<(!doctype\s+html|html)[\s>]/i.test(String.fromCharCode(...bytes.subarray(0, 32)))
}

/** Whether two places get equal answers, of a size that such pages have. */
export async function areAnsweredAlike(
  reads: WholeReads,
  key: RequestContext,
  other: RequestContext,
  signal: Signal | undefined,
): Promise<boolean> {
  const one = await pageAt(reads, key, signal)
  const two = one && (await pageAt(reads, other, signal))
  return two !== undefined && areEqual(one!, two)
}

interface Found {
  readonly tail: ObjectTail
  readonly html: boolean
}

/** @param statuses statuses that count as an object; any other status means there is none */
function request(
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

function folderOf({ url }: RequestContext): string {
  const { pathname } = new URL(url)
  return pathname.slice(0, pathname.lastIndexOf('/') + 1)
}

/**
 * Whether an HTML page is the one that the server sends for missing objects.
 * @param bytes bytes of the page; if omitted, the page is requested
 * @throws StoreError if each name has a page of its own, such as login pages that contain the requested
 *   address: then presence and absence cannot be distinguished
 */
export async function isPage(
  reads: WholeReads,
  place: RequestContext,
  bytes: Uint8Array | undefined,
  signal: Signal | undefined,
): Promise<boolean> {
  const { pages } = reads
  const own = bytes ?? (await pageAt(reads, place, signal))
  if (own === undefined) return false
  if (pages.page !== undefined && areEqual(pages.page, own)) return true
  const another = async (): Promise<Uint8Array | undefined> => {
    const url = new URL(place.url)
    url.pathname = folderOf(place) + randomName()
    return pageAt(reads, { ...place, url: url.href }, signal)
  }
  const page = await another()
  if (page === undefined) return false
  const isOwn = areEqual(page, own)
  if (!isOwn && !areEqual(page, (await another()) ?? page.subarray(1))) {
    const text =
      'the server answers every name with a page of HTML, each another one, so that nothing tells whether there is such an object; it may want a login: open the URL in a browser, and pass `headers` or a `fetch` that is logged in'
    throw new HyperslabError('StoreError', text, { file: place.file, actual: PAGE })
  }
  pages.page = page
  return isOwn
}

/** Returns the answer for a place, if its status is 200 and it is small. */
async function pageAt(reads: WholeReads, place: RequestContext, signal: Signal | undefined): Promise<Uint8Array | undefined> {
  try {
    const found = await request(reads, place, MAX_PAGE_BYTES, signal, [200])
    return found === undefined || found instanceof Absence ? undefined : found.tail.bytes
  } catch (error) {
    if (isHyperslabError(error, 'TooLargeError')) return undefined
    throw error
  }
}

const areEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i])
