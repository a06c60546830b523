import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Codecs } from '../../src/codec/registry.ts'
import type { BlockOrigin, BlockRef, ChunkAddress } from '../../src/engine/block.ts'
import { chunkView } from '../../src/engine/block.ts'
import { BlockReader } from '../../src/engine/block-reader.ts'

const MIB = 2 ** 20

/** Blocks that are objects of their own, whose requests are answered when told. */
class Objects {
  /** Requests that were made and not answered, by block. */
  readonly waiting = new Map<number, () => void>()
  most = 0
  readonly groups: (readonly [BlockRef, readonly { readonly address: ChunkAddress }[]])[] = []

  /** @param far whether their store makes something of many requests at once */
  constructor(count: number, far: boolean, bytes: number, codec = 'none', stored = bytes) {
    for (let id = 0; id < count; id++) {
      const read = async (): Promise<Uint8Array> => {
        await new Promise<void>((resolve) => this.waiting.set(id, resolve))
        this.waiting.delete(id)
        return new Uint8Array(bytes).fill(id)
      }
      const origin: BlockOrigin = {
        file: `object ${id}`,
        version: `${id}`,
        read,
        ...(far && { readMany: async (ranges: readonly unknown[]) => Promise.all(ranges.map(read)) }),
      }
      const block = { origin, id, fileOffset: 0, compressedBytes: stored, uncompressedBytes: bytes, codec, crc: undefined }
      this.groups.push([block, [{ address: { block, offset: 0, size: bytes } }]])
    }
  }

  /** Answers again and again all that was asked for, the last one first, once nothing more is. */
  async answerAll(): Promise<void> {
    for (let [idle, size] = [0, 0]; idle < 20; await setImmediate()) {
      idle = this.waiting.size > size ? 0 : idle + 1
      size = this.waiting.size
      this.most = Math.max(this.most, size)
      if (idle < 10 || size === 0) continue
      for (const answer of [...this.waiting.values()].reverse()) answer()
      ;[idle, size] = [0, 0]
    }
  }
}

const firstBytes = async (reader: BlockReader, objects: Objects): Promise<number[]> => {
  const found: number[] = []
  const here = (arena: never, [chunk]: readonly { readonly address: ChunkAddress }[], bytesOf: (chunk: never) => never): number =>
    chunkView(arena, bytesOf(chunk as never))[0]!
  const read = reader.use(objects.groups, { onThisThread: here as never }, (byte: number) => void found.push(byte))
  await setImmediate()
  await objects.answerAll()
  await read
  return found
}

const ids = (count: number): number[] => Array.from({ length: count }, (_, id) => id & 255)

test.each([
  [true, 1024, 200],
  // 128 MiB of them.
  [true, 16 * MIB, 8],
  [false, 1024, 4],
])(
  'objects of a store behind a network: %s, of %i bytes: %i are asked for at a time, and taken in order',
  async (far, bytes, most) => {
    const count = bytes > MIB ? 12 : 200
    const objects = new Objects(count, far, bytes)
    expect(await firstBytes(new BlockReader(0, 2 ** 30, new Codecs()), objects)).toEqual(ids(count))
    expect(objects.most).toBe(most)
  },
)

test.each([
  [256 * 1024, 16],
  [256 * 1024 + 1, 4],
])('files of %i bytes, of which only reading tells how many they are stored as: %i at a time', async (bytes, most) => {
  const same = { name: 'same', decode: (stored: Uint8Array) => stored }
  const objects = new Objects(40, false, bytes, 'same', Infinity)
  expect(await firstBytes(new BlockReader(0, 2 ** 30, new Codecs([same])), objects)).toEqual(ids(40))
  expect(objects.most).toBe(most)
})

test('however many come at once, four are decoded at a time where a codec takes its time', async () => {
  let [now, most] = [0, 0]
  const decode = async (bytes: Uint8Array): Promise<Uint8Array> => {
    most = Math.max(most, ++now)
    await setImmediate()
    now--
    return bytes
  }
  const objects = new Objects(100, true, 64, 'slow')
  const reader = new BlockReader(0, 2 ** 30, new Codecs([{ name: 'slow', decode }]))
  expect(await firstBytes(reader, objects)).toEqual(ids(100))
  expect([objects.most, most]).toEqual([100, 4])
})

test('small blocks of a local file that are near each other are read together', async () => {
  const numbers = Array.from({ length: 300 }, (_, id) => id)
  const reads: [number, number][] = []
  const bytes = Uint8Array.from({ length: 300 * 64 }, (_, i) => i >> 6)
  const origin: BlockOrigin = {
    file: 'tiles',
    version: 'tiles',
    local: { path: 'tiles', etag: '1' },
    read: async (offset, length) => {
      reads.push([offset, length])
      return bytes.slice(offset, offset + length)
    },
  }
  const blockAt = (id: number, crc?: number): BlockRef => ({
    origin,
    id,
    fileOffset: 64 * id,
    compressedBytes: 64,
    uncompressedBytes: 64,
    codec: 'same',
    crc,
  })
  const groups = (blocks: BlockRef[]) => blocks.map((block) => [block, [{ address: { block, offset: 0, size: 64 } }]] as const)
  const found: number[] = []
  const read = async (blocks: BlockRef[], joined: boolean): Promise<BlockReader> => {
    const reader = new BlockReader(0, 2 ** 30, new Codecs([{ name: 'same', decode: (stored: Uint8Array) => stored }]))
    found.length = 0
    reads.length = 0
    const onThisThread = ((arena: never, chunks: never[], bytesOf: (chunk: never) => never) =>
      chunks.map((chunk) => chunkView(arena, bytesOf(chunk))[0]!)) as never
    const sizes: number[] = []
    const take = (bytes: number[]): void => {
      sizes.push(bytes.length)
      found.push(...bytes)
    }
    await reader.use(groups(blocks), { onThisThread, ...(joined && { copied: 'uint8' as const }) }, take)
    // A batch counts each block with the gap that may follow it: 8 KiB.
    expect(sizes).toEqual(joined ? [128, 128, 44] : blocks.map(() => 1))
    return reader
  }
  const all = numbers.map((id) => blockAt(id))
  for (const joined of [false, true]) {
    const reader = await read(all, joined)
    expect(found).toEqual(numbers.map((id) => id % 256))
    expect(reads).toEqual([
      [0, 128 * 64],
      [128 * 64, 128 * 64],
      [256 * 64, 44 * 64],
    ])
    expect(reader.cost).toEqual({ blocks: 300, bytes: 300 * 64 })
  }
  await expect(read([...all.slice(0, 200), blockAt(200, 1), ...all.slice(201)], true)).rejects.toMatchObject({
    tag: 'IntegrityError',
    details: { file: 'tiles' },
    message: expect.stringContaining('block 200'),
  })
})
