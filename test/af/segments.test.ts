import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeFooter, FOOTER_MAGIC } from '../../src/af/format/footer.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { type ArrayFile, BlockCache, type CreateOptions, MemoryStore, open, slice } from '../../src/runtime/index.ts'
import { createWithBase as create } from '../support/containers.ts'
import { RudeServer } from '../support/rude-server.ts'

const path = 'a.af'
/** Elements of a chunk, chunks of a block, blocks. */
const [CHUNK, BLOCK, BLOCKS] = [1024, 8, 3]
const LENGTH = CHUNK * BLOCK * BLOCKS
/** Smooth, constant and noisy stretches. */
const values = Int32Array.from({ length: LENGTH }, (_, i) =>
  i % 5000 < 1500 ? 7 : i % 5000 < 3000 ? Math.round(1000 * Math.sin(i / 50)) : Math.imul(i, 0x9e3779b9),
)

/** A store that counts what is read of it. */
class CountingStore extends MemoryStore {
  readonly ranges: [offset: number, length: number][] = []
  override getRange(...args: Parameters<MemoryStore['getRange']>): Promise<Uint8Array | undefined> {
    this.ranges.push([args[1], args[2]])
    return super.getRange(...args)
  }
}

async function written(options: CreateOptions = {}, store = new CountingStore()): Promise<CountingStore> {
  await using file = await create({ store, path }, { blockBytes: 4 * CHUNK * BLOCK, segmentBytes: 1, ...options })
  const array = file.createArray('x', { dtype: 'int32', shape: [LENGTH], chunks: [CHUNK] })
  await array.set(null, values)
  await file.compact()
  store.ranges.length = 0
  return store
}

const bytesOf = async (store: MemoryStore): Promise<Uint8Array> =>
  (await store.getRange(path, 0, (await store.stat(path))!.size))!
const footerOf = (bytes: Uint8Array) => decodeFooter(splitFile(bytes, FOOTER_MAGIC).payload)
const tableOf = (bytes: Uint8Array) => footerOf(bytes).blocks.find(({ codec }) => codec === 'hyperslab.segments.1')

const chunk = async (file: ArrayFile, number: number): Promise<unknown> =>
  (await file.array('x', 'int32').get([slice(number * CHUNK, (number + 1) * CHUNK)])).data
const expected = (number: number): Int32Array => values.slice(number * CHUNK, (number + 1) * CHUNK)

