import { afterAll, describe, expect, test } from 'vitest'
import { decodeIndex, indexBytes } from '../../../src/adapters/zarr/shard-table.ts'
import { isHyperslabError } from '../../../src/core/errors.ts'
import { expectSameBytes, noise, randoms } from '../../kernels/support.ts'
import { startNumcodecs } from '../../support/numcodecs.ts'
import { codec, decodeStored, INT32 } from './support.ts'

const numcodecs = startNumcodecs()
afterAll(() => numcodecs?.close())

/** Numbers that compress, as bytes. */
function smooth(count: number): Uint8Array {
  const random = noise(count, 7)
  return new Uint8Array(Int32Array.from({ length: count }, (_, i) => 1000 + (i >> 3) * 5 + (random[i]! & 3)).buffer)
}

describe.skipIf(numcodecs === undefined)('compressors as numcodecs writes them', () => {
  const configurations: Record<string, unknown>[] = [
    { id: 'lz4' },
    { id: 'zstd', level: 3 },
    { id: 'zstd', level: 1, checksum: true },
    { id: 'gzip', level: 5 },
    { id: 'zlib', level: 5 },
    { id: 'crc32c' },
    { id: 'crc32c', location: 'start' },
    { id: 'blosc', cname: 'lz4', clevel: 5, shuffle: 1 },
    { id: 'blosc', cname: 'lz4', clevel: 5, shuffle: 2 },
    { id: 'blosc', cname: 'lz4hc', clevel: 5, shuffle: 0 },
  ]
  test.each(configurations)('%j', async ({ id, ...configuration }) => {
    for (const count of [1, 7, 1000, 70_001]) {
      const data = smooth(count)
      const stored = await numcodecs!.encode([{ id, ...configuration }], '<i4', data)
      const codecs = [codec('bytes', { endian: 'little' }), codec(id as string, configuration)]
      expectSameBytes(await decodeStored(codecs, INT32, [count], stored), data)
      const swapped = [codec('bytes', { endian: 'big' }), codec(id as string, configuration)]
      const turned = data.slice()
      for (let i = 0; i < data.length; i += 4) turned.subarray(i, i + 4).reverse()
      expectSameBytes(await decodeStored(swapped, INT32, [count], stored), turned)
      await expect(decodeStored(codecs, INT32, [count + 1], stored)).rejects.toMatchObject({ tag: 'CodecError' })
      await expect(decodeStored(codecs, INT32, [count], stored.subarray(0, -1))).rejects.toMatchObject({ tag: 'CodecError' })
    }
  })
})

test('transpose brings axes back, of elements of any size', async () => {
  for (const bytes of [1, 2, 3, 4, 8, 12, 16])
    for (const order of [[0, 1, 2], [2, 1, 0], [1, 2, 0], 'F']) {
      const shape = [3, 4, 5]
      const axes = order === 'F' ? [2, 1, 0] : (order as number[])
      const data = noise(60 * bytes, bytes)
      const stored = new Uint8Array(data.length)
      const index = [0, 0, 0]
      let at = 0
      for (index[0] = 0; index[0] < shape[axes[0]!]!; index[0]++)
        for (index[1] = 0; index[1] < shape[axes[1]!]!; index[1]++)
          for (index[2] = 0; index[2] < shape[axes[2]!]!; index[2]++) {
            const place = [0, 1, 2].map((axis) => index[axes.indexOf(axis)]!)
            const from = ((place[0]! * 4 + place[1]!) * 5 + place[2]!) * bytes
            stored.set(data.subarray(from, from + bytes), at)
            at += bytes
          }
      const type = { dtype: 'binary', kind: 'raw', bytes } as const
      const codecs = [codec('transpose', { order }), codec('bytes')]
      const decoded = await decodeStored(codecs, type, shape, stored)
      // Behind where each element starts.
      expectSameBytes(decoded.subarray(4 * 61), data)
    }
})

