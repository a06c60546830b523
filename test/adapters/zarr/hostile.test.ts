import { afterAll, afterEach, expect, test, vi } from 'vitest'
import type { ZarrArray } from '../../../src/adapters/zarr/group.ts'
import { createPool } from '../../../src/pool/pool.ts'
import { type OpenZarrOptions, openZarr } from '../../../src/runtime/zarr.ts'
import { BOMBS } from './bombs.ts'
import { AskedStore } from './handmade.ts'

const MiB = 2 ** 20
/** Size that the bombs decode to, limit of a chunk, and memory that a refusing read may take in addition. */
const [BOMB_MIB, LIMIT, ROOM] = [1024, MiB, 128 * MiB]

const pool = createPool({ size: 1 })
afterAll(() => pool.close())
afterEach(() => vi.restoreAllMocks())

const little = { name: 'bytes', configuration: { endian: 'little' } }
const codecOf = (bomb: string): object => {
  const name = bomb.split(' ')[0]!
  return { name, configuration: name === 'blosc' ? { cname: 'lz4', shuffle: 'noshuffle', typesize: 1 } : {} }
}

interface Stored {
  readonly codecs: readonly object[]
  readonly dataType?: string | object
  readonly fill?: unknown
  readonly chunks?: readonly number[]
  readonly shape?: readonly number[]
  readonly objects?: Record<string, Uint8Array>
}

/** Opens an array of 1000 elements in one chunk. */
async function arrayOf(
  { codecs, dataType = 'int32', fill = 0, shape = [1000], chunks = shape, objects = {} }: Stored,
  options: OpenZarrOptions = {},
) {
  const { store, inner } = new AskedStore()
  const metadata = {
    zarr_format: 3,
    node_type: 'array',
    shape,
    data_type: dataType,
    chunk_grid: { name: 'regular', configuration: { chunk_shape: chunks } },
    chunk_key_encoding: { name: 'default' },
    fill_value: fill,
    codecs,
  }
  await inner.put('x/zarr.json', new TextEncoder().encode(JSON.stringify(metadata)))
  for (const [key, bytes] of Object.entries(objects)) await inner.put(`x/${key}`, bytes)
  const limits = { blockBytes: LIMIT }
  return (await openZarr({ store, path: 'x' }, { kind: 'array', limits, ...options })) as ZarrArray
}

const REFUSED = { tag: 'CodecError', details: { file: expect.stringMatching(/^asked:x.c.0/), array: 'x' } }

/** Reads what has to be refused, in bounded memory; gives the message. */
async function refusal(array: ZarrArray): Promise<string> {
  const before = process.resourceUsage().maxRSS
  const error = await array.get(array.shape.map(() => 0)).catch((cause: unknown) => cause)
  expect(error).toMatchObject(REFUSED)
  expect((process.resourceUsage().maxRSS - before) * 1024).toBeLessThan(ROOM)
  return (error as Error).message
}

const ABOVE = 'more than `limits.blockBytes`, 1048576'
const bombs = Object.keys(BOMBS)

test.each(bombs)('strings that decode by %s to more than a chunk may have are refused', async (bomb) => {
  const objects = { 'c/0': BOMBS[bomb]!(BOMB_MIB) }
  const strings = { codecs: [{ name: 'vlen-utf8' }, codecOf(bomb)], dataType: 'string', fill: '', objects }
  expect(await refusal(await arrayOf(strings))).toContain(ABOVE)
})

test.each(bombs)('numbers that decode by %s to more than they take are refused, behind another codec, too', async (bomb) => {
  const objects = { 'c/0': BOMBS[bomb]!(BOMB_MIB) }
  for (const options of [{}, { pool }]) {
    const codec = codecOf(bomb)
    await refusal(await arrayOf({ codecs: [little, codec], objects }, options))
    for (const inner of ['gzip', 'zstd', 'lz4', 'blosc'])
      expect(await refusal(await arrayOf({ codecs: [little, codecOf(inner), codec], objects }, options)), inner).toContain(ABOVE)
  }
  expect(pool.inlineReason).toBeUndefined()
})

test.each(['gzip', 'zlib'])('where the platform has streams only, %s stops as early', async (bomb) => {
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
  const objects = { 'c/0': BOMBS[bomb]!(BOMB_MIB) }
  expect(await refusal(await arrayOf({ codecs: [{ name: 'vlen-utf8' }, codecOf(bomb)], dataType: 'string', fill: '', objects }))).toContain(ABOVE) // biome-ignore format: one line
  expect(await refusal(await arrayOf({ codecs: [little, codecOf('gzip'), codecOf(bomb)], objects }))).toContain(ABOVE)
})

const text = { name: 'fixed_length_utf32', configuration: { length_bytes: 4 } }

test.each([
  ['strings', { dataType: 'string', fill: '', codecs: [{ name: 'vlen-utf8' }], chunks: [2 ** 45] }],
  ['transposed strings', { dataType: 'string', fill: '', codecs: [{ name: 'transpose', configuration: { order: [1, 0] } }, { name: 'vlen-utf8' }], shape: [5, 5], chunks: [2 ** 15, 2 ** 25] }], // biome-ignore format: one line
  ['long fill values', { dataType: 'string', fill: 'x'.repeat(1e6), codecs: [{ name: 'vlen-utf8' }] }],
  ['texts of one length', { dataType: text, fill: '', codecs: [little], chunks: [2 ** 45] }],
] as [string, Stored][])('chunks of more values than there is room for are refused: %s', async (_, stored) => {
  expect(await refusal(await arrayOf(stored))).toContain(ABOVE)
  if (stored.chunks === undefined) return
  for (const bomb of bombs.slice(0, 4)) {
    const codecs = [...stored.codecs, codecOf(bomb)]
    expect(
      await refusal(await arrayOf({ ...stored, codecs, objects: { 'c/0': BOMBS[bomb]!(1), 'c/0/0': BOMBS[bomb]!(1) } })),
    ).toContain(ABOVE)
  }
})

test('a part of a shard with more bytes than a chunk may have is not fetched', async () => {
  const index = { chunk_shape: [100], codecs: [little], index_codecs: [little], index_location: 'start' }
  const codecs = [{ name: 'sharding_indexed', configuration: index }]
  const shard = new Uint8Array(2 * MiB)
  new DataView(shard.buffer).setBigUint64(8, BigInt(MiB + 1), true)
  for (let i = 1; i < 10; i++) new DataView(shard.buffer).setBigUint64(16 * i + 8, 400n, true)
  const array = await arrayOf({ codecs, objects: { 'c/0': shard } })
  expect(await array.get([100])).toBe(0)
  await expect(array.get([0])).rejects.toMatchObject({
    tag: 'TooLargeError',
    details: { file: 'asked:x/c/0', array: 'x', actual: MiB + 1, expected: MiB },
  })
})
