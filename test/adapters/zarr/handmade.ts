import { stridesOf } from '../../../src/core/shape.ts'
import { crc32cOf } from '../../../src/kernels/crc32c.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import type { Store } from '../../../src/store/store.ts'
import { numbered } from '../../support/arbitraries.ts'
import type { Plain } from '../../support/oracle.ts'

/** Store that records its requests in words: `get x/c/0`, `range x/c/0 4+8`, `tail x/c/0 36`. */
export class AskedStore {
  readonly asked: string[] = []
  readonly store: Store
  readonly inner = new MemoryStore()

  /** @param remote whether it takes several ranges at once */
  constructor({ remote = false, lists = true } = {}) {
    const { asked, inner } = this
    this.store = {
      describe: (key) => `asked:${key}`,
      stat: async (key) => {
        asked.push(`stat ${key}`)
        return inner.stat(key)
      },
      get: async (key) => {
        asked.push(`get ${key}`)
        const info = await inner.stat(key)
        return info && { ...info, bytes: (await inner.getRange(key, 0, info.size))! }
      },
      getRange: async (key, offset, length, options) => {
        asked.push(`range ${key} ${offset}+${length}`)
        return inner.getRange(key, offset, length, options)
      },
      getTail: async (key, length) => {
        asked.push(`tail ${key} ${length}`)
        const info = await inner.stat(key)
        const wanted = Math.min(length, info?.size ?? 0)
        return info && { ...info, bytes: (await inner.getRange(key, info.size - wanted, wanted))! }
      },
      ...(lists && { list: (prefix: string) => inner.list(prefix) }),
      ...(remote && { getRanges: async () => Promise.reject(new Error('nobody asks for gaps')) }),
    }
  }

  /** Returns the requests since the last call, in alphabetical order. */
  take(): string[] {
    return this.asked.splice(0).sort()
  }
}

interface Handmade {
  readonly shape: readonly number[]
  readonly chunks: readonly number[]
  readonly shards?: readonly number[]
  /** Chunks that are left unwritten, by their coordinates. */
  readonly gone?: readonly string[]
  readonly indexAtStart?: boolean
}

const FILL = -7
const BYTES = { name: 'bytes', configuration: { endian: 'little' } }

/**
 * Writes an int32 array of version 3 as the specification says, one element after another; gives what it
 * reads as.
 */
export async function writeInt32(
  store: MemoryStore,
  path: string,
  { shape, chunks, shards, gone = [], indexAtStart = false }: Handmade,
): Promise<Plain<'int32'>> {
  const plain = numbered('int32', shape)
  const objects = shards ?? chunks
  const sharding = {
    name: 'sharding_indexed',
    configuration: {
      chunk_shape: chunks,
      codecs: [BYTES],
      index_codecs: [BYTES, { name: 'crc32c' }],
      index_location: indexAtStart ? 'start' : 'end',
    },
  }
  const metadata = {
    zarr_format: 3,
    node_type: 'array',
    shape,
    data_type: 'int32',
    chunk_grid: { name: 'regular', configuration: { chunk_shape: objects } },
    chunk_key_encoding: { name: 'default' },
    fill_value: FILL,
    codecs: shards === undefined ? [BYTES] : [sharding],
  }
  await store.put(`${path}/zarr.json`, new TextEncoder().encode(JSON.stringify(metadata)))
  for (const object of indices(shape.map((length, axis) => Math.ceil(length / objects[axis]!)))) {
    const inner = indices(objects.map((length, axis) => length / chunks[axis]!)).map(
      (k) =>
      chunkAt(plain, chunks, gone, object.map((o, axis) => (o * objects[axis]!) / chunks[axis]! + k[axis]!)), // biome-ignore format: one line
    )
    if (inner.every((bytes) => bytes === undefined)) continue
    const bytes = shards === undefined ? inner[0]! : shardOf(inner, indexAtStart)
    await store.put([path, 'c', ...object].join('/'), bytes)
  }
  return plain
}

/** All coordinates in C order. */
function indices(counts: readonly number[]): number[][] {
  let found: number[][] = [[]]
  for (const count of counts) found = found.flatMap((index) => Array.from({ length: count }, (_, i) => [...index, i]))
  return found
}

/**
 * The bytes of a chunk, of its full shape; undefined where it is gone, which the array is told, or beyond the
 * array.
 */
function chunkAt(
  plain: Plain<'int32'>,
  chunks: readonly number[],
  gone: readonly string[],
  chunk: readonly number[],
): Uint8Array | undefined {
  const isGone = gone.includes(chunk.join())
  const data = new Int32Array(chunks.reduce((a, b) => a * b, 1)).fill(FILL)
  let any = false
  for (const [i, within] of indices(chunks).entries()) {
    const at = within.map((k, axis) => chunk[axis]! * chunks[axis]! + k)
    if (at.some((position, axis) => position >= plain.shape[axis]!)) continue
    const place = at.reduce((sum, position, axis) => sum + position * stridesOf(plain.shape)[axis]!, 0)
    if (isGone) plain.data[place] = FILL
    data[i] = plain.data[place]!
    any = true
  }
  return any && !isGone ? new Uint8Array(data.buffer) : undefined
}

function shardOf(chunks: readonly (Uint8Array | undefined)[], indexAtStart: boolean): Uint8Array {
  const index = new DataView(new ArrayBuffer(16 * chunks.length + 4))
  let offset = indexAtStart ? index.byteLength : 0
  for (const [i, bytes] of chunks.entries()) {
    index.setBigUint64(16 * i, bytes === undefined ? 2n ** 64n - 1n : BigInt(offset), true)
    index.setBigUint64(16 * i + 8, bytes === undefined ? 2n ** 64n - 1n : BigInt(bytes.length), true)
    offset += bytes?.length ?? 0
  }
  const table = new Uint8Array(index.buffer)
  index.setUint32(16 * chunks.length, crc32cOf(table.subarray(0, 16 * chunks.length)), true)
  const stored = chunks.filter((bytes) => bytes !== undefined)
  return new Uint8Array(Buffer.concat(indexAtStart ? [table, ...stored] : [...stored, table]))
}
