import { checkSize } from '../../codec/bounds.ts'
import { chainCodec, outOfKernel, type Step } from '../../codec/chain.ts'
import { type Codec, type KernelCodec, remoteCodec, type SharedCodec } from '../../codec/codec.ts'
import { isFixed } from '../../core/dtype.ts'
import { sizeOf } from '../../core/shape.ts'
import { OFFSET_BYTES } from '../../engine/chunk-values.ts'
import { absentChunk } from './absent-chunk.ts'
import { chunkSteps } from './codecs.ts'
import type { CodecMetadata, ElementCodec, FillValues, StoredType } from './metadata.ts'

/** Description of a chunk's decoding, as data that can be sent to other threads. */
export interface ChunkSpec {
  readonly codecs: readonly CodecMetadata[]
  readonly type: StoredType
  /** Shape of the chunk as it is stored. */
  readonly shape: readonly number[]
  readonly fill: FillValues
  /** Limit of its bytes after each step, for sizes that only decoding reveals. */
  readonly mostBytes: number
}

export type ChunkCodec = (Codec | KernelCodec) & SharedCodec

const PLAIN: ElementCodec = { chunkSteps, absentChunk }

/**
 * Loads the codec of chunks of one shape. Workers have the same codec, except for codecs of users and for
 * elements of variable length.
 * @param form of elements with several values
 * @throws CodecError for an unknown codec
 */
export async function chunkCodec(
  name: string,
  spec: ChunkSpec,
  users: readonly Codec[],
  form: ElementCodec = PLAIN,
): Promise<ChunkCodec> {
  const { codecs, type, shape, fill, mostBytes } = spec
  const steps = [...(await form.chunkSteps(codecs, type, shape, users))]
  // Codecs in kernel memory cannot return variable lengths.
  if (!isFixed(type.dtype)) steps.splice(0, steps.length, roomStep(type, sizeOf(shape), mostBytes), ...steps, outOfKernel)
  const codec = chainCodec(name, steps, () => form.absentChunk(type.dtype, fill, sizeOf(shape), mostBytes), mostBytes)
  await codec.ready()
  return { ...codec, remote: users.length === 0 && isFixed(type.dtype) ? remoteCodec(spec) : undefined }
}

/**
 * Returns a step that rejects more values of variable length than the limit allows, before anything is
 * allocated.
 */
function roomStep({ bytes = 0 }: StoredType, count: number, mostBytes: number): Step {
  return {
    name: 'chunk',
    encodedBytes: (stored) => stored,
    decode(stored) {
      checkSize('chunk', OFFSET_BYTES * (count + 1) + bytes * count, undefined, mostBytes)
      return stored
    },
  }
}
