import { type KernelCodec, wrongLength } from './codec.js'

/** Blocks as they are. */
export const none: KernelCodec = {
  name: 'none',

  decodeIn(arena, bytes, decodedBytes) {
    if (bytes.length !== decodedBytes) throw wrongLength('uncompressed', bytes.length, decodedBytes)
    return arena.put(bytes)
  },

  encodeIn: (arena, pointer, length) => arena.bytes(pointer, length).slice(),
}
