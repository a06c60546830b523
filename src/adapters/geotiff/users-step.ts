import type { Step } from '../../codec/chain.ts'
import type { Codec } from '../../codec/codec.ts'
import { inflateStep } from '../../codec/inflate.ts'
import { zstdStep } from '../../codec/steps.ts'
import { joinBytes } from '../../core/bytes.ts'
import type { ImageLayout } from './layout.ts'

/** Bytes of the markers at the start and the end of a JPEG stream. */
const MARKER_BYTES = 2

/**
 * Returns the steps to the samples that a codec of the user decodes. It receives the stored tile: a JPEG
 * stream with its tables, the bytes of LERC without the compression around them.
 * @param jpegTables stream with the tables that tiles of JPEG omit
 */
export function usersSteps(codec: Codec, { compression, wrapper }: ImageLayout, jpegTables: Uint8Array | undefined): Step[] {
  const tables = compression === 'jpeg' ? jpegTables : undefined
  const unwrap = wrapper === 'deflate' ? [inflateStep('zlib')] : wrapper === 'zstd' ? [zstdStep(false)] : []
  const own: Step = {
    name: codec.name,
    decode: (bytes, decodedBytes) =>
      codec.decode(tables === undefined ? bytes : withTables(bytes, tables), decodedBytes ?? Infinity),
  }
  return [...unwrap, own]
}

/** Joins the tables, without the marker at their end, and a stream, without the marker at its start. */
const withTables = (stream: Uint8Array, tables: Uint8Array): Uint8Array =>
  joinBytes([tables.subarray(0, -MARKER_BYTES), stream.subarray(MARKER_BYTES)])
