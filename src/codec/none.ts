import { type Codec, wrongLength } from './codec.js'

/** Blocks as they are. */
export const none: Codec = {
  name: 'none',

  decode(arena, bytes, decodedBytes) {
    if (bytes.length !== decodedBytes) throw wrongLength('uncompressed', bytes.length, decodedBytes)
    return arena.put(bytes)
  },

  encode: (arena, pointer, length) => arena.bytes(pointer, length).slice(),
}
