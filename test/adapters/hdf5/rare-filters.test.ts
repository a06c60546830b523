import { afterAll, describe, expect, test } from 'vitest'
import { type Filter, filterCodec, openFilterSpec } from '../../../src/adapters/hdf5/filters/index.ts'
import { decodeWith, inKernel } from '../../../src/codec/codec.ts'
import { isHyperslabError } from '../../../src/core/errors.ts'
import { withArena } from '../../../src/kernels/arena.ts'
import { type FilteredDataset, type FilteredRequest, startFilteredPython } from '../../support/hdf5-filters.ts'

const python = startFilteredPython()
afterAll(() => python?.close())

const MOST_BYTES = 2 ** 20

/** Decodes a chunk as the engine does; bytes behind the decoded ones must stay as they are. */
async function decode(filters: readonly Filter[], mask: number, bytes: number, raw: Uint8Array, decodedBytes: number) {
  const codec = filterCodec('chunk', filters, mask, { bytes, mostBytes: MOST_BYTES })
  await codec.ready()
  if (!inKernel(codec)) return decodeWith(codec, raw, decodedBytes)
  return withArena((arena) => {
    const before = arena.put(new Uint8Array(256).fill(0xa5))
    const pointer = codec.decodeIn(arena, arena.put(raw), raw.length, decodedBytes)
    expect(arena.bytes(before, 256).every((byte) => byte === 0xa5)).toBe(true)
    return arena.bytes(pointer, decodedBytes).slice()
  })
}

/** Writes a dataset by h5py and compares each decoded chunk with the elements that h5py reads. */
async function compare(request: FilteredRequest): Promise<FilteredDataset & { skipped: number }> {
  const dataset = await python!.write(request)
  const { filters, chunks, bytes, data } = dataset
  const chunk = request.chunk ?? data.length / bytes
  expect(chunks.length).toBe(Math.ceil(data.length / bytes / chunk))
  let skipped = 0
  for (const { at, mask, raw } of chunks) {
    if (mask !== 0) skipped++
    const decoded = await decode(filters, mask, bytes, raw, chunk * bytes)
    const expected = data.subarray(at * bytes, (at + chunk) * bytes)
    const differs = decoded.subarray(0, expected.length).findIndex((byte, i) => byte !== expected[i])
    expect([differs, JSON.stringify(request.filters), request.dtype, request.chunk]).toEqual([
      -1,
      expect.anything(),
      request.dtype,
      request.chunk,
    ])
  }
  return { ...dataset, skipped }
}

/** Repeatable numbers from 0 to 1. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Numbers of several characters: constant, smooth, sparse, noise. */
function numbers(count: number, most: number, seed: number): number[] {
  const next = random(seed)
  return Array.from({ length: count }, (_, i) => {
    const part = Math.floor((i / count) * 5)
    const values = [
      0,
      most / 2 + (Math.sin(i / 50) * most) / 3,
      next() < 0.05 ? next() * 3 : 0,
      next() * most,
      most / 7 + next() * 2,
    ]
    return Math.floor(values[part]!)
  })
}

const TYPES = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
  f4: Float32Array,
  f8: Float64Array,
}
type TypeName = keyof typeof TYPES

/** Bytes of numbers in a type, little- or big-endian. */
function bytesOf(type: TypeName | 'i8' | 'u8', isBig: boolean, values: readonly number[]): Uint8Array {
  const made =
    type === 'i8' || type === 'u8'
      ? BigInt64Array.from(values.map((value) => BigInt(Math.floor(value))))
      : TYPES[type].from(values)
  const bytes = new Uint8Array(made.buffer)
  const size = made.BYTES_PER_ELEMENT
  if (isBig) for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse()
  return bytes
}

const EC = 4
const NN = 32

