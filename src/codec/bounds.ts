import { HyperslabError } from '../core/errors.ts'
import { wrongLength } from './codec.ts'

/**
 * @param expected how many bytes there must be, where that is known
 * @param mostBytes how many there may be, where that is not known
 * @throws CodecError when there are others, or more
 */
export function checkSize(codec: string, actual: number, expected: number | undefined, mostBytes: number): void {
  if (expected === undefined ? actual <= mostBytes : actual === expected) return
  throw expected === undefined ? aboveLimit(codec, actual, mostBytes) : wrongLength(codec, actual, expected)
}

/** The error for a block that decodes to more bytes than anybody allows. */
export function aboveLimit(codec: string, actual: number | undefined, mostBytes: number): HyperslabError {
  const bytes = actual === undefined ? '' : `${actual} bytes, `
  const text = `${codec} block decodes to ${bytes}more than limits.blockBytes, ${mostBytes}`
  return new HyperslabError('CodecError', text, { actual, expected: mostBytes })
}
