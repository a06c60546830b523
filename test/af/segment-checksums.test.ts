import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { decodeFooter, FOOTER_MAGIC } from '../../src/af/format/footer.ts'
import {
  decodeSegmentChecksums,
  decodeVarints,
  encodeSegmentChecksums,
  encodeVarints,
} from '../../src/af/format/segment-tables.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { buildFooter } from '../../src/af/write/build-footer.ts'
import { joinBytes } from '../../src/core/bytes.ts'
import type { BlockRef } from '../../src/engine/block.ts'
import type { CheckedSegment } from '../../src/engine/segment-checksums.ts'
import { crc32cOf } from '../../src/kernels/crc32c.ts'
import {
  type ArrayFile,
  BlockCache,
  type CreateOptions,
  create,
  MemoryStore,
  open,
  slice,
  verify,
} from '../../src/runtime/index.ts'
import { runs } from '../support/budget.ts'
import { marksOf } from '../support/containers.ts'
import { RudeServer } from '../support/rude-server.ts'

const path = 'a.af'
const CODEC = 'hyperslab.segment-checksums.1'
/** Size at which segments are closed, in bytes. */
const LEAST = 4096
/** Chunks of 1 KiB, four of which are a segment, in blocks of 16 of them. */
const [CHUNK, BLOCK, BLOCKS] = [256, 16, 3]
const LENGTH = CHUNK * BLOCK * BLOCKS
const values = Int32Array.from({ length: LENGTH }, (_, i) => Math.imul(i, 0x9e3779b9))

/** A store that counts what is read of it, and may damage it on the way. */
class Store extends MemoryStore {
  readonly ranges: [offset: number, length: number][] = []
  onRead: (offset: number, bytes: Uint8Array) => void = () => undefined
  override async getRange(...args: Parameters<MemoryStore['getRange']>): Promise<Uint8Array | undefined> {
    this.ranges.push([args[1], args[2]])
    const bytes = (await super.getRange(...args))?.slice()
    if (bytes !== undefined) this.onRead(args[1], bytes)
    return bytes
  }
}

async function written(options: CreateOptions = {}, chunk = CHUNK, store = new Store()): Promise<Store> {
  await using file = await create({ store, path }, { codec: 'none', blockBytes: 4 * CHUNK * BLOCK, ...options })
  const array = file.createArray('x', { dtype: 'int32', shape: [LENGTH], chunks: [chunk], fillValue: 7 })
  await array.set(null, values)
  await file.compact()
  store.ranges.length = 0
  return store
}

const bytesOf = async (store: MemoryStore): Promise<Uint8Array> =>
  (await store.getRange(path, 0, (await store.stat(path))!.size))!.slice()
const footerOf = (bytes: Uint8Array) => decodeFooter(splitFile(bytes, FOOTER_MAGIC).payload)
const tableOf = (bytes: Uint8Array) => footerOf(bytes).blocks.find(({ codec }) => codec === CODEC)

const chunk = async (file: ArrayFile, number: number): Promise<unknown> =>
  (await file.array('x', 'int32').get([slice(number * CHUNK, (number + 1) * CHUNK)])).data
const expected = (number: number): Int32Array => values.slice(number * CHUNK, (number + 1) * CHUNK)

/** The segments of a file, by id of their block. */
function segmentsIn(bytes: Uint8Array): Map<number, CheckedSegment[]> {
  const { fileOffset, compressedBytes } = tableOf(bytes)!
  const numbers = [...decodeVarints(bytes.subarray(fileOffset, fileOffset + compressedBytes))]
  const segments = new Map<number, CheckedSegment[]>()
  for (let at = 0; at < numbers.length; ) {
    const [id, count] = [numbers[at]!, numbers[at + 1]!]
    at += 2
    const own = Array.from({ length: count }, (_, i) => ({ bytes: numbers[at + 2 * i]!, crc: numbers[at + 2 * i + 1]! }))
    segments.set(id, own)
    at += 2 * count
  }
  return segments
}

/** Another table under checksums that are right. */
function resealed(bytes: Uint8Array, change: (segments: Map<number, CheckedSegment[]>) => void): Uint8Array {
  const footer = footerOf(bytes)
  const blocks = footer.blocks.filter(({ codec }) => codec === null)
  const segments = segmentsIn(bytes)
  change(segments)
  const crcs = blocks.map((block) => crc32cOf(bytes.subarray(block.fileOffset, block.fileOffset + block.compressedBytes)))
  const extensionBlocks = { tables: new Map(), segments: new Map(), checkedSegments: segments, crcs }
  const { tail } = buildFooter({ ...footer, blocks }, extensionBlocks, marksOf(footer))
  const { fileOffset, compressedBytes } = blocks.at(-1)!
  return joinBytes([bytes.subarray(0, fileOffset + compressedBytes), tail])
}

