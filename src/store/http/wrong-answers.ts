import { HyperslabError } from '../../core/errors.ts'
import { endsBefore } from '../store.ts'

/**
 * Returns the error for an answer with bytes `[start, end)` of an object of `total` bytes, instead of the
 * requested ones.
 */
export function misfit(
  { start, end, total }: { readonly start: number; readonly end: number | undefined; readonly total: number | undefined },
  offset: number,
  wanted: number,
  file: string,
  maxDroppedBytes: number,
): HyperslabError {
  if (total !== undefined && wanted > total) return endsBefore(file, total, wanted)
  if (start > offset || (end !== undefined && end < wanted)) {
    const text = `bytes ${offset} to ${wanted} were asked for, the answer says it has ${start} to ${end ?? '?'}`
    return new HyperslabError('StoreError', text, { file, actual: [start, end], expected: [offset, wanted] })
  }
  const text = `the server does not answer range requests: ${offset - start} bytes would be transferred for nothing to read ${wanted - offset}`
  return new HyperslabError('UnsupportedError', text, { file, actual: offset - start, expected: maxDroppedBytes })
}

export function encoded(file: string, encoding: string): HyperslabError {
  const text = `the server answers a range request with compressed bytes (Content-Encoding: ${encoding})`
  return new HyperslabError('UnsupportedError', text, { file, actual: encoding, expected: 'identity' })
}

/** Returns the error for a part without a position. */
export function unplaced(file: string, header: string | null): HyperslabError {
  const text = `the server answered with a part, but ${header === null ? 'without a Content-Range' : `with Content-Range: ${header}`}`
  return new HyperslabError('StoreError', text, { file, actual: header })
}
