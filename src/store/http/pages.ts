import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import { randomName } from '../conditions.ts'
import { Absence, type RequestContext } from './context.ts'
import { folderOfPlace, PAGE_ANSWER, requestWhole, type WholeReads } from './request-whole.ts'

/*
 * Pages of HTML that servers send for missing objects. Loaded with the first such answer.
 */

/** Largest size of a page that a server sends for every name. */
const MAX_PAGE_BYTES = 2 ** 20

/** Returns the result for a missing object whose server sends a page instead. */
export const missingByPage = ({ file }: RequestContext): Absence => new Absence({ file, answer: PAGE_ANSWER })

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
    url.pathname = folderOfPlace(place) + randomName()
    return pageAt(reads, { ...place, url: url.href }, signal)
  }
  const page = await another()
  if (page === undefined) return false
  const isOwn = areEqual(page, own)
  if (!isOwn && !areEqual(page, (await another()) ?? page.subarray(1))) {
    const text =
      'the server answers every name with a page of HTML, each another one, so that nothing tells whether there is such an object; it may want a login: open the URL in a browser, and pass `headers` or a `fetch` that is logged in'
    throw new HyperslabError('StoreError', text, { file: place.file, actual: PAGE_ANSWER })
  }
  pages.page = page
  return isOwn
}

/** Returns the answer for a place, if its status is 200 and it is small. */
async function pageAt(reads: WholeReads, place: RequestContext, signal: Signal | undefined): Promise<Uint8Array | undefined> {
  try {
    const found = await requestWhole(reads, place, MAX_PAGE_BYTES, signal, [200])
    return found === undefined || found instanceof Absence ? undefined : found.tail.bytes
  } catch (error) {
    if (isHyperslabError(error, 'TooLargeError')) return undefined
    throw error
  }
}

const areEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i])