test('the index of a shard', async () => {
  const index = new BigUint64Array([0n, 12n, 2n ** 64n - 1n, 2n ** 64n - 1n, 12n, 2n ** 40n])
  const bytes = new Uint8Array(index.buffer)
  const codecs = [codec('bytes', { endian: 'little' })]
  expect(await indexBytes(codecs, 3)).toBe(48)
  expect(await decodeIndex(codecs, bytes, 3)).toEqual(index)
  const checked = [...codecs, codec('crc32c')]
  expect(await indexBytes(checked, 3)).toBe(52)
  const stored = new Uint8Array(52)
  stored.set(bytes)
  await expect(decodeIndex(checked, stored, 3)).rejects.toThrow(/checksum/)
  await expect(decodeIndex(codecs, bytes, 4)).rejects.toThrow(/48 bytes instead of 64/)
  await expect(indexBytes([...codecs, codec('gzip')], 3)).rejects.toThrow(/'gzip' cannot encode the index/)
})

/** A few bytes changed, or some at the end missing. */
function damaged(stored: Uint8Array, next: () => number): Uint8Array {
  const bytes = next() % 4 === 0 ? stored.slice(0, 1 + (next() % stored.length)) : stored.slice()
  for (let changes = 1 + (next() % 3); changes > 0; changes--)
    bytes[next() % Math.min(bytes.length, 1 + (next() % bytes.length))] = next()
  return bytes
}

describe.skipIf(numcodecs === undefined)('damaged chunks end in an error, or in as many bytes as there should be', () => {
  const chains: Record<string, unknown>[][] = [
    [{ id: 'lz4' }],
    [{ id: 'zstd' }],
    [{ id: 'gzip' }],
    [{ id: 'zlib' }],
    [{ id: 'blosc', cname: 'zstd', shuffle: 2 }],
    [{ id: 'blosc', cname: 'lz4', shuffle: 1 }, { id: 'adler32' }],
    [{ id: 'delta', dtype: '<i4', astype: '<i2' }, { id: 'zlib' }],
    [{ id: 'astype', encode_dtype: '<f8', decode_dtype: '<i4' }],
    [{ id: 'fixedscaleoffset', scale: 10, offset: 3, dtype: '<i4', astype: '<f4' }],
    [{ id: 'shuffle', elementsize: 4 }, { id: 'lz4' }, { id: 'fletcher32' }],
  ]
  test.each(chains.map((chain) => [chain.map(({ id }) => id).join(', '), chain] as const))('%s', async (_, chain) => {
    const next = randoms(9)
    const data = smooth(3000)
    const stored = await numcodecs!.encode(chain, '<i4', data)
    const codecs = [
      codec('bytes', { endian: 'big' }),
      ...chain.map(({ id, ...configuration }) => codec(id as string, configuration)),
    ]
    let refused = 0
    for (let i = 0; i < 150; i++) {
      try {
        expect((await decodeStored(codecs, INT32, [3000], damaged(stored, next))).length).toBe(12_000)
      } catch (error) {
        expect(isHyperslabError(error, 'CodecError'), String(error)).toBe(true)
        refused++
      }
    }
    expect(refused).toBeGreaterThan(20)
  })

  test.each(['blosc', 'zstd', 'gzip', 'lz4'])('strings in %s', async (id) => {
    const next = randoms(4)
    const texts = Array.from({ length: 300 }, (_, i) => 'text'.repeat(i % 9))
    const stored = await numcodecs!.encodeTexts([{ id: 'vlen-utf8' }, { id }], texts)
    const type = { dtype: 'string', kind: 'string', bytes: undefined } as const
    let refused = 0
    for (let i = 0; i < 150; i++) {
      try {
        const decoded = await decodeStored([codec('vlen-utf8'), codec(id)], type, [300], damaged(stored, next))
        expect(new DataView(decoded.buffer).getUint32(1200, true)).toBe(decoded.length - 1204)
      } catch (error) {
        expect(isHyperslabError(error, 'CodecError'), String(error)).toBe(true)
        refused++
      }
    }
    expect(refused).toBeGreaterThan(20)
  })
})
