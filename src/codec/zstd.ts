import { decompress } from 'fzstd'
import { HyperslabError } from '../core/errors.js'
import { type Codec, wrongLength } from './codec.js'

/** Zstandard frames, read only. */
export const zstd: Codec = {
  name: 'zstd',

  decode(arena, bytes, decodedBytes) {
    let decoded: Uint8Array
    try {
      decoded = decompress(bytes, new Uint8Array(decodedBytes))
    } catch (cause) {
      throw new HyperslabError('CodecError', `zstd block does not decode: ${(cause as Error).message}`, { cause })
    }
    if (decoded.length !== decodedBytes) throw wrongLength('zstd', decoded.length, decodedBytes)
    return arena.put(decoded)
  },
}
