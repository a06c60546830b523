import { HyperslabError } from '../core/errors.ts'
import { wrongLength } from './codec.ts'

/**
 * Checks the number of decoded bytes.
 * @param expected exact number of bytes, if it is known
 * @param mostBytes limit, used if the exact number is unknown
 * @throws CodecError if the number differs or exceeds the limit
 */
export function checkSize(codec: string, actual: number, expected: number | undefined, mostBytes: number): void {
  if (expected === undefined ? actual <= mostBytes : actual === expected) return
  throw expected === undefined ? aboveLimit(codec, actual, mostBytes) : wrongLength(codec, actual, expected)
}

/** Returns the error for a block that decodes to more bytes than the limit. */
export function aboveLimit(codec: string, actual: number | undefined, mostBytes: number): HyperslabError {
  const bytes = actual === undefined ? '' : `${actual} bytes, `
  const text = `${codec} block decodes to ${bytes}more than \`limits.blockBytes\`, ${mostBytes}`
  return new HyperslabError('CodecError', text, { actual, expected: mostBytes })
}
