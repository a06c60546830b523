import { describe, expect, test } from 'vitest'
import { openGeotiff } from '../../../src/runtime/geotiff.ts'
import { MemoryStore, slice } from '../../../src/runtime/index.ts'
import { BigTiffWriter, imageTags, type MadeTag } from './tiff-file.ts'

const TILE = 16
const SAMPLES = Uint8Array.from({ length: TILE * TILE }, (_, i) => (i * 5) & 255)

/** Returns tags of an image of one tile, whose bytes lie at a position. */
const oneTile = (at: number, more: readonly MadeTag[] = []): MadeTag[] => [
  ...imageTags([TILE, TILE], TILE),
  { tag: 324, type: 16, values: [at] },
  { tag: 325, type: 16, values: [SAMPLES.length] },
  ...more,
]

async function openBytes(bytes: Uint8Array) {
  const store = new MemoryStore()
  await store.put('a.tif', bytes)
  return openGeotiff({ store, path: 'a.tif' })
}

const REDUCED: MadeTag = { tag: 254, type: 4, values: [1] }

describe('directories within directories', () => {
  test('are levels and further images, each with its own samples', async () => {
    const file = new BigTiffWriter(4096)
    file.bytes.set(SAMPLES, 3072)
    file.bytes.set(SAMPLES.toReversed(), 3072 + 256)
    file.directory(16, oneTile(3072, [{ tag: 330, type: 16, values: [1024, 2048] }]))
    file.directory(1024, oneTile(3328, [REDUCED]))
    file.directory(2048, oneTile(3328))
    await using opened = await openBytes(file.bytes)
    expect(opened.images.map((image) => image.levels().length)).toEqual([2, 1])
    expect(await opened.image(0).array.values()).toEqual(SAMPLES)
    expect(await opened.image(0).levels()[1]!.array.values()).toEqual(SAMPLES.toReversed())
    expect(await opened.image(1).array.values()).toEqual(SAMPLES.toReversed())
  })

  test.each([
    ['the next directory is the first one', 16, [2048]],
    ['a directory contains itself', 0, [16]],
    ['two directories contain each other', 0, [1024]],
  ])('end where %s, and the image before stays readable', async (_, next, inner) => {
    const file = new BigTiffWriter(4096)
    file.bytes.set(SAMPLES, 3072)
    file.directory(16, oneTile(3072, [{ tag: 330, type: 16, values: inner }]), next)
    file.directory(1024, oneTile(3072, [REDUCED, { tag: 330, type: 16, values: [16] }]))
    file.directory(2048, oneTile(3072, [REDUCED]))
    await using opened = await openBytes(file.bytes)
    expect(await opened.image(0).array.values()).toEqual(SAMPLES)
    const errors = opened.images.flatMap(({ error }) => error ?? [])
    expect(errors.map(({ tag, text }) => [tag, text])).toEqual([
      ['FormatError', 'damaged TIFF: the chain of directories has a loop at byte 16'],
    ])
  })
})

describe('sizes beyond the file', () => {
  test('a table of 2^32 tiles that is not in the file is an error of the tile that is read', async () => {
    const file = new BigTiffWriter(4096)
    const side = 2 ** 20
    file.directory(16, [
      ...imageTags([side, side], TILE),
      { tag: 324, type: 16, values: [], count: 2 ** 32, at: 1024 },
      { tag: 325, type: 16, values: [], count: 2 ** 32, at: 2048 },
    ])
    await using opened = await openBytes(file.bytes)
    const { array } = opened.image(0)
    expect(array.shape).toEqual([side, side])
    // The first entries are zeros in the file: the tile is not stored.
    expect((await array.get([slice(2), slice(2)])).data).toEqual(new Uint8Array(4))
    await expect(array.get([side - 1, side - 1])).rejects.toMatchObject({ tag: 'FormatError' })
  })

  test('a table with fewer entries than tiles is refused', async () => {
    const file = new BigTiffWriter(4096)
    file.directory(16, [
      ...imageTags([2 ** 20, 2 ** 20], TILE),
      { tag: 324, type: 16, values: [], count: 2 ** 32 - 1, at: 1024 },
      { tag: 325, type: 16, values: [], count: 2 ** 32, at: 1024 },
    ])
    await using opened = await openBytes(file.bytes)
    expect(opened.image(0).error).toMatchObject({ tag: 'FormatError', details: { actual: 2 ** 32 - 1, expected: 2 ** 32 } })
  })

  test.each([
    ['deflate', 8],
    ['lzw', 5],
    ['packbits', 32_773],
  ])('a tile of 2^31 bytes, compressed by %s, is refused before it is allocated', async (_, compression) => {
    const file = new BigTiffWriter(4096)
    file.bytes.fill(7, 2048)
    const [height, width] = [2 ** 15, 2 ** 16]
    file.directory(16, [
      ...imageTags([height, width], undefined, compression).filter(({ tag }) => tag < 322),
      { tag: 322, type: 4, values: [width] },
      { tag: 323, type: 4, values: [height] },
      { tag: 324, type: 16, values: [2048] },
      { tag: 325, type: 16, values: [1024] },
    ])
    await using opened = await openBytes(file.bytes)
    const before = process.memoryUsage.rss()
    await expect(opened.image(0).array.get([0, 0])).rejects.toThrow('limits.blockBytes')
    expect(process.memoryUsage.rss() - before).toBeLessThan(512 * 2 ** 20)
  })

  test('a tile whose stored bytes end beyond the file names tile and numbers', async () => {
    const file = new BigTiffWriter(4096)
    file.directory(16, oneTile(4000))
    await using opened = await openBytes(file.bytes)
    await expect(opened.image(0).array.get([0, 0])).rejects.toMatchObject({
      tag: 'FormatError',
      details: { actual: 4256, expected: 4096 },
    })
  })
})

