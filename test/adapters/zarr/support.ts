import { chunkSteps } from '../../../src/adapters/zarr/codecs.ts'
import type { CodecMetadata, StoredType } from '../../../src/adapters/zarr/metadata.ts'
import { chainCodec } from '../../../src/codec/chain.ts'
import { type Codec, decodeWith, inKernel } from '../../../src/codec/codec.ts'
import { elementBytes, isFixed } from '../../../src/core/dtype.ts'
import { sizeOf } from '../../../src/core/shape.ts'
import { withArena } from '../../../src/kernels/arena.ts'

export const codec = (name: string, configuration: Record<string, unknown> = {}): CodecMetadata => ({ name, configuration })

export const INT32: StoredType = { dtype: 'int32', kind: 'int', bytes: 4 }

/** Decodes a chunk as the engine does. */
export async function decodeStored(
  codecs: readonly CodecMetadata[],
  type: StoredType,
  shape: readonly number[],
  stored: Uint8Array,
  decodedBytes: number = isFixed(type.dtype) ? sizeOf(shape) * elementBytes(type.dtype) : Infinity,
  users: readonly Codec[] = [],
): Promise<Uint8Array> {
  const chain = chainCodec('zarr', await chunkSteps(codecs, type, shape, users), () => new Uint8Array(0), 2 ** 24)
  await chain.ready()
  if (!inKernel(chain)) return decodeWith(chain, stored, decodedBytes)
  return withArena((arena) => {
    const pointer = chain.decodeIn(arena, arena.put(stored), stored.length, decodedBytes)
    return arena.bytes(pointer, decodedBytes).slice()
  })
}
