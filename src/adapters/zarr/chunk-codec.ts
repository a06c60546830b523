import { checkSize } from '../../codec/bounds.ts'
import { chainCodec, outOfKernel, type Step } from '../../codec/chain.ts'
import type { Codec, KernelCodec, SharedCodec } from '../../codec/codec.ts'
import { type DType, isFixed, type ScalarOf } from '../../core/dtype.ts'
import { sizeOf } from '../../core/shape.ts'
import { OFFSET_BYTES } from '../../engine/chunk-values.ts'
import { absentChunk } from './absent-chunk.ts'
import { chunkSteps } from './codecs.ts'
import type { CodecMetadata, StoredType } from './metadata.ts'

/** What decodes a chunk, as data that other threads understand. */
export interface ChunkSpec {
  readonly codecs: readonly CodecMetadata[]
  readonly type: StoredType
  /** As the chunk is stored. */
  readonly shape: readonly number[]
  /** What it is full of where nobody wrote it. */
  readonly fillValue: ScalarOf<DType> | undefined
  /** How many bytes it may have where only decoding tells, at any step of that. */
  readonly mostBytes: number
}

export type ChunkCodec = (Codec | KernelCodec) & SharedCodec & { ready(): Promise<void> }

let last = 0

/**
 * The codec of chunks of one shape. Workers have the same, unless some of it is the user's, or only decoding
 * tells how long a chunk is.
 * @throws CodecError when there is a codec that nobody knows
 */
export function chunkCodec(name: string, spec: ChunkSpec, users: readonly Codec[]): ChunkCodec {
  const { codecs, type, shape, fillValue, mostBytes } = spec
  const steps = [...chunkSteps(codecs, type, shape, users)]
  // Codecs in kernel memory give no length.
  if (!isFixed(type.dtype)) steps.splice(0, steps.length, roomStep(type, sizeOf(shape), mostBytes), ...steps, outOfKernel)
  const codec = chainCodec(name, steps, () => absentChunk(type.dtype, fillValue, sizeOf(shape), mostBytes), mostBytes)
  return { ...codec, remote: users.length === 0 && isFixed(type.dtype) ? { id: ++last, spec } : undefined }
}

/** Refuses more values of their own lengths than there is room for, before anything is allocated. */
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
