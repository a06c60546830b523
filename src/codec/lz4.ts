import { HyperslabError } from '../core/errors.js'
import { lz4Decode, lz4Encode } from '../kernels/lz4.js'
import type { KernelCodec } from './codec.js'

/** Bytes in front of the LZ4 block: the decoded size as u32, little-endian. */
const PREFIX_BYTES = 4

/**
 * One raw LZ4 block behind its decoded size. The size is written for other readers; here the file's own block table decides, so that a
 * wrong prefix can neither cost memory nor hide a short block.
 */
export const lz4: KernelCodec = {
  name: 'lz4',

  decodeIn(arena, bytes, decodedBytes) {
    if (bytes.length < PREFIX_BYTES) {
      throw new HyperslabError('CodecError', `an lz4 block of ${bytes.length} bytes has no room for its size prefix`, {
        actual: bytes.length,
      })
    }
    const target = arena.alloc(decodedBytes)
    const source = arena.put(bytes)
    lz4Decode(arena, source + PREFIX_BYTES, bytes.length - PREFIX_BYTES, target, decodedBytes)
    return target
  },

  encodeIn(arena, pointer, length) {
    const block = lz4Encode(arena, pointer, length)
    const out = new Uint8Array(PREFIX_BYTES + block.bytes)
    new DataView(out.buffer).setUint32(0, length, true)
    out.set(arena.bytes(block.pointer, block.bytes), PREFIX_BYTES)
    return out
  },
}
