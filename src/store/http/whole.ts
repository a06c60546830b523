import { isHyperslabError } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import { randomName } from '../conditions.ts'
import type { RangeRequester } from '../requester.ts'
import { checkWhole, MAX_WHOLE_BYTES, objectTooLarge, type Tail, type WholeOptions } from '../store.ts'
import { type RequestContext, short, statusError } from './answers.ts'
import type { HttpAnswer, HttpClient } from './client.ts'
import { contentLength, headerInfo } from './headers.ts'

/** What a server answers to every name is no larger. */
const MAX_PAGE_BYTES = 2 ** 20

/** What the first object whose size is not known is taken to have, in bytes. */
const FIRST_BYTES = 2 ** 20

/** What whole objects are read with. */
export interface WholeReads {
  readonly client: HttpClient
  readonly requester: RangeRequester
  /** What the server turned out to do. */
  readonly pages: Pages
}

/** What a server answers to names that nothing has. */
export interface Pages {
  /** The page that was met last. */
  page?: Uint8Array
  /** What an object whose size is not known is taken to have: as many bytes as the last one. */
  wholeBytes?: number
  /** Folders in which what nothing has is not answered with a page. */
  without?: Set<string>
}

/** A whole object, unless it is the page that the server has for every name. */
export async function readWholeObject(
  reads: WholeReads,
  place: RequestContext,
  { maxBytes, signal }: WholeOptions,
): Promise<Tail | undefined> {
  const found = await request(reads, place, maxBytes, signal)
  if (found?.html && (await isPage(reads, place, found.tail.bytes, signal))) return undefined
  return found?.tail
}

/** Whether two places get the very same answer, of a size that such pages have. */
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
  readonly tail: Tail
  readonly html: boolean
}

/** @param statuses that count; with any other there is no object */
function request(
  { client, requester, pages }: WholeReads,
  place: RequestContext,
  maxBytes: number | undefined,
  signal: Signal | undefined,
  statuses?: readonly number[],
): Promise<Found | undefined> {
  const receive = async (answer: HttpAnswer, hold: (bytes: number) => void): Promise<Found | undefined> => {
    if (statuses?.includes(answer.status) !== false) return receiveWhole(answer, place, hold, maxBytes)
    answer.discard()
    return undefined
  }
  const guess = Math.min(maxBytes ?? MAX_WHOLE_BYTES, pages.wholeBytes ?? FIRST_BYTES)
  const send = async (hold: (bytes: number) => void): Promise<Found | undefined> => {
    const found = await client.send({ ...place, method: 'GET' }, (answer) => receive(answer, hold), signal)
    if (found !== undefined) pages.wholeBytes = found.tail.size
    return found
  }
  return requester.run(guess, send, signal)
}

/**
 * The object from the answer to a request without a range.
 * @throws TooLargeError; StoreError for a status that is neither 200 nor one for what is missing; Transient
 *   when the transfer was cut short
 */
async function receiveWhole(
  answer: HttpAnswer,
  place: RequestContext,
  hold: (bytes: number) => void,
  maxBytes = MAX_WHOLE_BYTES,
): Promise<Found | undefined> {
  const { status, headers } = answer
  const { file, missing, crossOrigin } = place
  if (status !== 200) {
    answer.discard()
    if (missing.includes(status)) return undefined
    throw statusError(status, place)
  }
  // Browsers hide from other origins that a body was compressed, of which this would be the length.
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
  return { tail, html: /^\s*text\/html\b/i.test(headers.get('content-type') ?? '') }
}

/** Whether a page of HTML is what the server has for names that nothing has. */
async function isPage(reads: WholeReads, place: RequestContext, bytes: Uint8Array, signal: Signal | undefined): Promise<boolean> {
  const { pages } = reads
  if (pages.page !== undefined && areEqual(pages.page, bytes)) return true
  const url = new URL(place.url)
  url.pathname = url.pathname.slice(0, url.pathname.lastIndexOf('/') + 1)
  const folder = url.pathname
  if (pages.without?.has(folder)) return false
  url.pathname += randomName()
  const page = await pageAt(reads, { ...place, url: url.href }, signal)
  if (page === undefined) {
    pages.without ??= new Set()
    pages.without.add(folder)
    return false
  }
  pages.page = page
  return areEqual(page, bytes)
}

/** What is there, if it is answered with 200 and not large. */
async function pageAt(reads: WholeReads, place: RequestContext, signal: Signal | undefined): Promise<Uint8Array | undefined> {
  try {
    return (await request(reads, place, MAX_PAGE_BYTES, signal, [200]))?.tail.bytes
  } catch (error) {
    if (isHyperslabError(error, 'TooLargeError')) return undefined
    throw error
  }
}

const areEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i])
