import { HyperslabError } from '../core/errors.js'
import type { Codec } from './codec.js'
import { lz4 } from './lz4.js'
import { none } from './none.js'
import { zstd } from './zstd.js'

const CODECS: readonly Codec[] = [none, lz4, zstd]

/** @throws CodecError naming the codec when there is none of that name */
export function findCodec(name: string): Codec {
  const codec = CODECS.find((candidate) => candidate.name === name)
  if (codec !== undefined) return codec
  throw new HyperslabError('CodecError', `unknown codec '${name}'`, { actual: name, expected: CODECS.map((known) => known.name) })
}

/** A codec that can write. @throws CodecError, also when it only reads */
export function findEncoder(name: string): Required<Codec> {
  const codec = findCodec(name)
  if (codec.encode !== undefined) return codec as Required<Codec>
  throw new HyperslabError('CodecError', `codec '${name}' can be read but not written`, {
    actual: name,
    expected: CODECS.filter((known) => known.encode).map((known) => known.name),
  })
}
