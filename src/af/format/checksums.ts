import { crc32cOf } from '../../kernels/crc32c.ts'

/** CRC-32C of what a file holds. */
export interface Checksums {
  /** Of the footer's payload. */
  readonly footer: number
  /** Of the blocks as stored, in the order of the footer. */
  readonly blocks: Uint32Array
}

/*
 * The block, little-endian: u32 checksum of what follows | u32 checksum of the footer | one u32 for each
 * block in front of this one. Its size is known before the footer is encoded, which tells it; so the footer's
 * checksum can be in it.
 */

export const checksumBytes = (blocks: number): number => 4 * (2 + blocks)

export function encodeChecksums({ footer, blocks }: Checksums): Uint8Array {
  const words = Uint32Array.of(0, footer, ...blocks)
  words[0] = crc32cOf(new Uint8Array(words.buffer, 4))
  return new Uint8Array(words.buffer)
}

/**
 * The checksums of that many blocks that some bytes end in; undefined when they do not, or are damaged. The
 * odds that other bytes pass for them are 1 to 2^32.
 */
export function checksumsAtEnd(bytes: Uint8Array, blocks: number): Checksums | undefined {
  const at = bytes.length - checksumBytes(blocks)
  if (blocks < 0 || at < 0) return undefined
  // A copy, which `slice` of Node's buffers is not.
  const words = new Uint32Array(new Uint8Array(bytes.subarray(at)).buffer)
  return crc32cOf(bytes.subarray(at + 4)) === words[0] ? { footer: words[1]!, blocks: words.slice(2) } : undefined
}
