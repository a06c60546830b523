/** Last four bytes of an `.af` file. */
export const FOOTER_MAGIC = 'ARRF'
/** Last four bytes of a `.stats` file. */
export const STATS_MAGIC = 'ARST'
/** Last four bytes of a container while another one replaces it and its sidecars. */
export const REPLACING_MAGIC = 'ARRP'
export type Magic = typeof FOOTER_MAGIC | typeof STATS_MAGIC

/** Bytes of the trailer that ends both kinds of file. */
export const TRAILER_BYTES = 12

/** Whether the end of a file is `magic`, of four characters. */
export const endsInMagic = (end: Uint8Array, magic: string): boolean =>
  end.byteLength >= 4 && end.subarray(-4).every((byte, i) => byte === magic.charCodeAt(i))

/**
 * Returns the number of payload bytes in front of the trailer; undefined if there is no valid trailer, which
 * `trailer-faults.ts` explains. `end` is the end of a file, and nothing follows the trailer:
 *
 *     +0 u64 payload bytes | +8 four ASCII characters
 *
 * @param fileBytes if known, the payload must fit in front of the trailer
 */
export function payloadBytes(end: Uint8Array, magic: Magic, fileBytes = Number.POSITIVE_INFINITY): number | undefined {
  if (end.byteLength < TRAILER_BYTES || !endsInMagic(end, magic)) return undefined
  const bytes = announcedBytes(end)
  return bytes > Math.min(fileBytes - TRAILER_BYTES, Number.MAX_SAFE_INTEGER) ? undefined : Number(bytes)
}

/** Returns the number of bytes that a trailer announces, which may be too large. */
export function announcedBytes({ buffer, byteOffset, byteLength }: Uint8Array): bigint {
  return new DataView(buffer, byteOffset + byteLength - TRAILER_BYTES).getBigUint64(0, true)
}
