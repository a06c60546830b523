import { HyperslabError } from '../../core/errors.ts'
import { announcedBytes, endsInMagic, type Magic, payloadBytes, REPLACING_MAGIC, TRAILER_BYTES } from './footer-trailer.ts'

/** @throws ConflictError for the end of a file that claims the place of a container */
export function refuseClaim(end: Uint8Array): void {
  if (!endsInMagic(end, REPLACING_MAGIC)) return
  const text =
    'another container is taking this place, or its writer was killed meanwhile; run the same command once more to complete it'
  throw new HyperslabError('ConflictError', text)
}

/**
 * Returns what `payloadBytes` returns.
 * @throws FormatError for the end of a file that is no trailer; ConflictError for one that claims a place
 */
export function readTrailer(end: Uint8Array, magic: Magic, fileBytes?: number): number {
  return payloadBytes(end, magic, fileBytes) ?? refuseTrailer(end, magic, fileBytes)
}

function refuseTrailer(end: Uint8Array, magic: Magic, fileBytes: number | undefined): never {
  if (end.byteLength < TRAILER_BYTES) {
    const text = `${end.byteLength} bytes are too few for the trailer, expected ${TRAILER_BYTES}`
    throw new HyperslabError('FormatError', text, { actual: end.byteLength, expected: TRAILER_BYTES })
  }
  refuseClaim(end)
  const actual = Array.from(end.subarray(-4), (byte) => String.fromCharCode(byte)).join('')
  if (actual !== magic) {
    const text = `the file ends in ${JSON.stringify(actual)}, expected ${JSON.stringify(magic)}`
    throw new HyperslabError('FormatError', text, { actual, expected: magic })
  }
  const bytes = announcedBytes(end)
  const most = fileBytes === undefined ? Number.MAX_SAFE_INTEGER : fileBytes - TRAILER_BYTES
  const text = `the trailer announces a payload of ${bytes} bytes, but the file has room for ${most}`
  throw new HyperslabError('FormatError', text, { actual: bytes, expected: most })
}
