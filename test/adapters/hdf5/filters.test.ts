import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { type Filter, filterCodec } from '../../../src/adapters/hdf5/filters/index.ts'
import { decodeWith, inKernel } from '../../../src/codec/codec.ts'
import { withArena } from '../../../src/kernels/arena.ts'
import { type FilteredRequest, startFilteredPython } from '../../support/hdf5-filters.ts'

const python = startFilteredPython()
afterAll(() => python?.close())

/** Decodes a chunk as the engine does. */
async function decode(filters: readonly Filter[], mask: number, bytes: number, raw: Uint8Array, decodedBytes: number) {
  const codec = filterCodec('chunk', filters, mask, { bytes, mostBytes: 2 ** 24 })
  await codec.ready()
  if (!inKernel(codec)) return decodeWith(codec, raw, decodedBytes)
  return withArena((arena) => {
    const pointer = codec.decodeIn(arena, arena.put(raw), raw.length, decodedBytes)
    return arena.bytes(pointer, decodedBytes).slice()
  })
}

/** Writes a dataset by h5py and compares each decoded chunk with the elements that h5py reads. */
async function compare(request: FilteredRequest): Promise<number> {
  const { filters, chunks, bytes, data } = await python!.write(request)
  const chunk = request.chunk ?? data.length / bytes
  expect(chunks.length).toBe(Math.ceil(data.length / bytes / chunk))
  let skipped = 0
  for (const { at, mask, raw } of chunks) {
    if (mask !== 0) skipped++
    const decoded = await decode(filters, mask, bytes, raw, chunk * bytes)
    const expected = data.subarray(at * bytes, (at + chunk) * bytes)
    expect(Buffer.from(decoded.subarray(0, expected.length)).equals(Buffer.from(expected))).toBe(true)
  }
  return skipped
}

/** Repeatable numbers from 0 to 2^32 - 1. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state
  }
}

/** Bytes of a smooth series with some noise, as an array of a type. */
function series(Type: { from(values: number[]): ArrayBufferView }, count: number, scale = 100, seed = 1): Uint8Array {
  const next = random(seed)
  const values = Array.from({ length: count }, (_, i) => Math.sin(i / 40) * scale + ((next() >>> 28) * scale) / 200)
  const made = Type.from(values)
  return new Uint8Array(made.buffer, made.byteOffset, made.byteLength)
}

test('shuffle leaves bytes as they are if its elements are larger than the chunk', async () => {
  const raw = Uint8Array.from({ length: 24 }, (_, i) => i)
  for (const size of [25, 2 ** 31, 2 ** 32 - 8, 2 ** 32 - 1])
    expect(await decode([{ id: 2, flags: 0, parameters: [size] } as unknown as Filter], 0, 4, raw, 24)).toEqual(raw)
})