const findingsOf = async (store: MemoryStore): Promise<string[]> =>
  (await verify({ store, path })).findings.map(({ block, text }) => `block ${block}: ${text}`)

describe('reading', () => {
  test('a chunk fetches its segment of 4 KiB, a larger one itself, and nothing else', async () => {
    for (const [elements, bytes] of [
      [CHUNK, LEAST],
      [CHUNK / 64, LEAST],
      [LEAST / 2, 2 * LEAST],
      [LEAST / 4 + 1, LEAST + 4],
    ] as const) {
      const store = await written({ blockBytes: 64 * LEAST }, elements)
      await using file = await open({ store, path }, { cacheBytes: 0 })
      store.ranges.length = 0
      expect(await file.array('x').get([5 * elements])).toBe(values[5 * elements])
      expect(store.ranges).toEqual([[expect.any(Number), bytes]])
      expect(file.readCost).toEqual({ blocks: 1, bytes })
    }
  })

  test('chunks of one segment fetch it once, those of several each of them; whole blocks are read as such', async () => {
    const store = await written()
    await using file = await open({ store, path }, { cacheBytes: 0 })
    store.ranges.length = 0
    expect((await file.array('x').get([slice(10, 7 * CHUNK)])).data).toEqual(values.slice(10, 7 * CHUNK))
    expect(store.ranges).toEqual([
      [0, LEAST],
      [LEAST, LEAST],
    ])
    store.ranges.length = 0
    expect((await file.array('x').get()).data).toEqual(values)
    expect(store.ranges.length).toBe(BLOCKS)
  })

  test('a table that does not come with the footer is read once, when the first part is', async () => {
    // Its checksums come with the footer, and some bytes in front of them.
    const [store, elements, chunks] = [new Store(), LEAST / 4, 2000]
    await using writer = await create({ store, path }, { codec: 'none' })
    const data = Int32Array.from({ length: chunks * elements }, (_, i) => i)
    await writer.createArray('x', { dtype: 'int32', shape: [data.length], chunks: [elements] }).set(null, data)
    await writer.compact()
    await using file = await open({ store, path }, { cacheBytes: 0 })
    const table = tableOf(await bytesOf(store))!
    store.ranges.length = 0
    await Promise.all([0, 500_000, 90].map(async (at) => expect(await file.array('x').get([at])).toBe(at)))
    expect(store.ranges[0]).toEqual([table.fileOffset, table.compressedBytes])
    expect(store.ranges.slice(1).map(([, length]) => length)).toEqual([LEAST, LEAST])
  })

  test('damage on the way, to any part that is read: refused by get, lists, reductions and where, and what is right is read', async () => {
    const store = await written()
    await using file = await open({ store, path }, { cacheBytes: 0 })
    const array = file.array('x', 'int32')
    const half = slice(null, LENGTH / 2 - 3)
    const reads: [string, () => Promise<unknown>][] = [
      ['get', () => array.get([half])],
      ['list', () => array.get([[3, 9 * CHUNK, 17 * CHUNK]])],
      ['sum', () => array.view([half]).sum({ ignoreStats: true })],
      ['mean', () => array.view([half]).mean({ axis: 0, ignoreStats: true })],
      ['quantile', () => array.view([half]).quantile(0.5)],
      ['argMax', () => array.view([half]).argMax()],
      [
        'blocks',
        async () => {
          for await (const _ of array.view([half]).blocks()) {
          }
        },
      ],
    ]
    for (const [name, read] of reads) {
      store.ranges.length = 0
      const right = await read()
      const count = new Set(store.ranges.map(String)).size
      expect(count, name).toBeGreaterThan(2)
      for (let damaged = 0; ; damaged++) {
        let left = damaged
        store.onRead = (_, bytes) => {
          if (left-- === 0) bytes[(damaged * 97) % bytes.length]! ^= 1 << (damaged % 8)
        }
        const outcome = await read().catch((error: unknown) => error)
        // Chunks that are read at the same time share a segment: how many reads there are is a matter of
        // timing.
        if (left >= 0) {
          expect(damaged, name).toBeGreaterThanOrEqual(count)
          expect(outcome, name).toEqual(right)
          break
        }
        expect(outcome, `${name}, read ${damaged}`).toMatchObject({
          tag: 'IntegrityError',
          message: expect.stringMatching(
            /^memory:a\.af: array 'x': block \d: (bytes \d+ to \d+|the bytes) as stored: the checksum is/,
          ),
        })
      }
      store.onRead = () => undefined
      expect(await read(), name).toEqual(right)
    }
  })

  test('a read refuses bytes that a server returns from a shifted position', async () => {
    const store = await written({ blockBytes: 64 * LEAST }, LEAST)
    await using file = await open({ store, path }, { cacheBytes: 0 })
    const whole = await bytesOf(store)
    store.onRead = (offset, bytes) => bytes.set(whole.subarray(offset + 4, offset + 4 + bytes.length))
    await expect(file.array('x').get([LEAST])).rejects.toMatchObject({ tag: 'IntegrityError' })
  })

  test('without the table, as files of before have it, whole blocks are read, checked, and kept', async () => {
    const store = await written()
    await store.put(
      path,
      resealed(await bytesOf(store), (segments) => segments.clear()),
    )
    expect(tableOf(await bytesOf(store))).toBeUndefined()
    await using file = await open({ store, path })
    for (const number of [1, 0, 14]) expect(await chunk(file, number)).toEqual(expected(number))
    expect(file.readCost).toEqual({ blocks: 1, bytes: 4 * CHUNK * BLOCK })
    store.onRead = (offset, bytes) => {
      if (offset > 0) bytes[0]! ^= 1
    }
    await expect(chunk(file, BLOCK)).rejects.toMatchObject({ tag: 'IntegrityError' })
  })

  test.each([
    ['extensionBlocks: false', { extensionBlocks: false }],
    ['lz4', { codec: 'lz4' }],
    ['zstd', { codec: 'zstd' }],
    ['blocks of one segment', { blockBytes: LEAST }],
  ])('%s: no table', async (_, options) => {
    const store = await written(options)
    expect(tableOf(await bytesOf(store))).toBeUndefined()
    await using file = await open({ store, path }, options)
    expect(await chunk(file, 3)).toEqual(expected(3))
  })

  test('extensionBlocks: false: parts are read alone, and unchecked, as of files of other programs', async () => {
    const store = await written({ extensionBlocks: false })
    await using file = await open({ store, path }, { cacheBytes: 0 })
    expect(await chunk(file, 3)).toEqual(expected(3))
    expect(file.readCost).toEqual({ blocks: 1, bytes: 4 * CHUNK })
  })

  test('a segment of more than the limit is not read', async () => {
    const store = await written({}, 4 * CHUNK)
    await using file = await open({ store, path }, { limits: { blockBytes: LEAST - 1 } })
    await expect(file.array('x').get([0])).rejects.toMatchObject({ tag: 'CodecError', details: { actual: LEAST } })
  })
})