describe('reading', () => {
  test('one chunk fetches about that chunk, most of a block or all of it one block', async () => {
    const store = await written()
    const { blocks } = footerOf(await bytesOf(store))
    await using file = await open({ store, path }, { cacheBytes: 0 })
    store.ranges.length = 0
    let bytes = 0
    for (let number = 0; number < BLOCK; number++) {
      expect(await chunk(file, number)).toEqual(expected(number))
      expect(file.readCost.blocks).toBe(number + 1)
      const own = file.readCost.bytes - bytes
      expect(own).toBeLessThan(4 * CHUNK * 1.01)
      bytes = file.readCost.bytes
    }
    // All there is, but for what joins them.
    expect(bytes).toBeLessThan(blocks[0]!.compressedBytes)
    expect(bytes).toBeGreaterThan(blocks[0]!.compressedBytes - 4 * (BLOCK + 1))
    // And nothing but them: the table came with the footer.
    expect(store.ranges.reduce((sum, [, length]) => sum + length, 0)).toBe(bytes)
    const array = file.array('x', 'int32')
    const before = file.readCost.blocks
    expect((await array.get([slice(10, 7 * CHUNK + 1)])).data).toEqual(values.slice(10, 7 * CHUNK + 1))
    expect(file.readCost).toEqual({ blocks: before + 1, bytes: bytes + blocks[0]!.compressedBytes })
    expect((await array.get()).data).toEqual(values)
    expect(file.readCost.blocks).toBe(before + 1 + BLOCKS)
  })

  test('a segment of several chunks is kept for the others of them, a whole block for its segments', async () => {
    const store = await written({ segmentBytes: 8 * CHUNK })
    const cache = new BlockCache()
    await using file = await open({ store, path }, { cache })
    for (const number of [1, 0, 6, 7]) expect(await chunk(file, number)).toEqual(expected(number))
    expect(file.readCost.blocks).toBe(2)
    expect(cache.stats().blocks).toMatchObject({ hits: 2, misses: 2 })
    await file.array('x').get([slice(9 * CHUNK, 16 * CHUNK)])
    expect(file.readCost.blocks).toBe(3)
    for (const number of [8, 9, 15]) expect(await chunk(file, number)).toEqual(expected(number))
    expect(file.readCost.blocks).toBe(3)
  })

  test('a table that does not come with the footer is read once, when the first segment is', async () => {
    const store = new CountingStore()
    await using writer = await create({ store, path }, { segmentBytes: 1 })
    const array = writer.createArray('x', { dtype: 'int32', shape: [LENGTH], chunks: [8] })
    await array.set(null, values)
    await writer.compact()
    await using file = await open({ store, path }, { cacheBytes: 0 })
    store.ranges.length = 0
    await file.array('x').get()
    expect(store.ranges.length).toBe(1)
    const table = tableOf(await bytesOf(store))!
    store.ranges.length = 0
    const reads = [0, 500, 90].map(async (at) => expect(await file.array('x').get([at])).toBe(values[at]))
    await Promise.all(reads)
    expect(store.ranges.filter(([offset]) => offset === table.fileOffset)).toEqual([[table.fileOffset, table.compressedBytes]])
    expect(store.ranges.length).toBe(1 + reads.length)
    expect(Math.max(...store.ranges.slice(1).map(([, length]) => length))).toBeLessThan(100)
  })

  test('sums have the same bits, whatever is in memory', async () => {
    const store = new MemoryStore()
    await using writer = await create({ store, path }, { segmentBytes: 1 })
    const array = writer.createArray('x', { dtype: 'float64', shape: [64], chunks: [4] })
    await array.set(
      null,
      Float64Array.from({ length: 64 }, (_, i) => Math.sin(i) * 10 ** (i % 30)),
    )
    await writer.compact()
    const sum = async (warm: boolean): Promise<unknown> => {
      await using file = await open({ store, path })
      if (warm) await file.array('x').get([slice(4, 64)])
      const sum = await file
        .array('x')
        .view([slice(2, 30)])
        .sum({ ignoreStats: true })
      expect(file.readCost.blocks).toBe(warm ? 1 : 8)
      return sum
    }
    expect(Object.is(await sum(false), await sum(true))).toBe(true)
  })

  test.each([
    ['one segment a block', { segmentBytes: 4 * CHUNK * BLOCK }],
    ['zstd', { codec: 'zstd' }],
    ['none', { codec: 'none' }],
    ['no extension blocks', { extensionBlocks: false }],
    [
      'a codec of the user',
      { codecs: [{ name: 'lz4', decode: (bytes: Uint8Array) => bytes, encode: (bytes: Uint8Array) => bytes }] },
    ],
  ])('%s: no table', async (_, options) => {
    const store = await written(options)
    expect(tableOf(await bytesOf(store))).toBeUndefined()
    await using file = await open({ store, path }, options)
    expect(await chunk(file, 3)).toEqual(expected(3))
  })

  test("a user's own codec of the name gets whole blocks", async () => {
    const store = await written()
    const seen: number[] = []
    const decode = (bytes: Uint8Array, decodedBytes: number): Uint8Array => {
      seen.push(bytes.length)
      return new Uint8Array(decodedBytes)
    }
    await using file = await open({ store, path }, { codec: 'none', codecs: [{ name: 'lz4', decode }] })
    expect(await chunk(file, 3)).toEqual(new Int32Array(CHUNK))
    expect(seen).toEqual([footerOf(await bytesOf(store)).blocks[0]!.compressedBytes])
  })
})

