import { HyperslabError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import type { Archived } from './layout.ts'
import type { Reader } from './reader.ts'

/** Longest string without a pointer, in bytes. Bytes after its end are `END`. */
export const INLINE_BYTES = 16
export const END = 0xff
// ignoreBOM keeps a leading U+FEFF, which is part of the string.
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const LONE_SURROGATE = /\p{Surrogate}/u

/**
 * A String of n bytes of UTF-8. Short ones, n <= 16, are inline:
 *
 *     +0 n bytes, none of which can be ff | ff up to +16
 *
 * Longer ones lie anywhere before, unaligned. Their first byte, 10xxxxxx, cannot start an inline string:
 *
 *     +0 u64: bits 0-5 low bits of n, bits 6-7 = 10, bits 8-63 n >> 6 | +8 i64 offset of the bytes, from +0
 */
export const string: Archived<string> = {
  size: INLINE_BYTES,
  align: 8,
  read(from, at) {
    const { view } = from
    const first = view.getUint8(at)
    if ((first & 0xc0) !== 0x80) {
      let end = at
      while (end < at + INLINE_BYTES && view.getUint8(end) !== END) end++
      return decode(from, at, at, end)
    }
    const bytes = (first & 0x3f) + 64 * (view.getUint32(at + 4, true) * 2 ** 24 + (view.getUint32(at, true) >>> 8))
    if (bytes <= INLINE_BYTES) from.fail(at, `string of ${bytes} bytes out of line, expected more than ${INLINE_BYTES}`, bytes)
    const target = from.target(at + 8, at)
    from.claim(at, target, bytes, 1)
    return decode(from, at, target, target + bytes)
  },
  form: ['string'],
}

function decode(from: Reader, at: number, start: number, end: number): string {
  try {
    return DECODER.decode(from.bytes(start, end))
  } catch (cause) {
    return from.fail(at, `string in bytes ${start} to ${end} is not UTF-8`, [start, end], undefined, cause)
  }
}

/** @throws InvalidArgumentError for other types, and for a string that UTF-8 cannot encode */
export function checkText(value: unknown): string {
  if (typeof value !== 'string') {
    throw new HyperslabError('InvalidArgumentError', `expected a string, got a ${typeof value}`, { actual: value })
  }
  if (LONE_SURROGATE.test(value)) {
    throw new HyperslabError('InvalidArgumentError', `${quoted(value)} has no UTF-8 form`, { actual: value })
  }
  return value
}
