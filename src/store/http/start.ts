import { newController, onAbort, type Signal } from '../../core/signal.ts'
import { changed, type ObjectStart, type ObjectTail, readStartByStat, type StartOptions, type Store } from '../store.ts'
import { isHtml, short } from './answers.ts'
import type { HttpAnswer } from './client.ts'
import { Absence, type RequestContext } from './context.ts'
import { contentLength, contentRange, headerInfo } from './headers.ts'
import { readSuffix, refuseEncoded, withoutSize } from './range-answers.ts'
import type { WholeReads } from './request-whole.ts'

/** Number of times that an object may be replaced between the answers for its two ends. */
const VERSION_RETRIES = 3

/** Resources for reading both ends of an object, and what the server is known to lack. */
export interface StartReads extends WholeReads {
  readonly quirks: { noSuffix?: true }
}

/** An object to read, as its store and its server name it. */
export interface StartPlace {
  readonly store: Store
  readonly key: string
  readonly at: RequestContext
}

/**
 * Requests the first bytes of an object and, at the same time, the last, unless a browser would send a
 * preflight request for these. Starts again if the answers have two versions.
 * @throws ConflictError if the object is replaced again and again
 */
export async function readHttpStart(
  reads: StartReads,
  { store, key, at }: StartPlace,
  length: number,
  options: StartOptions,
): Promise<ObjectStart | Absence> {
  const { signal, tailBytes = 0 } = options
  const byStat = async (): Promise<ObjectStart | Absence> => (await readStartByStat(store, key, length, options)) ?? new Absence()
  if (length === 0) return byStat()
  for (let left = VERSION_RETRIES; ; left--) {
    const wantsTail = tailBytes > 0 && !at.crossOrigin && !reads.quirks.noSuffix
    const ends = await readEnds(reads, at, { length, tailBytes: wantsTail ? tailBytes : 0 }, signal)
    if (ends === 'unknown') return byStat()
    if (ends instanceof Absence) return ends
    const { start, tail } = ends
    if (tail === undefined) return start
    if (tail.etag === start.etag && tail.size === start.size) return { ...start, tail: tail.bytes }
    if (left === 0) throw changed(at.file)
  }
}

interface Ends {
  readonly start: ObjectStart
  readonly tail: ObjectTail | undefined
}

async function readEnds(
  reads: StartReads,
  at: RequestContext,
  { length, tailBytes }: { readonly length: number; readonly tailBytes: number },
  signal: Signal | undefined,
): Promise<Ends | Absence | 'unknown'> {
  const { client, requester } = reads
  const cancelled = newController()
  const forget = signal && onAbort(signal, () => cancelled.abort(signal.reason))
  const tail = tailBytes === 0 ? undefined : readTail(reads, at, tailBytes, cancelled.signal)
  let html = false
  const receive = async (answer: HttpAnswer): Promise<ObjectStart | Absence | 'unknown'> => {
    // The server ignores ranges, or it refuses them.
    if (answer.status !== 206) cancelled.abort(CANCELLED)
    html = answer.status < 300 && isHtml(answer.headers)
    return receiveStart(answer, at, length)
  }
  const range = { offset: 0, length }
  const request = { ...at, method: 'GET', headers: { range: `bytes=0-${length - 1}` }, range } as const
  try {
    const start = await requester.run(length, () => client.send(request, receive, signal), signal)
    if (start === 'unknown' || start instanceof Absence) return start
    if (html) {
      const { isPage, missingByPage } = await import('./pages.ts')
      const absence = (await isPage(reads, at, undefined, signal)) ? missingByPage(at) : undefined
      if (absence !== undefined) return absence
    }
    // The head is the whole object.
    if (start.size <= length) return { start, tail: undefined }
    return { start, tail: await tail }
  } finally {
    cancelled.abort(CANCELLED)
    forget?.()
  }
}

const CANCELLED = new Error('the end of the object is not needed')

/** Reads the last bytes; undefined after any failure, because they only save requests. */
async function readTail(
  { client, requester, quirks }: StartReads,
  at: RequestContext,
  length: number,
  signal: Signal,
): Promise<ObjectTail | undefined> {
  const request = { ...at, method: 'GET', headers: { range: `bytes=-${length}` }, range: { offset: -length, length } } as const
  const send = () => client.send(request, (answer) => readSuffix(answer, at, length), signal)
  const found = await requester.run(length, send, signal).catch(() => undefined)
  if (found === undefined || found instanceof Absence) return undefined
  if (found !== 'unknown' && 'bytes' in found) return found
  quirks.noSuffix = true
  return undefined
}

/**
 * Reads the first bytes from an answer: 206, or 200 with the whole object. Returns `unknown` if it does not
 * tell the size.
 */
async function receiveStart(
  answer: HttpAnswer,
  place: RequestContext,
  length: number,
): Promise<ObjectStart | Absence | 'unknown'> {
  const { status, headers } = answer
  const range = status === 206 ? contentRange(headers) : undefined
  // Browsers hide `Content-Encoding` of other origins, so this may be the compressed length.
  const total = status === 200 && !place.crossOrigin ? contentLength(headers) : range?.total
  if (total === undefined) return withoutSize(answer, place)
  const wanted = Math.min(length, total)
  if (range !== undefined) {
    await refuseEncoded(answer, place.file)
    if (range.start !== 0 || range.end < wanted) {
      answer.discard()
      return 'unknown'
    }
  }
  const bytes = await answer.read(0, wanted)
  if (bytes.length < wanted) throw short(place.file, bytes.length, wanted)
  return { ...headerInfo(headers, total), bytes }
}
