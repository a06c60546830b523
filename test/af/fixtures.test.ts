import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { NumericDType } from '../../src/core/dtype.ts'
import { open } from '../../src/runtime/index.ts'

/** Files written by the Rust crate array-format; test/fixtures/af/README.md says what is in them. */
const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/af/${name}`, import.meta.url))

describe.each(['basic/t.af', 'basic_compact/t.af', 'v4_basic/t.af'])('%s', (name) => {
  test('reads as written', async () => {
    await using file = await open(fixture(name))
    expect(file.arrays()).toEqual(['temperature'])
    const array = file.array('temperature', 'float32')
    expect(array.dimensionNames).toEqual(['x'])
    expect((await array.get()).data).toEqual(Float32Array.of(1, 2, 3, 4))
    expect(await array.sum()).toBe(10)
    expect(await file.stats('temperature')).toEqual({ min: 1, max: 4, nullCount: 0, nanCount: 0, rowCount: 4 })
    expect(file.layers().map(({ number }) => number)).toEqual(name.includes('compact') ? [0] : [0, 1])
    expect(new Set(file.layers().map(({ version }) => version))).toEqual(new Set([name.startsWith('v4') ? 4 : 5]))
  })
})

const CORPORA = ['corpus_lz4/all.af', 'corpus_none_compact/all.af', 'v4_corpus_zstd/all.af']

const NUMERIC: [string, NumericDType, number | bigint][] = [
  ['u8', 'uint8', 255],
  ['u16', 'uint16', 0],
  ['u32', 'uint32', 0],
  ['u64', 'uint64', 2n ** 64n - 1n],
  ['i8', 'int8', -1],
  ['i16', 'int16', 0],
  ['i32', 'int32', 0],
  ['i64', 'int64', -(2n ** 63n)],
  ['f32', 'float32', Number.NaN],
  ['f64', 'float64', -0],
]

describe.each(CORPORA)('%s', (name) => {
  test.each(NUMERIC)('%s', async (arrayName, dtype, fill) => {
    await using file = await open(fixture(name))
    const array = file.array(arrayName, dtype)
    expect([array.shape, array.chunks.chunkShape]).toEqual([
      [7, 5],
      [3, 2],
    ])
    const { data } = await array.get()
    for (let y = 0; y < 7; y++) {
      for (let x = 0; x < 5; x++) {
        const written = y >= 1 && y < 6 && x >= 1 ? (y - 1) * 4 + (x - 1) : fill
        const expected = arrayName === 'f32' && y === 0 ? -1 - x : typeof fill === 'bigint' ? BigInt(written) : written
        expect(data[5 * y + x], `(${y}, ${x})`).toBe(expected)
        expect(await array.get([y, x - 5])).toBe(expected)
      }
    }
  })

  test('timestamps', async () => {
    await using file = await open(fixture(name))
    const time = file.array('time', 'timestamp_ns')
    const written = Array.from({ length: 5 }, (_, i) => 1_700_000_000_000_000_000n + BigInt(i))
    expect([...(await time.get()).data]).toEqual([...written, -(2n ** 63n)])
    expect(time.fillValue).toBe(-(2n ** 63n))
    expect(await time.max()).toBe(written[4])
    expect(await time.min()).toBe(written[0])
  })

  test('strings and binaries', async () => {
    await using file = await open(fixture(name))
    const strings = file.array('a long array name for strings', 'string')
    expect((await strings.get()).data).toEqual(['cat', '', 'elephant', 'é漢😀', 'z'])
    expect(await strings.get([-2])).toBe('é漢😀')
    expect((await file.array('bin', 'binary').get()).data).toEqual([new Uint8Array(8), new Uint8Array(0), Uint8Array.of(1, 2, 3)])
  })

  test('a large array', async () => {
    await using file = await open(fixture(name))
    const big = file.array('big', 'float32')
    expect((await big.get()).data).toEqual(Float32Array.from({ length: 10_000 }, (_, i) => i))
    expect(await big.sum()).toBe(49_995_000)
  })

  test('arrays without data, deleted arrays, attributes', async () => {
    await using file = await open(fixture(name))
    expect(file.arrays().sort()).toEqual(
      [...NUMERIC.map(([each]) => each), 'a long array name for strings', 'big', 'bin', 'time'].sort(),
    )
    // The crate's own compaction mixes up dictionaries: what it left of this attribute is the first name and
    // value of another array.
    if (name.includes('compact')) expect([...file.attrs]).toEqual([[...file.array('f32').attrs][0]])
    else expect([...file.attrs]).toEqual([['title', 't']])
    expect(await file.array('__file__').get()).toBe(0)
    await expect(async () => file.array('doomed')).rejects.toMatchObject({
      tag: 'UnknownArrayError',
      details: { array: 'doomed' },
    })
    const names = [
      'units',
      'long',
      'b',
      'i8',
      'f',
      'd',
      ...(name.startsWith('v4') ? [] : ['bin', 'bl', 'i32l', 'u64l', 'f64l', 'sl', 'bbl']),
    ]
    expect([...file.array('f32').attrs.keys()].sort()).toEqual(names.sort())
  })

  test('stored statistics are those of the data', async () => {
    await using file = await open(fixture(name))
    for (const [arrayName, dtype, fill] of NUMERIC) {
      const array = file.array(arrayName, dtype)
      const { data } = await array.get()
      // Only an explicit fill value makes an element null.
      if (array.fillValue !== undefined) expect(array.fillValue).toBe(fill)
      const values = [...data].filter((value) => value !== array.fillValue && !Number.isNaN(value))
      const stats = await file.stats(arrayName)
      expect([Number(stats.min), Number(stats.max)]).toEqual([Math.min(...values.map(Number)), Math.max(...values.map(Number))])
      expect(stats.rowCount).toBe(35)
    }
  })
})

test('attribute dictionaries that extend each other across six layers', async () => {
  await using file = await open(fixture('prefix_dictionaries/t.af'))
  const all = Object.fromEntries(file.arrays().map((name) => [name, Object.fromEntries(file.array(name).attrs)]))
  expect(all).toMatchSnapshot()
  expect(file.layers().length).toBe(6)
})

describe('what defects of the crate left behind reads as it is there', () => {
  test('attributes that it resolved in the wrong dictionary', async () => {
    await using file = await open(fixture('reference_bugs/d02/t.af'))
    expect(file.arrays().map((name) => [name, Object.fromEntries(file.array(name).attrs)])).toEqual([
      ['A', { units: 'm' }],
      ['B', { units: 'm' }],
    ])
  })

  test('chunks of a deleted array that it baked into the one defined anew', async () => {
    await using file = await open(fixture('reference_bugs/d03/t.af'))
    const [name] = file.arrays()
    expect([...(await file.array(name!, 'int32').get()).data]).toEqual([70, 80, 3, 4])
  })
})
