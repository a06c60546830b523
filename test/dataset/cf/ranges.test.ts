import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../../src/array/disk-array.ts'
import type { DType } from '../../../src/core/dtype.ts'
import { between } from '../../../src/dataset/between.ts'
import { Dataset } from '../../../src/dataset/dataset.ts'
import { importNetcdf } from '../../../src/dataset/import/import-netcdf.ts'
import { openDataset } from '../../../src/dataset/open/open-dataset.ts'
import { ChunkGrid } from '../../../src/grid/chunks.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { CountingSource } from '../../support/counting-source.ts'
import { utf8, type WriterAttribute, type WriterVariable, writeNetcdf } from '../../support/netcdf-writer.ts'

const none = Number.NaN

type Type = WriterAttribute['type']
const attribute = (name: string, type: Type, ...value: number[]): WriterAttribute => ({ name, type, value })
const text = (name: string, value: string): WriterAttribute => ({ name, type: 'char', value })

/** A file whose variable `v` lies along `x`, opened. */
async function open(type: Type, values: readonly number[], attributes: readonly WriterAttribute[], name = 'v'): Promise<Dataset> {
  const variables: WriterVariable[] = [{ name, type, dimensions: ['x'], attributes, values }]
  return openDataset(new Blob([writeNetcdf({ dimensions: [['x', values.length]], variables }) as never]))
}

const list = async (ds: Dataset, name = 'v'): Promise<unknown[]> =>
  Array.from((await ds.get(name).values()) as ArrayLike<unknown>)

/** The dataset as it is read again from Zarr, from a container, and from Zarr made of that. */
async function* copiesOf(ds: Dataset): AsyncGenerator<Dataset> {
  yield ds
  const store = new MemoryStore()
  await ds.write({ store, path: 'a.zarr' })
  yield await openDataset({ store, path: 'a.zarr' })
  await ds.write({ store, path: 'a.af' }, { format: 'container' })
  const container = await openDataset({ store, path: 'a.af' })
  yield container
  await container.write({ store, path: 'b.zarr' })
  yield await openDataset({ store, path: 'b.zarr' })
}

const scale = (type: Type, value: number) => attribute('scale_factor', type, value)
const offset = (type: Type, value: number) => attribute('add_offset', type, value)
const range = (type: Type, low: number, high: number) => attribute('valid_range', type, low, high)

