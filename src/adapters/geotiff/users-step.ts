import type { Step } from '../../codec/chain.ts'
import type { Codec } from '../../codec/codec.ts'
import { joinBytes } from '../../core/bytes.ts'
import type { ImageLayout } from './layout.ts'

/** Bytes of the markers at the start and the end of a JPEG stream. */
const MARKER_BYTES = 2

/**
 * Returns a codec of the user as a step. It receives the stored tile; a JPEG stream has its tables.
 * @param jpegTables stream with the tables that tiles of JPEG omit
 */
export function usersStep(codec: Codec, { compression }: ImageLayout, jpegTables: Uint8Array | undefined): Step {
  const tables = compression === 'jpeg' ? jpegTables : undefined
  return {
    name: codec.name,
    decode: (bytes, decodedBytes) =>
      codec.decode(tables === undefined ? bytes : withTables(bytes, tables), decodedBytes ?? Infinity),
  }
}

/** Joins the tables, without the marker at their end, and a stream, without the marker at its start. */
const withTables = (stream: Uint8Array, tables: Uint8Array): Uint8Array =>
  joinBytes([tables.subarray(0, -MARKER_BYTES), stream.subarray(MARKER_BYTES)])