describe.skipIf(python === undefined)('rare filters of HDF5', () => {
  test('decodes szip of all sizes of numbers, blocks and lines, with and without prediction', async () => {
    let decoded = 0
    for (const [type, most] of [
      ['u1', 200],
      ['i2', 3000],
      ['u2', 60000],
      ['i4', 1e6],
      ['u4', 3e9],
      ['f4', 1000],
      ['f8', 1000],
      ['i8', 1e12],
    ] as const)
      for (const isBig of [false, true])
        for (const [mask, block, count, chunk] of [
          [EC, 8, 4000, 4000],
          [NN, 8, 4000, 1003],
          [NN, 32, 5000, 5000],
          [NN, 2, 600, 131],
          [EC, 16, 999, 333],
          [NN, 10, 3000, 777],
          [NN, 32, 40000, 9999],
        ] as const) {
          const dtype = `${isBig ? '>' : '<'}${type}`
          const data = bytesOf(type, isBig, numbers(count, most, block))
          const { skipped, chunks } = await compare({ dtype, data, chunk, filters: [['szip', [mask, block]]] })
          decoded += chunks.length - skipped
        }
    expect(decoded).toBeGreaterThan(200)
  })

  test('decodes szip of numbers with fewer bits than bytes', async () => {
    for (const [type, precision] of [
      ['u1', 5],
      ['u1', 8],
      ['u2', 9],
      ['u2', 12],
      ['u4', 17],
      ['u4', 20],
      ['u4', 24],
      ['u4', 25],
    ] as const)
      for (const mask of [EC, NN]) {
        const data = bytesOf(type, false, numbers(3000, 2 ** precision - 1, precision))
        await compare({ dtype: `<${type}`, precision, offset: 0, data, chunk: 1100, filters: [['szip', [mask, 16]]] })
      }
  })

  test('decodes n-bit of integers with any precision, offset and order', async () => {
    for (const isBig of [false, true])
      for (const [type, precision, offset] of [
        ['u1', 5, 2],
        ['i1', 7, 0],
        ['u2', 12, 4],
        ['i2', 15, 1],
        ['u4', 17, 9],
        ['i4', 19, 13],
        ['u4', 29, 3],
        ['i8', 61, 2],
        ['u8', 33, 20],
        ['i8', 57, 7],
        ['u2', 16, 0],
      ] as const)
        for (const [count, chunk] of [
          [1000, 1000],
          [77, 10],
          [1, 1],
        ] as const) {
          const next = random(precision)
          const size = Number(type[1])
          const whole = Uint8Array.from({ length: count * size }, () => next() * 256)
          // Stored numbers have bits within the precision only.
          const mask = ((1n << BigInt(precision)) - 1n) << BigInt(offset)
          for (let at = 0; at < whole.length; at++) {
            const byte = at % size
            whole[at]! &= Number((mask >> BigInt(8 * (isBig ? size - 1 - byte : byte))) & 255n)
          }
          const dtype = `${isBig ? '>' : '<'}${type}`
          await compare({ dtype, precision, offset, data: whole, chunk, filters: [['nbit', []]] })
        }
  })

  test('decodes n-bit of compounds with members, arrays and bytes', async () => {
    const members = [
      ['a', '<i2'],
      ['b', '>f8'],
      ['c', 'S3'],
      ['d', '<u4', [2]],
      ['e', '|u1'],
    ] as const
    const next = random(5)
    const data = Uint8Array.from({ length: 22 * 123 }, () => 1 + next() * 250)
    await compare({ members, data, chunk: 50, filters: [['nbit', []]] })
  })

  test('decodes scale-offset of integers, with and without fill value', async () => {
    let fills = 0
    for (const isBig of [false, true])
      for (const [type, most] of [
        ['u1', 100],
        ['i1', 60],
        ['i2', 3000],
        ['u2', 60000],
        ['i4', 1e6],
        ['u4', 4e9],
        ['i8', 1e12],
        ['u8', 1e15],
      ] as const)
        for (const [count, chunk, bits, fill] of [
          [1000, 333, 0, undefined],
          [1000, 1000, 0, 7],
          [64, 9, 0, 0],
          [64, 64, 5, undefined],
        ] as const) {
          const values = numbers(count, most, count).map((value, i) => (fill !== undefined && i % 11 === 0 ? fill : value))
          const dtype = `${isBig ? '>' : '<'}${type}`
          const request: FilteredRequest = {
            dtype,
            data: bytesOf(type, isBig, values),
            chunk,
            filters: [['scaleoffset', [2, bits]]],
          }
          const { filters } = await compare(fill === undefined ? request : { ...request, fill })
          if (filters[0]!.parameters[7] === 1) fills++
        }
    expect(fills).toBeGreaterThan(10)
  })

  test('decodes scale-offset of constants and of all bits', async () => {
    for (const values of [new Array<number>(50).fill(42), [-(2 ** 31), 2 ** 31 - 1, 0, 5]])
      await compare({ dtype: '<i4', data: bytesOf('i4', false, values), filters: [['scaleoffset', [2, 0]]] })
    await compare({
      dtype: '>i4',
      data: bytesOf('i4', true, [-(2 ** 31), 2 ** 31 - 1, 0, 5]),
      filters: [['scaleoffset', [2, 0]]],
    })
    await compare({ dtype: '<i4', data: bytesOf('i4', false, [1, 2, 3]), filters: [['scaleoffset', [2, 32]]] })
  })

  test('decodes scale-offset of floats by powers of ten, with and without fill value', async () => {
    for (const isBig of [false, true])
      for (const type of ['f4', 'f8'] as const)
        for (const digits of [0, 2, 5, -1, -2])
          for (const fill of [undefined, -999.5]) {
            const next = random(digits + 9)
            const values = Array.from({ length: 500 }, (_, i) => (i % 13 === 0 ? (fill ?? 3) : next() * 100 - 20))
            const dtype = `${isBig ? '>' : '<'}${type}`
            const request: FilteredRequest = {
              dtype,
              data: bytesOf(type, isBig, values),
              chunk: 123,
              filters: [[6, [0, digits >>> 0]]],
            }
            await compare(fill === undefined ? request : { ...request, fill })
          }
    const huge = [1e300, -1e300, 5, 3.25]
    await compare({ dtype: '<f8', data: bytesOf('f8', false, huge), filters: [['scaleoffset', [0, 3]]] })
  })

  test('decodes lzf and bitshuffle with all compressors, blocks and remainders', async () => {
    const filters: FilteredRequest['filters'][] = [
      [[32000, []]],
      [
        ['shuffle', []],
        [32000, []],
      ],
      [
        [32000, []],
        ['fletcher32', []],
      ],
    ]
    for (const compressor of [0, 2, 3]) for (const block of [0, 8, 64, 1000]) filters.push([[32008, [block, compressor]]])
    for (const each of filters)
      for (const [type, chunk] of [
        ['u1', 5000],
        ['i2', 1003],
        ['f4', 4001],
        ['f8', 3000],
        ['i4', 5],
      ] as const)
        await compare({ dtype: `<${type}`, data: bytesOf(type, false, numbers(5000, 100, 3)), chunk, filters: each })
  })

  test('decodes chains of rare filters', async () => {
    const data = bytesOf('i4', false, numbers(3000, 5000, 8))
    for (const names of [
      ['scaleoffset', 'deflate'],
      ['scaleoffset', 'shuffle', 'deflate', 'fletcher32'],
      ['nbit', 'deflate'],
      ['szip', 'fletcher32'],
      ['shuffle', 'szip'],
    ]) {
      const parameters: Record<string, number[]> = { scaleoffset: [2, 0], deflate: [6], szip: [NN, 16] }
      await compare({ dtype: '<i4', data, chunk: 701, filters: names.map((name) => [name, parameters[name] ?? []]) })
    }
  })

  test('ends with the right bytes or a tagged error for damaged chunks', async () => {
    const data = bytesOf('i4', false, numbers(2000, 5000, 8))
    const next = random(Number(process.env['HYPERSLAB_SEED'] ?? 1))
    for (const [name, parameters] of [
      ['szip', [NN, 16]],
      ['szip', [EC, 8]],
      ['scaleoffset', [2, 0]],
      ['nbit', []],
      [32000, []],
      [32004, [64]],
      [32008, [0, 2]],
      [32008, [64, 3]],
      [32015, [3]],
      [32001, [0, 0, 0, 0, 5, 1, 0]],
    ] as const) {
      const { filters, chunks } = await python!.write({
        dtype: '<i4',
        data,
        precision: 20,
        offset: 0,
        filters: [[name, parameters]],
      })
      const { raw } = chunks[0]!
      for (let round = 0; round < 150; round++) {
        const damaged = raw.slice(0, round % 3 === 0 ? Math.floor(next() * raw.length) : raw.length)
        for (let i = 0; i < 1 + (round % 4); i++)
          damaged[Math.floor(next() * Math.min(damaged.length, round % 5 === 0 ? 30 : damaged.length))] = next() * 256
        const length = round % 7 === 0 ? Math.floor(next() * 9000) : data.length
        try {
          expect((await decode(filters, 0, 4, damaged, length)).length).toBe(length)
        } catch (error) {
          if (!isHyperslabError(error)) throw error
        }
      }
    }
  })

  test('gives workers the compiled kernels, and the same codec', async () => {
    const data = bytesOf('u2', false, numbers(900, 5000, 4))
    const { filters, chunks } = await python!.write({ dtype: '<u2', data, filters: [['szip', [NN, 16]]] })
    const codec = filterCodec('chunk', filters, 0, { bytes: 2, mostBytes: MOST_BYTES })
    expect(codec.remote).toBe(undefined)
    await codec.ready()
    const { spec } = codec.remote as { spec: Parameters<typeof openFilterSpec>[0] }
    expect(String(spec.rareModule)).toBe('[object WebAssembly.Module]')
    const other = await openFilterSpec(spec)
    const decoded = withArena((arena) => {
      const { raw } = chunks[0]!
      if (!inKernel(other)) throw new Error('it decodes outside kernel memory')
      return arena.bytes(other.decodeIn(arena, arena.put(raw), raw.length, 1800), 1800).slice()
    })
    expect(decoded).toEqual(data)
  })
})

test('ends with a tagged error for random parameters and bytes', async () => {
  const next = random(Number(process.env['HYPERSLAB_SEED'] ?? 7))
  const small = (): number => Math.floor(next() < 0.9 ? next() * 10 : next() * 2 ** 32)
  let refused = 0
  for (let round = 0; round < 3000; round++) {
    const id = [4, 5, 6, 32000, 32004, 32008][round % 6]!
    const parameters = Array.from({ length: Math.floor(next() * 12) }, small)
    const raw = Uint8Array.from({ length: Math.floor(next() * 200) }, () => (next() < 0.5 ? 0 : next() * 256))
    try {
      await decode([{ id, flags: 0, name: '', parameters }], 0, 1 + Math.floor(next() * 8), raw, Math.floor(next() * 2000))
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      refused++
    }
  }
  expect(refused).toBeGreaterThan(1000)
})