/** The table of docs/formats.md: what is stored, the attributes, and the values, or why they are refused. */
const TABLE: [string, Type, number[], WriterAttribute[], number[] | RegExp][] = [
  ['integers bound packed values', 'short', [1, 5, 9], [scale('double', 0.5), range('short', 2, 8)], [none, 2.5, none]],
  ['wider integers bound packed values', 'short', [1, 5, 9], [scale('double', 0.5), range('int', 2, 8)], [none, 2.5, none]],
  [
    'a range of the type of the factor bounds unpacked values',
    'short',
    [1, 5, 9],
    [scale('double', 0.5), range('double', 1.25, 4.25)],
    [none, 2.5, none],
  ],
  [
    'of float32, too',
    'short',
    [-100, 0, 100],
    [scale('float', 0.5), offset('float', 10), range('float', 0, 20)],
    [none, 10, none],
  ],
  [
    'of the wider of factor and offset',
    'byte',
    [1, 5, 9],
    [scale('float', 0.5), offset('double', 0), range('double', 1.25, 4.25)],
    [none, 2.5, none],
  ],
  ['of a factor that is an integer, too', 'byte', [1, 5, 9], [scale('int', 10), range('int', 20, 80)], [none, 50, none]],
  [
    'one end alone bounds unpacked values',
    'short',
    [1, 5, 9],
    [scale('double', 0.5), attribute('valid_max', 'double', 4.25)],
    [0.5, 2.5, none],
  ],
  [
    'a negative factor turns the ends around',
    'short',
    [1, 5, 9],
    [scale('double', -0.5), range('double', -4.25, -1.25)],
    [none, -2.5, none],
  ],
  [
    'ends are let in whatever rounding does',
    'short',
    [7, 29, 58],
    [scale('double', 0.01), range('double', 0.07, 0.57)],
    [0.07, 0.29, none],
  ],
  [
    'ends of float32 are let in, too',
    'byte',
    [99, 100],
    [scale('float', Math.fround(0.01)), range('float', 1, 50)],
    [none, 100 * Math.fround(0.01)],
  ],
  [
    'floats of another type than the factor are refused',
    'short',
    [1],
    [scale('double', 0.5), range('float', 1, 4)],
    /float32.*float64.*int16.*not clear/,
  ],
  [
    'wider floats than the factor are refused',
    'short',
    [1],
    [scale('float', 0.5), range('double', 1.25, 4.25)],
    /float64.*float32.*int16.*not clear/,
  ],
  [
    'ends of two kinds are refused',
    'short',
    [1],
    [scale('float', 0.5), attribute('valid_min', 'float', 1), attribute('valid_max', 'short', 4)],
    /different types/,
  ],
  ['floats bound integers that are not packed', 'short', [1, 5, 9], [range('float', 2, 8)], [none, 5, none]],
  ['a factor of 1 packs nothing', 'short', [1, 5, 9], [scale('double', 1), range('float', 2, 8)], [none, 5, none]],
  ['bytes beyond their type are unsigned', 'byte', [0, 100, -56, -1], [range('short', 0, 254)], [0, 100, 200, none]],
  ['so are those of a greatest one', 'byte', [0, -56, -1], [attribute('valid_max', 'short', 200)], [0, 200, none]],
  [
    'so is what stands for missing ones',
    'byte',
    [0, -56, -1],
    [range('short', 0, 254), attribute('_FillValue', 'short', 255)],
    [0, 200, none],
  ],
  ['bytes that may be negative are signed', 'byte', [0, -56, -1], [range('short', -100, 200)], [0, -56, -1]],
  ['shorts beyond their type are not', 'short', [0, -56], [range('int', 0, 40_000)], [0, none]],
  [
    'unsigned bytes have ends stored as they are',
    'byte',
    [0, -56, -1],
    [text('_Unsigned', 'true'), range('byte', 0, -2)],
    [0, 200, none],
  ],
  [
    'unsigned bytes have ends of wider types',
    'byte',
    [0, -56, -1],
    [text('_Unsigned', 'true'), range('short', -1, 254)],
    [0, 200, none],
  ],
  [
    'unsigned bytes are unpacked',
    'byte',
    [0, -56, -1],
    [text('_Unsigned', 'true'), scale('float', 0.5), range('float', -1.5, 100.5)],
    [0, 100, none],
  ],
  ['NaN bounds nothing', 'float', [1, 5], [attribute('valid_min', 'float', none), attribute('valid_max', 'float', 3)], [1, none]],
]

