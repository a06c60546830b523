import type { Span, Step } from '../../codec/chain.ts'
import { HyperslabError } from '../../core/errors.ts'
import { withArena } from '../../kernels/arena.ts'
import type { ByteRange } from '../../store/store.ts'
import { chunkSteps } from './codecs.ts'
import type { CodecMetadata, ShardLevel, StoredType } from './metadata.ts'

/** Positions of the inner chunks of a shard, in C order. */
export class ShardTable {
  readonly #offsets: Float64Array
  readonly #lengths: Float64Array

  /**
   * Decodes the table of a shard.
   * @param bytes the table as it is stored
   * @param room size of the shard in bytes; all chunks must lie in it
   * @throws CodecError, IntegrityError for an invalid table; FormatError for chunks beyond the shard
   */
  static async decode(bytes: Uint8Array, count: number, { indexCodecs }: ShardLevel, room: number): Promise<ShardTable> {
    return new ShardTable(await decodeIndex(indexCodecs, bytes, count), count, room)
  }

  private constructor(entries: BigUint64Array, count: number, room: number) {
    this.#offsets = new Float64Array(count)
    this.#lengths = new Float64Array(count)
    for (let i = 0; i < count; i++) {
      const [offset, length] = [entries[2 * i]!, entries[2 * i + 1]!]
      const absent = offset === NOWHERE && length === NOWHERE
      if (!absent && (length === 0n || offset + length > BigInt(room))) {
        const text = `chunk ${i} of a shard of ${room} bytes is said to be the ${length} bytes from ${offset}`
        throw new HyperslabError('FormatError', text, { actual: offset + length, expected: room })
      }
      this.#offsets[i] = absent ? -1 : Number(offset)
      this.#lengths[i] = Number(length)
    }
  }

  get byteLength(): number {
    return this.#offsets.byteLength + this.#lengths.byteLength
  }

  /** Returns the byte range of a chunk in the shard; undefined if it is not stored. */
  find(position: number): ByteRange | undefined {
    const offset = this.#offsets[position]!
    return offset < 0 ? undefined : { offset, length: this.#lengths[position]! }
  }
}

/** Offset and length of a chunk that is not stored. */
const NOWHERE = 2n ** 64n - 1n

/** Type of the index of a shard: offset and length of each inner chunk. */
export const INDEX_TYPE: StoredType = { dtype: 'uint64', kind: 'uint', bytes: 8 }

/**
 * Decodes the index of a shard: offset and length of each inner chunk, both 2^64 - 1 if it is not stored.
 * @param codecs of the index, in the order of encoding
 * @param count number of inner chunks
 * @throws CodecError if the bytes do not decode, or if the encoded size of a codec varies
 */
export async function decodeIndex(codecs: readonly CodecMetadata[], bytes: Uint8Array, count: number): Promise<BigUint64Array> {
  const steps = await indexSteps(codecs, count)
  await Promise.all(steps.map((step) => step.ready?.()))
  return withArena((arena) => {
    let span: Span = { pointer: arena.put(bytes), length: bytes.length }
    for (const step of steps) span = step.decodeIn!(arena, span.pointer, span.length, undefined, Infinity)
    if (span.length === 16 * count) return new BigUint64Array(arena.bytes(span.pointer, span.length).slice().buffer)
    throw new HyperslabError('CodecError', `the index of ${count} chunks has ${span.length} bytes instead of ${16 * count}`, {
      actual: span.length,
      expected: 16 * count,
    })
  })
}

/**
 * Returns the stored size of the index of a shard, in bytes.
 * @throws CodecError if the encoded size of a codec varies
 */
export async function indexBytes(codecs: readonly CodecMetadata[], count: number): Promise<number> {
  return (await indexSteps(codecs, count)).reduceRight((bytes, step) => step.encodedBytes!(bytes), 16 * count)
}

async function indexSteps(codecs: readonly CodecMetadata[], count: number): Promise<readonly Step[]> {
  const steps = await chunkSteps(codecs, INDEX_TYPE, [count, 2], [])
  const other = steps.find((step) => step.encodedBytes === undefined || step.decodeIn === undefined)
  if (other === undefined) return steps
  throw new HyperslabError(
    'CodecError',
    `codec '${other.name}' cannot encode the index of a shard: its result has no fixed size`,
    {
      actual: other.name,
    },
  )
}
