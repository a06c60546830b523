import { HyperslabError } from '../../core/errors.ts'

/** Last four bytes of an `.af` file. */
export const FOOTER_MAGIC = 'ARRF'
/** Last four bytes of a `.stats` file. */
export const STATS_MAGIC = 'ARST'
/** Last four bytes of a container while another one replaces it and its sidecars. */
export const REPLACING_MAGIC = 'ARRP'
export type Magic = typeof FOOTER_MAGIC | typeof STATS_MAGIC

/** Bytes of the trailer that ends both kinds of file. */
export const TRAILER_BYTES = 12

const magicOf = (end: Uint8Array): string => Array.from(end.subarray(-4), (byte) => String.fromCharCode(byte)).join('')

/** @throws ConflictError if `end` marks a container that is being replaced */
export function refuseClaim(end: Uint8Array): void {
  if (magicOf(end) !== REPLACING_MAGIC) return
  const text =
    'another container is taking this place, or its writer was killed meanwhile; run the same command once more to complete it'
  throw new HyperslabError('ConflictError', text)
}

/**
 * Returns the number of payload bytes in front of the trailer. `end` is the end of a file, and nothing
 * follows the trailer:
 *
 *     +0 u64 payload bytes | +8 four ASCII characters
 *
 * @param fileBytes if known, the payload must fit in front of the trailer
 * @throws FormatError
 */
export function readTrailer(end: Uint8Array, magic: Magic, fileBytes?: number): number {
  if (end.byteLength < TRAILER_BYTES) {
    const text = `${end.byteLength} bytes are too few for the trailer, expected ${TRAILER_BYTES}`
    throw new HyperslabError('FormatError', text, { actual: end.byteLength, expected: TRAILER_BYTES })
  }
  const trailer = end.subarray(end.byteLength - TRAILER_BYTES)
  refuseClaim(end)
  const actual = magicOf(end)
  if (actual !== magic) {
    const text = `the file ends in ${JSON.stringify(actual)}, expected ${JSON.stringify(magic)}`
    throw new HyperslabError('FormatError', text, { actual, expected: magic })
  }
  const bytes = new DataView(trailer.buffer, trailer.byteOffset).getBigUint64(0, true)
  const most = fileBytes === undefined ? Number.MAX_SAFE_INTEGER : fileBytes - TRAILER_BYTES
  if (bytes > most) {
    const text = `the trailer announces a payload of ${bytes} bytes, but the file has room for ${most}`
    throw new HyperslabError('FormatError', text, { actual: bytes, expected: most })
  }
  return Number(bytes)
}
