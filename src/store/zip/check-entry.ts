import { crc32 } from '../../codec/checksums.ts'
import { HyperslabError } from '../../core/errors.ts'
import { Pace } from '../../core/pace.ts'
import type { Signal } from '../../core/signal.ts'
import type { ZipEntry } from './directory.ts'

/** Number of bytes that are checked at a time, in some milliseconds. */
const PIECE_BYTES = 4 * 2 ** 20

/**
 * Compares the content of an entry with the CRC-32 of the directory.
 * @throws IntegrityError for another checksum
 */
export async function checkEntry({ crc }: ZipEntry, content: Uint8Array, signal: Signal | undefined): Promise<void> {
  const pace = new Pace(signal)
  let actual = 0
  for (let at = 0; at < content.length; at += PIECE_BYTES) {
    if (at > 0 && pace.due()) await pace.turn()
    actual = crc32(content.subarray(at, at + PIECE_BYTES), actual)
  }
  if (actual === crc) return
  const text = `its CRC-32 is ${hex(actual)}, that of the directory is ${hex(crc)}: the archive is damaged`
  throw new HyperslabError('IntegrityError', text, { actual, expected: crc })
}

const hex = (crc: number): string => crc.toString(16).padStart(8, '0')
