import { HyperslabError } from '../core/errors.ts'
import { crc32cOf } from '../kernels/crc32c.ts'

/**
 * @param what names the bytes in the error message
 * @throws IntegrityError if the bytes do not match the checksum
 */
export const checkCrc = (what: string, bytes: Uint8Array, expected: number): void => compareCrc(what, crc32cOf(bytes), expected)

/** @throws IntegrityError if the checksums differ */
export function compareCrc(what: string, actual: number, expected: number): void {
  if (actual === expected) return
  const text = `${what}: the checksum is ${hex(actual)}, but ${hex(expected)} was written: the bytes have changed since`
  throw new HyperslabError('IntegrityError', text, { actual, expected })
}

const hex = (crc: number): string => crc.toString(16).padStart(8, '0')