describe('what is pending', () => {
  test('is checked in its stage, in parts and when it is packed anew', async () => {
    const store = new Store()
    let damage = false
    const stage = store.stage.bind(store)
    store.stage = async (...args) => {
      const made = await stage(...args)
      const read = made.read.bind(made)
      made.read = async (...range) => {
        const bytes = (await read(...range)).slice()
        if (damage) bytes[0]! ^= 1
        return bytes
      }
      return made
    }
    await using file = await create({ store, path }, { codec: 'none', blockBytes: 4 * CHUNK * BLOCK })
    const array = file.createArray('x', { dtype: 'int32', shape: [LENGTH], chunks: [CHUNK] })
    await array.set(null, values)
    expect(await chunk(file, 3)).toEqual(expected(3))
    expect(file.readCost).toEqual({ blocks: 1, bytes: LEAST })
    damage = true
    await expect(chunk(file, 3)).rejects.toMatchObject({ tag: 'IntegrityError' })
    // A hole, which has all blocks packed anew.
    await array.set([slice(0, CHUNK)], 1)
    await expect(file.flush()).rejects.toMatchObject({ tag: 'IntegrityError' })
    damage = false
    await file.flush()
    await using again = await open({ store, path })
    expect((await again.array('x').get()).data).toEqual(values.slice().fill(1, 0, CHUNK))
    expect((await again.array('x').get([slice(CHUNK, 2 * CHUNK)])).data).toEqual(expected(1))
    expect(again.readCost.bytes).toBe(4 * LENGTH + LEAST)
  })

  test('whoever has written a layer checks parts of it as others do', async () => {
    const store = new Store()
    await using file = await create({ store, path }, { codec: 'none' })
    await file.createArray('x', { dtype: 'int32', shape: [LENGTH], chunks: [CHUNK] }).set(null, values)
    await file.flush()
    store.ranges.length = 0
    expect(await chunk(file, 3)).toEqual(expected(3))
    expect(file.readCost.bytes).toBe(LEAST)
    // Another handle reads the segment with its table of checksums.
    await using other = await open({ store, path })
    expect(await chunk(other, 3)).toEqual(expected(3))
  })
})

