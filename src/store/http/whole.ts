import type { ObjectTail, WholeOptions } from '../store.ts'
import { Absence, type RequestContext } from './context.ts'
import { folderOfPlace, PAGE_ANSWER, requestWhole, type WholeReads } from './request-whole.ts'

/** Reads a whole object, unless the answer is the page that the server sends for every name. */
export async function readWholeObject(
  reads: WholeReads,
  place: RequestContext,
  { maxBytes, signal, onUnproved }: WholeOptions,
): Promise<ObjectTail | Absence> {
  const found = await requestWhole(reads, place, maxBytes, signal)
  if (found === undefined || found instanceof Absence) return found ?? new Absence()
  const { tail, html } = found
  if (!html && !startsAsPage(tail.bytes)) return tail
  const folder = folderOfPlace(place)
  if (!reads.pages.without?.has(folder)) {
    const { isPage, missingByPage } = await import('./pages.ts')
    if (await isPage(reads, place, tail.bytes, signal)) return missingByPage(place)
    reads.pages.without ??= new Set()
    reads.pages.without.add(folder)
  } else onUnproved?.({ file: place.file, answer: PAGE_ANSWER })
  return tail
}

/** Whether a body of any content type begins like HTML. */
function startsAsPage(bytes: Uint8Array): boolean {
  if (bytes[0] !== 0x3c) return false
  return /^<(!doctype\s+html|html)[\s>]/i.test(String.fromCharCode(...bytes.subarray(0, 32)))
}