describe('writing', () => {
  test('blocks that are taken over keep their segments; those of a damaged table are made anew', async () => {
    for (const damaged of [false, true]) {
      const store = await written()
      const bytes = await bytesOf(store)
      const table = tableOf(bytes)!
      if (damaged) bytes[table.fileOffset + 5]! ^= 1
      await store.put(path, bytes)
      const { blocks } = footerOf(bytes)
      {
        await using file = await open({ store, path }, { blockBytes: 4 * CHUNK * BLOCK, segmentBytes: 1 })
        await file.compact()
        expect(file.readCost.blocks).toBe(damaged ? BLOCKS : 0)
      }
      const after = await bytesOf(store)
      const withoutIdentity = ({ codec }: { codec: string | null }): boolean => !codec?.startsWith('hyperslab.layer')
      expect(footerOf(after).blocks.filter(withoutIdentity)).toEqual(blocks.filter(withoutIdentity))
      await using file = await open({ store, path })
      expect(await chunk(file, 5)).toEqual(expected(5))
      expect(file.readCost.bytes).toBeLessThan(4 * CHUNK * 1.01)
      expect((await file.verify({ deep: true })).findings).toEqual([])
    }
  })
})

describe('over HTTP', () => {
  let rude: RudeServer
  beforeAll(async () => {
    rude = await RudeServer.start()
  })
  afterAll(() => rude.stop())
  beforeEach(async () => {
    rude.reset()
    rude.put(path, await bytesOf(await written({ segmentBytes: 8 * CHUNK })))
  })
  const requests = (): number => rude.log.filter((line) => line.startsWith('GET')).length

  test('a chunk costs its segment, neighbours one request, and what was fetched is not fetched again', async () => {
    const cache = new BlockCache({ blockBytes: 0 })
    await using file = await open(`${rude.origin}/${path}`, { cache })
    const opened = requests()
    expect(await chunk(file, 3)).toEqual(expected(3))
    expect([requests() - opened, file.readCost.blocks]).toEqual([1, 1])
    expect(file.readCost.bytes).toBeLessThan(8 * CHUNK * 1.01)
    expect(await chunk(file, 2)).toEqual(expected(2))
    // Two segments of one block.
    await file.array('x').get([slice(9 * CHUNK, 12 * CHUNK)])
    expect([requests() - opened, file.readCost.blocks]).toEqual([2, 3])
    // A whole block, then parts of it.
    await file.array('x').get([slice(16 * CHUNK, 24 * CHUNK)])
    expect([requests() - opened, file.readCost.blocks]).toEqual([3, 4])
    for (const number of [16, 19, 23]) expect(await chunk(file, number)).toEqual(expected(number))
    expect(requests() - opened).toBe(3)
  })

  test('whoever goes through blocks gets whole ones, after the first segment', async () => {
    await using file = await open(`${rude.origin}/${path}`)
    const opened = requests()
    let number = 0
    for await (const { data } of file.array('x', 'int32').blocks()) expect(data.data).toEqual(expected(number++))
    expect(number).toBe(BLOCK * BLOCKS)
    expect([requests() - opened, file.readCost.blocks]).toEqual([1 + BLOCKS, 1 + BLOCKS])
    // Reads of scattered chunks fetch parts of blocks.
    await using other = await open(`${rude.origin}/${path}`)
    for (const number of [8, 0, 16, 13, 20]) expect(await chunk(other, number)).toEqual(expected(number))
    expect(other.readCost.bytes).toBeLessThan(5 * 8 * CHUNK * 1.01)
    await using uncached = await open(`${rude.origin}/${path}`, { cacheBytes: 0 })
    for (let number = 0; number < BLOCK; number += 2) expect(await chunk(uncached, number)).toEqual(expected(number))
    expect(uncached.readCost.blocks).toBe(BLOCK / 2)
  })

  test('readers of one segment at the same time share its request', async () => {
    await using file = await open(`${rude.origin}/${path}`)
    const opened = requests()
    await Promise.all([0, 1, 0, 1].map(async (number) => expect(await chunk(file, number)).toEqual(expected(number))))
    expect([requests() - opened, file.readCost.blocks]).toEqual([1, 1])
  })
})
