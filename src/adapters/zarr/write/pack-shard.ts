import { joinBytes } from '../../../core/bytes.ts'
import { HyperslabError } from '../../../core/errors.ts'
import type { ShardLevel } from '../metadata.ts'
import { INDEX_TYPE, indexBytes, ShardTable } from '../shard-table.ts'
import { chunkEncoder } from './encode.ts'

/**
 * Returns the stored inner chunks of a shard, by position; undefined if a chunk is not stored.
 * @param bytes of the shard; undefined if it is not stored
 * @throws FormatError, CodecError, IntegrityError for a damaged shard
 */
export async function unpackShard(
  level: ShardLevel,
  count: number,
  bytes: Uint8Array | undefined,
): Promise<(Uint8Array | undefined)[]> {
  const parts = new Array<Uint8Array | undefined>(count).fill(undefined)
  if (bytes === undefined) return parts
  const length = await indexBytes(level.indexCodecs, count)
  if (bytes.length < length) {
    const text = `a shard of ${bytes.length} bytes has no room for its index of ${length}`
    throw new HyperslabError('FormatError', text, { actual: bytes.length, expected: length })
  }
  const start = level.indexAtStart ? 0 : bytes.length - length
  const table = await ShardTable.decode(bytes.subarray(start, start + length), count, level, bytes.length)
  for (let position = 0; position < count; position++) {
    const range = table.find(position)
    if (range !== undefined) parts[position] = bytes.subarray(range.offset, range.offset + range.length)
  }
  return parts
}

/** Offset and length of a chunk that is not stored. */
const NOWHERE = 2n ** 64n - 1n

/** Returns a shard of these inner chunks, one after another in the order of their positions. */
export async function packShard(level: ShardLevel, parts: readonly (Uint8Array | undefined)[]): Promise<Uint8Array> {
  const table = new BigUint64Array(2 * parts.length).fill(NOWHERE)
  let end = level.indexAtStart ? await indexBytes(level.indexCodecs, parts.length) : 0
  for (const [position, part] of parts.entries()) {
    if (part === undefined) continue
    table[2 * position] = BigInt(end)
    table[2 * position + 1] = BigInt(part.length)
    end += part.length
  }
  const index = await chunkEncoder(level.indexCodecs, INDEX_TYPE, [parts.length, 2], [])(new Uint8Array(table.buffer))
  const stored = parts.filter((part) => part !== undefined)
  return joinBytes(level.indexAtStart ? [index, ...stored] : [...stored, index])
}
