import { type KernelCodec, wrongLength } from './codec.ts'

/** Codec of uncompressed blocks. */
export const none: KernelCodec = {
  name: 'none',

  decodeIn(_, pointer, length, decodedBytes) {
    if (length !== decodedBytes) throw wrongLength('uncompressed', length, decodedBytes)
    return pointer
  },
}
