import { HyperslabError } from '../../core/errors.ts'
import { ROOT_BYTES, ROOT_BYTES_6, u32BeforeEnd } from './footer.ts'

/** Size of the root object with pointers of 32 bits. */
const NARROW_ROOT_BYTES = 48

/**
 * Refuses footers of versions that nothing here reads.
 * @param payload of another version than 4 and 5
 * @throws UnsupportedError, unless the payload is none of any version
 */
export function refuseVersion(payload: Uint8Array): void {
  const version = u32BeforeEnd(payload, ROOT_BYTES)
  if (u32BeforeEnd(payload, NARROW_ROOT_BYTES) === 4) {
    const text =
      'footer version 4 with 32-bit pointers, as written before array-format 0.8; rewrite the file with array-format 0.8 or later'
    throw new HyperslabError('UnsupportedError', text, { actual: version, expected: [4, 5, 6] })
  }
  const short = u32BeforeEnd(payload, ROOT_BYTES_6)
  // The general check of the size refuses payloads that no version has.
  if (short === undefined || payload.byteLength % 8 !== 0) return
  const before = version === undefined ? '' : ` or ${version}`
  const text = `footer version ${short}${before}, expected 4, 5 or 6: a later program wrote the file, or it is damaged; update hyperslab`
  throw new HyperslabError('UnsupportedError', text, { actual: [short, version], expected: [4, 5, 6] })
}