describe('the valid range', () => {
  test.each(TABLE)('%s, and copies are read the same', async (_, type, values, attributes, wanted) => {
    const ds = await open(type, values, attributes)
    if (wanted instanceof RegExp) {
      expect(ds.decodeErrors.get('v')?.message).toMatch(wanted)
      return
    }
    expect([...ds.decodeErrors.values()]).toEqual([])
    for await (const copy of copiesOf(ds)) {
      expect([...copy.decodeErrors.values()]).toEqual([])
      const found = (await list(copy)) as number[]
      expect(found.length).toBe(wanted.length)
      for (const [i, value] of wanted.entries()) {
        if (Number.isNaN(value)) expect(found[i]).toBeNaN()
        else expect(found[i]).toBeCloseTo(value, 6)
      }
    }
  })

  test('of JSON bounds unpacked values where its numbers are written as floats', async () => {
    const zarr = (text: string): MemoryStore => {
      const store = new MemoryStore()
      const document = `{"zarr_format": 3, "node_type": "array", "shape": [3], "data_type": "int16", "dimension_names": ["x"],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3]}}, "fill_value": 0, "codecs": [{"name": "bytes",
        "configuration": {"endian": "little"}}], "chunk_key_encoding": {"name": "default"}, "attributes": {"scale_factor": 0.5, ${text}}}`
      const objects = { 'zarr.json': utf8('{"zarr_format": 3, "node_type": "group"}'), 'v/zarr.json': utf8(document) }
      for (const [key, bytes] of Object.entries({ ...objects, 'v/c/0': [1, 0, 5, 0, 9, 0] }))
        void store.put(`a.zarr/${key}`, Uint8Array.from(bytes))
      return store
    }
    for (const [text, wanted] of [
      ['"valid_range": [1.0, 4.0]', [none, 2.5, none]],
      ['"valid_range": [2, 8]', [none, 2.5, none]],
      ['"valid_max": 4e0', [0.5, 2.5, none]],
      ['"valid_max": 8', [0.5, 2.5, none]],
      // JSON has no infinities, so writers have them as texts; only ranges of floats have any.
      ['"valid_min": "Infinity"', [none, none, none]],
      ['"valid_max": "-inf"', [none, none, none]],
      ['"valid_range": ["-Infinity", 4]', [0.5, 2.5, none]],
      ['"valid_range": [2, "+inf"]', [none, 2.5, 4.5]],
      ['"valid_min": "infinite", "valid_max": 8', [0.5, 2.5, none]],
    ] as const)
      expect(await list(await openDataset({ store: zarr(text), path: 'a.zarr' }))).toEqual(wanted)
  })

  test('takes no label of a dimension away', async () => {
    const variables: WriterVariable[] = [
      { name: 'lat', type: 'float', dimensions: ['lat'], attributes: [range('float', -89, 89)], values: [90, 0, -90] },
      { name: 'v', type: 'float', dimensions: ['lat'], attributes: [attribute('valid_max', 'float', 2)], values: [1, 2, 3] },
    ]
    const ds = await openDataset(new Blob([writeNetcdf({ dimensions: [['lat', 3]], variables }) as never]))
    for await (const copy of copiesOf(ds)) {
      expect(await list(copy, 'lat')).toEqual([90, 0, -90])
      expect(
        Array.from(
          (await copy
            .get('v')
            .sel({ lat: between(60, 90) })
            .values()) as ArrayLike<number>,
        ),
      ).toEqual([1])
      expect(await list(copy)).toEqual([1, 2, none])
    }
  })

  test('is written again with values that were selected', async () => {
    const ds = await open('byte', [0, 100, -56, -1], [range('short', 0, 254)])
    const store = new MemoryStore()
    await ds.isel({ x: [2, 1] }).write({ store, path: 'a.zarr' })
    expect(await list(await openDataset({ store, path: 'a.zarr' }))).toEqual([200, 100])
  })
})

describe('text where numbers belong', () => {
  test.each([
    ['missing_value', '-999'],
    ['valid_range', '0, 100'],
    ['valid_min', '0'],
  ])('in %s marks nothing, with a warning, and is copied', async (name, value) => {
    const ds = await open('float', [-999, 5, 280], [text(name, value)])
    for await (const copy of copiesOf(ds)) {
      expect(await list(copy)).toEqual([-999, 5, 280])
      expect(copy.warnings).toEqual([expect.stringMatching(new RegExp(`^'v': ${name} is no number.*"${value}"`))])
    }
    const { warnings } = await ds.write({ store: new MemoryStore(), path: 'a.zarr' })
    expect(warnings).toEqual(ds.warnings)
  })

  test('in scale_factor leaves out its variable alone, with the reason', async () => {
    const variables: WriterVariable[] = [
      { name: 'v', type: 'short', dimensions: ['x'], attributes: [text('scale_factor', '0.1')], values: [1, 2] },
      { name: 'w', type: 'short', dimensions: ['x'], values: [1, 2] },
    ]
    const ds = await openDataset(new Blob([writeNetcdf({ dimensions: [['x', 2]], variables }) as never]))
    expect([[...ds.decodeErrors.keys()], await list(ds, 'w')]).toEqual([['v'], [1, 2]])
    const { arrays, warnings } = await ds.write({ store: new MemoryStore(), path: 'a.zarr' })
    expect([arrays, warnings]).toEqual([['w'], [expect.stringMatching(/'v' is left out: .*scale_factor/)]])
  })

  test('is imported as it is stored, with a warning', async () => {
    const variables: WriterVariable[] = [
      { name: 'v', type: 'short', dimensions: ['x'], attributes: [text('scale_factor', '0.1')], values: [1, 2] },
      { name: 'w', type: 'short', dimensions: ['x'], attributes: [text('missing_value', '-9')], values: [1, 2] },
    ]
    const store = new MemoryStore()
    await store.put('a.nc', writeNetcdf({ dimensions: [['x', 2]], variables }))
    const { arrays, warnings } = await importNetcdf({ store, path: 'a.nc' }, { store, path: 'a.af' })
    expect(arrays).toEqual(['v', 'w'])
    expect(warnings).toEqual([
      expect.stringMatching(/'v' is copied as it is stored.*scale_factor/),
      expect.stringMatching(/'w': missing_value/),
    ])
    const ds = await openDataset({ store, path: 'a.af' })
    expect([[...ds.decodeErrors.keys()], await list(ds, 'w')]).toEqual([['v'], [1, 2]])
  })
})