describe.skipIf(python === undefined)('filters of HDF5', () => {
  test('decodes deflate, shuffle and fletcher32 in all orders and sizes', async () => {
    const orders = [['deflate'], ['shuffle'], ['fletcher32'], ['shuffle', 'deflate'], ['shuffle', 'deflate', 'fletcher32']]
    for (const names of [...orders, ['fletcher32', 'shuffle', 'deflate']])
      for (const [dtype, Type, count, chunk] of [
        ['<i2', Int16Array, 1000, 333],
        ['>f8', Float64Array, 129, 129],
        ['<f4', Float32Array, 1, 1],
        ['|u1', Uint8Array, 777, 100],
      ] as const)
        await compare({
          dtype,
          data: series(Type, count),
          chunk,
          filters: names.map((name) => [name, name === 'deflate' ? [4] : []]),
        })
  })

  test('decodes lz4, zstd and all compressors of blosc', async () => {
    for (const chunk of [1000, 999, 7])
      for (const filters of [
        [[32004, []]],
        [[32004, [64]]],
        [
          ['shuffle', []],
          [32004, []],
        ],
        [[32015, [3]]],
        [
          ['shuffle', []],
          [32015, [1]],
        ],
        ...[0, 1, 2, 4, 5].flatMap((compressor) => [0, 1, 2].map((shuffle) => [[32001, [0, 0, 0, 0, 5, shuffle, compressor]]])),
      ] as FilteredRequest['filters'][])
        await compare({ dtype: '<i4', data: series(Int32Array, 3000, 1000), chunk, filters })
  })

  test('leaves out the filters that the mask of a chunk skips', async () => {
    const data = series(Int16Array, 300)
    const plain = await python!.write({ dtype: '<i2', data, chunk: 100, filters: [['shuffle', []]] })
    const raw = [
      [0, plain.chunks[0]!.raw],
      [1, data.slice(200, 400)],
      [1, data.slice(400, 600)],
    ] as const
    expect(await compare({ dtype: '<i2', data, chunk: 100, filters: [['shuffle', []]], raw })).toBe(2)
  })

  test('accepts the checksum of old libraries, as h5py does, and refuses another one', async () => {
    const data = series(Int16Array, 100)
    const filters = [['fletcher32', []]] as const
    const { chunks, filters: stored } = await python!.write({ dtype: '<i2', data, filters })
    const swapped = chunks[0]!.raw.slice()
    const [a, b, c, d] = swapped.subarray(200)
    swapped.set([b!, a!, d!, c!], 200)
    expect(swapped.subarray(200)).not.toEqual(chunks[0]!.raw.subarray(200))
    await compare({ dtype: '<i2', data, filters, raw: [[0, swapped]] })
    const damaged = chunks[0]!.raw.slice()
    damaged[17]! ^= 1
    await expect(python!.write({ dtype: '<i2', data, filters, raw: [[0, damaged]] })).rejects.toThrow()
    await expect(decode(stored, 0, 2, damaged, 200)).rejects.toMatchObject({ tag: 'IntegrityError' })
  })
})

const filter = (id: number, ...parameters: number[]): Filter => ({ id, flags: 0, name: '', parameters })

test('refuses a filter that is not read, with its number, its name and what to do', async () => {
  const codec = { name: 'bzip2', decode: (bytes: Uint8Array) => bytes.slice(1) }
  const element = { bytes: 1, mostBytes: 100 }
  expect(() => filterCodec('chunk', [filter(307, 9)], 0, element)).toThrow(/307 \(bzip2\).*codec named 'bzip2' in `codecs`/s)
  expect(() => filterCodec('chunk', [filter(400)], 0, element)).toThrow(/filter 400 is not read here.*'400'/s)
  expect(() => filterCodec('chunk', [filter(307, 9)], 1, element)).not.toThrow()
  const own = filterCodec('chunk', [filter(307, 9)], 0, element, [codec])
  expect(own.remote).toBe(undefined)
  expect(await (own as unknown as typeof codec).decode(Uint8Array.of(9, 1, 2))).toEqual(Uint8Array.of(1, 2))
})

test('refuses a stored chunk of no bytes', async () => {
  await expect(decode([filter(2, 4)], 0, 4, new Uint8Array(0), 16)).rejects.toMatchObject({ tag: 'CodecError' })
})

test('decodes recorded chunks of each filter without Python', async () => {
  const path = new URL('../../fixtures/hdf5-filters.json', import.meta.url)
  const recorded: { filters: Filter[]; bytes: number; mask: number; raw: string; data: string }[] = JSON.parse(
    readFileSync(path, 'utf8'),
  )
  expect(new Set(recorded.flatMap(({ filters }) => filters.map(({ id }) => id))).size).toBe(9)
  for (const { filters, bytes, mask, raw, data } of recorded) {
    const expected = Buffer.from(data, 'base64')
    const decoded = await decode(filters, mask, bytes, new Uint8Array(Buffer.from(raw, 'base64')), expected.length)
    expect(Buffer.from(decoded).equals(expected)).toBe(true)
  }
})