describe('files that other readers misread', () => {
  const open = (tags: readonly MadeTag[]) => {
    const file = new BigTiffWriter(8192)
    file.directory(16, tags)
    return openBytes(file.bytes)
  }

  test.each([
    [
      'a depth of the image',
      { tag: 32_997, type: 4, values: [32] },
      'UnsupportedError',
      'images with a depth of 32 are not read',
    ],
    ['a depth of tiles', { tag: 32_998, type: 4, values: [2] }, 'UnsupportedError', 'images with a depth of 2 are not read'],
    ['a width of 2^54', { tag: 322, type: 12, values: [2 ** 54] }, 'FormatError', 'the width of a tile is 18014398509481984'],
  ] as const)('%s is refused', async (_, tag, error, text) => {
    await using file = await open([...oneTile(3072).filter((each) => each.tag !== tag.tag), tag])
    expect(file.image(0).error).toMatchObject({ tag: error, message: expect.stringContaining(text) })
  })

  test.each([
    [1, undefined],
    [2, 'the planar configuration is 3'],
  ])('an unknown planar configuration of %d samples', async (samples, error) => {
    const tags: MadeTag[] = [
      { tag: 277, type: 3, values: [samples] },
      { tag: 284, type: 3, values: [3] },
    ]
    await using file = await open(oneTile(3072, tags))
    expect(file.image(0).error?.text).toEqual(error && expect.stringContaining(error))
  })

  test('bits in reverse order are read where compression made the bytes more', async () => {
    const reversed = (byte: number): number => Number.parseInt(byte.toString(2).padStart(8, '0').split('').reverse().join(''), 2)
    const samples = Array.from({ length: 256 }, (_, i) => (i * 89) % 251)
    const stored = [127, ...samples.slice(0, 128), 127, ...samples.slice(128)].map(reversed)
    const file = new BigTiffWriter(8192)
    file.numbers(3072, 1, stored)
    const tags = [...imageTags([16, 16], 16, 32_773), { tag: 266, type: 3, values: [2] } as const]
    file.directory(16, [...tags, { tag: 324, type: 16, values: [3072] }, { tag: 325, type: 16, values: [stored.length] }])
    await using opened = await openBytes(file.bytes)
    expect([...((await opened.image(0).array.toTensor()).data as Uint8Array)]).toEqual(samples)
  })

  test.each([
    ['that share a text of 16 MiB are read', 0, 18],
    ['whose texts take more than 256 MiB are errors', 1, 16],
  ])('directories %s', { timeout: 60_000 }, async (_, step, readable) => {
    const [count, bytes, at] = [18, 16 * 2 ** 20, 8192]
    const file = new BigTiffWriter(at + bytes)
    for (let i = 0; i < count; i++) {
      const text: MadeTag = { tag: 270, type: 2, values: [], at: at + i * step, count: bytes - 4096 }
      file.directory(16 + 256 * i, [...oneTile(7000), text], i === count - 1 ? 0 : 16 + 256 * (i + 1))
    }
    await using opened = await openBytes(file.bytes)
    const errors = opened.images.flatMap(({ error }) => error?.text ?? [])
    expect(opened.images).toHaveLength(count)
    const text = expect.stringMatching(/directories and their tags have more than 268435456 bytes/)
    expect(errors).toEqual(Array.from({ length: count - readable }, () => text))
  })

  test('entries that many directories share are counted for each', { timeout: 60_000 }, async () => {
    // Each entry of 20 bytes can begin a directory of 60 000 entries.
    const [entries, inner] = [60_000, 400]
    const bytes = new Uint8Array(8 + 20 * (entries + inner + 16) + 32 * 1024)
    const view = new DataView(bytes.buffer)
    const file = new BigTiffWriter(8192)
    bytes.set(file.bytes)
    const start = 8192
    for (let at = start; at + 20 <= bytes.length; at += 20) {
      view.setBigUint64(at, BigInt(entries), true)
      view.setBigUint64(at + 12, 0n, true)
    }
    const made = new BigTiffWriter(16 + 8192)
    const offsets = Array.from({ length: inner }, (_, i) => start + 20 * i)
    made.directory(16, oneTile(7000, [{ tag: 330, type: 16, values: offsets }]))
    bytes.set(made.bytes.subarray(0, 8192))
    await using opened = await openBytes(bytes)
    expect(opened.image(0).error).toBeUndefined()
    expect(opened.images.some(({ error }) => error?.text.includes('have more than 268435456 bytes'))).toBe(true)
  })
})