/** An array along `x` as another format has it. */
function raw(dtype: DType, data: ArrayLike<unknown>, attrs: Record<string, unknown>): Promise<Dataset> {
  const shape = [data.length]
  const attributes = new Map(Object.entries(attrs))
  const source = new CountingSource({ dtype, shape, data } as never, ChunkGrid.regular(shape, shape), { attrs: attributes })
  return Dataset.from({ variables: [{ name: 'v', array: new DiskArray(source as never), dims: ['x'] }] })
}

test('packed floats have a range of their own type, which JSON does not tell', async () => {
  const ds = await open('float', [1, 5, 9], [scale('float', 2), range('float', 2, 8)])
  expect(await list(ds)).toEqual([none, 10, none])
  const store = new MemoryStore()
  await ds.write({ store, path: 'a.zarr' })
  expect((await openDataset({ store, path: 'a.zarr' })).decodeErrors.get('v')?.message).toMatch(/it is not clear/)
})

test('booleans with missing values are read, with a warning', async () => {
  const attributes = [text('dtype', 'bool'), attribute('_FillValue', 'byte', -127), attribute('missing_value', 'byte', 5)]
  for await (const copy of copiesOf(await open('byte', [0, 1, -127, 5], attributes))) {
    expect([copy.get('v').dtype, await list(copy)]).toEqual(['bool', [0, 1, 1, 1]])
    expect(copy.warnings).toEqual([expect.stringMatching(/booleans cannot be missing, so _FillValue and missing_value/)])
    expect(copy.get('v').attrs).toEqual({})
  }
})

describe('_Unsigned', () => {
  test.each(['true', 'True', 'TRUE', 'true\0'])('%j reads signed bytes as unsigned ones', async (value) => {
    expect(await list(await raw('int8', Int8Array.of(-1, 1), { _Unsigned: value }))).toEqual([255, 1])
  })

  test.each(['false', 'False', 'FALSE'])('%j reads unsigned bytes as signed ones', async (value) => {
    expect(await list(await raw('uint8', Uint8Array.of(255, 1, 128), { _Unsigned: value }))).toEqual([-1, 1, -128])
    expect(await list(await raw('uint16', Uint16Array.of(65535, 1), { _Unsigned: value, scale_factor: 0.5 }))).toEqual([
      -0.5, 0.5,
    ])
  })

  test('takes fill values of either sign', async () => {
    for (const _FillValue of [255, -1])
      expect(await list(await raw('int8', Int8Array.of(-1, -2), { _Unsigned: 'true', _FillValue }))).toEqual([none, 254])
    for (const missing_value of [255, -1])
      expect(await list(await raw('uint8', Uint8Array.of(255, 254), { _Unsigned: 'false', missing_value }))).toEqual([none, -2])
  })

  test('is written again, with values that were computed', async () => {
    const ds = await raw('uint8', Uint8Array.of(255, 1, 200), { _Unsigned: 'false', _FillValue: -56 })
    const store = new MemoryStore()
    await ds.isel({ x: [2, 0] }).write({ store, path: 'a.zarr' })
    expect(await list(await openDataset({ store, path: 'a.zarr' }))).toEqual([none, -1])
    await ds.write({ store, path: 'b.zarr' }, { encoding: { v: { dtype: 'uint8', _Unsigned: 'false', _FillValue: 128 } } })
    expect(await list(await openDataset({ store, path: 'b.zarr' }))).toEqual([-1, 1, none])
  })

  test.each([
    ['beyond both signs', { valid_range: Uint8Array.of(0, 200) }, [0, 127, -128, -1], [0, 127, none, none]],
    ['of the stored type', { valid_range: Uint8Array.of(200, 10) }, [-56, -57, 10, 11], [-56, none, 10, none]],
    ['of a wider type', { valid_max: Int16Array.of(200) }, [0, -1], [0, -1]],
  ])('false has ranges of signed values: %s', async (_, attrs, values, wanted) => {
    expect(await list(await raw('uint8', Uint8Array.from(values), { _Unsigned: 'false', ...attrs }))).toEqual(wanted)
  })

  test.each(['maybe', 'yes', '', 1, 0])('of another value is ignored with a warning: %j', async (_Unsigned) => {
    for await (const copy of copiesOf(await raw('int8', Int8Array.of(-1, 1, 7), { _Unsigned, _FillValue: 7 }))) {
      expect(await list(copy)).toEqual([-1, 1, none])
      expect(copy.warnings).toEqual([expect.stringMatching(/_Unsigned is neither true nor false/)])
    }
  })
})