describe('compacting', () => {
  test('takes blocks over with a table: their own, or one made anew', async () => {
    for (const change of ['none', 'table gone', 'table damaged'] as const) {
      const store = await written()
      const bytes = await bytesOf(store)
      if (change === 'table damaged') bytes[tableOf(bytes)!.fileOffset + 5]! ^= 1
      await store.put(path, change === 'table gone' ? resealed(bytes, (segments) => segments.clear()) : bytes)
      {
        await using file = await open({ store, path }, { codec: 'none', blockBytes: 4 * CHUNK * BLOCK })
        await file.compact()
        if (change !== 'table gone') expect(file.readCost.blocks).toBe(0)
      }
      const after = await bytesOf(store)
      expect(segmentsIn(after)).toEqual(segmentsIn(await bytesOf(await written())))
      expect(await findingsOf(store)).toEqual([])
    }
  })
})

describe('a table', () => {
  test('under a right checksum that does not go with its blocks: the values or an error, and a finding', async () => {
    const whole = await bytesOf(await written())
    const edit = fc.record({
      block: fc.nat(BLOCKS - 1),
      at: fc.nat(3),
      field: fc.constantFrom('bytes' as const, 'crc' as const),
      by: fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(-1024, 1024, 2 ** 32, 2 ** 45)),
      neighbour: fc.boolean(),
    })
    let wrong = 0
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
        const damaged = resealed(whole, (segments) => {
          for (const { block, at, field, by, neighbour } of edits) {
            const own = segments.get(block)!
            const change = (i: number, by: number): void => {
              const segment = own[i % own.length]!
              own[i % own.length] = { ...segment, [field]: Math.max(0, segment[field] + by) }
            }
            change(at, by)
            if (neighbour) change(at + 1, -by)
          }
        })
        const store = new MemoryStore()
        await store.put(path, damaged)
        await using file = await open({ store, path }, { cacheBytes: 0 })
        for (let number = 0; number < BLOCK * BLOCKS; number += 3) {
          const outcome = await chunk(file, number).catch((error: unknown) => error)
          if (outcome instanceof Error) expect(outcome).toMatchObject({ tag: 'IntegrityError' })
          else expect(outcome).toEqual(expected(number))
        }
        if (JSON.stringify([...segmentsIn(damaged)]) === JSON.stringify([...segmentsIn(whole)])) return
        wrong++
        expect(await findingsOf(store)).not.toEqual([])
      }),
      { numRuns: runs(100) },
    )
    expect(wrong).toBeGreaterThan(runs(50))
  })

  test('that names no block, another codec, another size, or ends too early', () => {
    const block = { id: 0, codec: 'none', fileOffset: 0, compressedBytes: 10, uncompressedBytes: 10, origin: { file: 'a.af' } }
    const decode = (numbers: readonly number[], change: object = {}) =>
      decodeSegmentChecksums(encodeVarints(numbers), new Map([[0, { ...block, ...change } as unknown as BlockRef]]))
    const right = [0, 2, 4, 11, 6, 12]
    expect([
      ...encodeSegmentChecksums(
        new Map([
          [
            0,
            [
              { bytes: 4, crc: 11 },
              { bytes: 6, crc: 12 },
            ],
          ],
        ]),
      ),
    ]).toEqual(right)
    const [checksums] = decode(right).values()
    expect([0, 1].map((number) => checksums!.at(number))).toEqual([
      { range: { offset: 0, length: 4 }, crc: 11 },
      { range: { offset: 4, length: 6 }, crc: 12 },
    ])
    for (let length = 1; length < right.length; length++) expect(() => decode(right.slice(0, length))).toThrow('ends too early')
    expect(() => decode([9, ...right.slice(1)])).toThrow('names block 9, but there is no such block')
    for (const [numbers, change] of [
      [[0, 2, 4, 11, 5, 12], {}],
      [[0, 0], {}],
      [[0, 2, 4, 2 ** 32, 6, 12], {}],
      [right, { codec: 'lz4' }],
      [right, { compressedBytes: 11 }],
    ] as const)
      expect(() => decode(numbers, change)).toThrow(expect.objectContaining({ tag: 'FormatError' }))
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
    rude.put(path, await bytesOf(await written()))
  })
  const requests = (): number => rude.log.filter((line) => line.startsWith('GET')).length

  test('what is wanted of a block is one request, and what was fetched is not fetched again', async () => {
    const cache = new BlockCache({ blockBytes: 0 })
    await using file = await open(`${rude.origin}/${path}`, { cache })
    const opened = requests()
    expect(await chunk(file, 3)).toEqual(expected(3))
    expect(file.readCost).toEqual({ blocks: 1, bytes: LEAST })
    expect(await chunk(file, 2)).toEqual(expected(2))
    expect([requests() - opened, file.readCost.blocks]).toEqual([1, 1])
    await file.array('x').get([slice(9 * CHUNK, 13 * CHUNK)])
    expect([requests() - opened, file.readCost.blocks]).toEqual([2, 3])
    await Promise.all([20, 21, 20].map(async (number) => expect(await chunk(file, number)).toEqual(expected(number))))
    expect([requests() - opened, file.readCost.blocks]).toEqual([3, 4])
  })
})