describe('the smallest integer of 64 bits', () => {
  const NAT = -(2n ** 63n)

  test.each([{ units: 'hours' }, { units: 'hours', dtype: 'timedelta64[ns]' }, { units: 'days', _FillValue: -1n }])(
    'is no length of time by %o',
    async (attrs) => {
      const v = (await raw('int64', BigInt64Array.of(1n, NAT, 3n), attrs)).get('v')
      expect([await v.mean().get(), await v.min().get(), await v.count().get()].map(Number)).toEqual([2, 1, 2])
    },
  )

  test('is a number without units of time', async () => {
    const v = (await raw('int64', BigInt64Array.of(1n, NAT), { units: 'm' })).get('v')
    expect([await v.min().get(), Number(await v.count().get())]).toEqual([NAT, 2])
  })

  test.each(['standard', '360_day'])('is no time of the calendar %s', async (calendar) => {
    const attrs = { units: 'days since 2000-01-01', calendar, _FillValue: -7n }
    const v = (await raw('int64', BigInt64Array.of(1n, NAT, -7n), attrs)).get('v')
    expect((await v.dates()).map((date) => (date === null ? null : JSON.stringify(date).slice(1, 11)))).toEqual([
      '2000-01-02',
      null,
      null,
    ])
    expect(Number(await v.count().get())).toBe(1)
  })

  test('of several axes is no time, and copies are read the same', async () => {
    const data = BigInt64Array.of(1n, NAT, NAT, 3n)
    const source = new CountingSource({ dtype: 'int64', shape: [2, 2], data } as never, ChunkGrid.regular([2, 2], [1, 2]), {
      attrs: new Map([['units', 'days since 2000-01-01']]),
    })
    const ds = await Dataset.from({ variables: [{ name: 'v', array: new DiskArray(source as never), dims: ['y', 'x'] }] })
    for await (const copy of copiesOf(ds)) {
      const v = copy.get('v')
      expect((await v.dates()).map((date) => date && String(JSON.stringify(date)).slice(1, 11))).toEqual([
        '2000-01-02',
        null,
        null,
        '2000-01-04',
      ])
      expect(await v.max().get()).toBe(946_944_000_000_000_000n)
      expect(Array.from(await v.min({ axis: 'x' }).values(), String)).toEqual(['946771200000000000', '946944000000000000'])
    }
  })
})

test.each([
  ['latin-1', [0xc3, 0xa9], 'Ã©', 0],
  ['ISO-8859-1', [0x80, 0xe9], '\u0080é', 0],
  ['windows-1251', [0xcf, 0xe9], 'Пй', 0],
  ['shift_jis', [0x82, 0xa0], 'あ', 0],
  ['utf-8', [0xc3, 0xa9], 'é', 0],
  ['klingon', [0xc3, 0xa9], 'é', 1],
])('text has the encoding that _Encoding names: %s', async (encoding, values, expected, warnings) => {
  const variables: WriterVariable[] = [{ name: 'v', type: 'char', dimensions: ['n'], attributes: [text('_Encoding', encoding)], values }] // biome-ignore format: one line
  const ds = await openDataset(new Blob([writeNetcdf({ dimensions: [['n', 2]], variables }) as never]))
  for await (const copy of copiesOf(ds)) expect(await copy.get('v').get()).toBe(expected)
  expect(ds.warnings).toHaveLength(warnings)
})
