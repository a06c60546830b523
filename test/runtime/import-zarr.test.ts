import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Dataset } from '../../src/runtime/dataset.ts'
import { type ArrayFile, MemoryStore, open } from '../../src/runtime/index.ts'
import { type ImportZarrOptions, importZarr, openZarr } from '../../src/runtime/zarr.ts'
import type { Store } from '../../src/store/store.ts'
import { AskedStore, writeInt32 } from '../adapters/zarr/handmade.ts'

const STORES = fileURLToPath(new URL('../fixtures/zarr/', import.meta.url))
const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

/** Element `i` of an array of the fixtures, as make.py has it. */
const elements = (size: number, factor = 1, offset = 0): number[] =>
  Array.from({ length: size }, (_, i) => ((7 * i) % 101) * factor + offset)

async function imported(
  source: Parameters<typeof importZarr>[0],
  options: ImportZarrOptions = {},
): Promise<{ file: ArrayFile; done: Awaited<ReturnType<typeof importZarr>> }> {
  const target = { store: new MemoryStore(), path: 'c.af' }
  const done = await importZarr(source, target, options)
  return { file: await open(target), done }
}

const dataOf = async (file: ArrayFile, name: string): Promise<unknown[]> => [...(await file.array(name).toTensor()).data]
const attributesOf = ({ attrs }: Pick<ArrayFile, 'attrs'>) =>
  Object.fromEntries([...attrs.keys()].map((name) => [name, attrs.typed(name)]))

describe('stores as others write them', () => {
  test('ERA5: packed values stay packed, what nobody wrote is missing', async () => {
    const { file, done } = await imported(`${STORES}era5.zarr`)
    expect([done.arrays, done.warnings]).toEqual([
      ['2m_temperature', 'geopotential', 'latitude', 'level', 'longitude', 'time'],
      [],
    ])
    const z = file.array('geopotential')
    expect([z.dtype, z.shape, z.dimensionNames, z.fillValue]).toEqual([
      'int16',
      [4, 2, 7, 12],
      ['time', 'level', 'latitude', 'longitude'],
      -32767,
    ])
    const stored = elements(4 * 2 * 7 * 12, 10)
    stored[1] = -32767
    expect(await dataOf(file, 'geopotential')).toEqual(stored)
    const text = (value: string) => ({ type: 'string', value })
    expect(attributesOf(z)).toEqual({
      long_name: text('Geopotential'),
      units: text('m**2 s**-2'),
      standard_name: text('geopotential'),
      scale_factor: { type: 'float64', value: 0.25 },
      add_offset: { type: 'float64', value: 5000 },
    })
    const t2m = [...elements(2 * 84, 0.5, 250), ...new Array(2 * 84).fill(Number.NaN)]
    t2m[0] = Number.NaN
    expect(await dataOf(file, '2m_temperature')).toEqual(t2m)
    expect(file.array('2m_temperature').fillValue).toBeNaN()
    expect(await dataOf(file, 'time')).toEqual([1051896n, 1051902n, 1051908n, 1051914n])
    expect(Object.keys(attributesOf(file))).toEqual(['valid_time_start', 'valid_time_stop'])
  })

  test('CMIP6: attributes that say what is missing have the value that is', async () => {
    const { file } = await imported(`${STORES}cmip6.zarr`)
    const tas = file.array('tas')
    expect([tas.fillValue, tas.attrs.typed('missing_value')]).toEqual([
      Math.fround(1e20),
      { type: 'float32', value: Math.fround(1e20) },
    ])
    expect(await tas.max()).toBe(Math.max(...elements(239, 0.25, 240)))
    expect([file.array('height').shape, await file.array('height').get()]).toEqual([[], 2])
    expect(file.attrs.typed('realization_index')).toEqual({ type: 'int32', value: 1 })
  })

  test('HRRR: names are paths, times keep their moment, halves become floats', async () => {
    const { file } = await imported(`${STORES}hrrr.zarr`)
    expect(file.arrays()).toHaveLength(8)
    const name = '2m_above_ground/TMP/2m_above_ground/TMP'
    expect([file.array(name).dtype, await dataOf(file, name)]).toEqual(['float32', elements(54, 0.5, 270)])
    expect(await file.array('surface/GUST/time').get()).toBe(BigInt(Date.UTC(2021, 5, 1)) * 1_000_000n)
  })

  test('images: nothing is missing, what nests is text, attributes of groups have their paths', async () => {
    const { file } = await imported(`${STORES}ome05.zarr`)
    for (const level of [0, 1, 2]) {
      const size = 2 * (16 >> level) * (24 >> level)
      expect(await dataOf(file, `${level}`)).toEqual(elements(size, 3))
    }
    expect([file.array('0').fillValue, file.array('0').missing]).toEqual([undefined, { values: [], nan: false }])
    const ome = file.attrs.typed('ome')
    expect(JSON.parse(ome?.value as string)).toMatchObject({ version: '0.5', multiscales: [{ name: 'cells' }] })
    expect(JSON.parse(file.attrs.get('labels/ome') as string)).toEqual({ version: '0.5', labels: [] })
    expect((await imported(`${STORES}ome04.zarr/1`)).file.array('1').dimensionNames).toEqual(['dim_0', 'dim_1', 'dim_2'])
  })
})

test('arrays of every type are what openZarr reads, attributes what JSON has', async () => {
  const store = new MemoryStore()
  const types: Record<string, [unknown, unknown, unknown[], Uint8Array]> = {
    bool: ['bool', false, ['bytes'], Uint8Array.of(1, 0, 1)],
    int64: ['int64', 7, [{ name: 'bytes', configuration: { endian: 'big' } }], new Uint8Array(24).fill(1)],
    string: ['string', 'none', ['vlen-utf8'], Uint8Array.of(3, 0, 0, 0, 1, 0, 0, 0, 65, 0, 0, 0, 0, 2, 0, 0, 0, 195, 164)],
    binary: [
      { name: 'null_terminated_bytes', configuration: { length_bytes: 2 } },
      'AAA=',
      ['bytes'],
      Uint8Array.of(1, 2, 3, 0, 0, 0),
    ],
    span: [
      { name: 'numpy.timedelta64', configuration: { unit: 'ms', scale_factor: 10 } },
      'NaT',
      [{ name: 'bytes', configuration: { endian: 'little' } }],
      Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 2, 0, 0, 0, 0, 0, 0, 0]),
    ],
  }
  const attributes = {
    text: 'a',
    yes: true,
    whole: 3,
    long: 2 ** 40,
    integers: [1, -2],
    list: [1, 2.5],
    names: ['a', 'b'],
    none: null,
    mixed: [1, 'a'],
    _ARRAY_DIMENSIONS: ['x'],
  }
  await store.put('zarr.json', json({ zarr_format: 3, node_type: 'group', attributes: { big: 0 } }))
  for (const [name, [data_type, fill_value, codecs, bytes]] of Object.entries(types)) {
    const chunk_grid = { name: 'regular', configuration: { chunk_shape: [3] } }
    const rest = { shape: [4], chunk_grid, chunk_key_encoding: { name: 'default' }, fill_value, attributes }
    await store.put(`${name}/zarr.json`, json({ zarr_format: 3, node_type: 'array', data_type, codecs, ...rest }))
    await store.put(`${name}/c/0`, bytes)
  }
  const { file, done } = await imported({ store, path: '' })
  const texts = Object.keys(types).flatMap((name) =>
    ['none', 'mixed'].map((attribute) => `array '${name}': the attribute '${attribute}' becomes`),
  )
  expect(done.warnings.map((text) => text.replace(/ becomes .*$/, ' becomes')).sort()).toEqual(texts.sort())
  const source = await openZarr({ store, path: '' }, { kind: 'group' })
  for (const name of Object.keys(types)) {
    const [from, to] = [await source.array(name), file.array(name)]
    expect([to.dtype, to.shape, await dataOf(file, name)], name).toEqual([from.dtype, [4], [...(await from.toTensor()).data]])
  }
  expect(await dataOf(file, 'string')).toEqual(['A', '', 'ä', 'none'])
  expect(await dataOf(file, 'span')).toEqual([1n, -(2n ** 63n), 2n, -(2n ** 63n)])
  expect([file.array('span').fillValue, file.array('span').attrs.get('units')]).toEqual([-(2n ** 63n), '10 milliseconds'])
  expect(attributesOf(file.array('bool'))).toEqual({
    text: { type: 'string', value: 'a' },
    yes: { type: 'bool', value: true },
    whole: { type: 'int32', value: 3 },
    long: { type: 'int64', value: 2n ** 40n },
    integers: { type: 'int32[]', value: Int32Array.of(1, -2) },
    list: { type: 'float64[]', value: Float64Array.of(1, 2.5) },
    names: { type: 'string[]', value: ['a', 'b'] },
    none: { type: 'string', value: 'null' },
    mixed: { type: 'string', value: '[1,"a"]' },
  })
})

describe('options', () => {
  test('variables are paths; chunks go by names of dimensions', async () => {
    const { file, done } = await imported(`${STORES}hrrr.zarr`, {
      variables: ['surface/GUST/surface/GUST', 'surface/GUST/time', '/surface/GUST/time/'],
      chunks: { projection_x_coordinate: 3 },
      codec: 'none',
    })
    expect(done.arrays).toEqual(['surface/GUST/surface/GUST', 'surface/GUST/time'])
    expect(file.array('surface/GUST/surface/GUST').chunks.chunkShape).toEqual([6, 3])
    const own = await imported(`${STORES}hrrr.zarr/surface/GUST/surface/GUST/`, { variables: ['GUST'], chunkBytes: 36 })
    expect([own.done.arrays, own.file.array('GUST').chunks.chunkShape]).toEqual([['GUST'], [1, 9]])
  })

  test.each<[ImportZarrOptions, string, RegExp]>([
    [{ variables: ['tas'] }, 'UnknownArrayError', /array 'tas': there is neither an array nor a group of this name/],
    [{ variables: ['surface'] }, 'InvalidArgumentError', /it is a group, not an array/],
    [
      { chunks: { time: 1 } },
      'InvalidArgumentError',
      /there is no dimension 'time'; there are projection_x_coordinate, projection_y/,
    ],
    [
      { chunks: { projection_x_coordinate: 0 } },
      'InvalidArgumentError',
      /importZarr: the length of chunks along projection_x_coordinate/,
    ],
  ])('refuses %j and leaves nothing behind', async (options, tag, message) => {
    const store = new MemoryStore()
    const error = await importZarr(`${STORES}hrrr.zarr`, { store, path: 'c.af' }, options).catch((error: unknown) => error)
    expect(error).toMatchObject({ tag, message: expect.stringMatching(message) })
    expect(await store.list('')).toEqual([])
  })

  test('an array that cannot be read is refused, unless others are asked for', async () => {
    const store = new MemoryStore()
    await store.put('zarr.json', json({ zarr_format: 3, node_type: 'group' }))
    const plain = await writeInt32(store, 'x', { shape: [10, 9], chunks: [4, 3] })
    await store.put('y/zarr.json', json({ zarr_format: 3, node_type: 'array', shape: [-1] }))
    await expect(imported({ store, path: '' })).rejects.toMatchObject({
      tag: 'FormatError',
      message: expect.stringMatching(/^'y' cannot be copied: .*name the arrays to copy as variables/),
    })
    const { file } = await imported({ store, path: '' }, { variables: ['x'] })
    expect((await file.array('x').toTensor()).data).toEqual(plain.data)
  })

  test('each chunk of the source is read once, whatever chunks the container gets', async () => {
    const { store, inner, asked } = new AskedStore()
    const plain = await writeInt32(inner, 'x', { shape: [40, 36], chunks: [20, 18] })
    const get: Store['get'] = (key, options) => store.get!(key, options)
    const { file } = await imported({ store: { ...store, get }, path: 'x' }, { chunkBytes: 4 * 36 })
    expect((await file.array('x').toTensor()).data).toEqual(plain.data)
    expect(file.array('x').chunks.chunkShape).toEqual([1, 36])
    expect(asked.filter((each) => /^get x\/c/.test(each)).sort()).toEqual([
      'get x/c/0/0',
      'get x/c/0/1',
      'get x/c/1/0',
      'get x/c/1/1',
    ])
  })
})

test('attributes that containers have no type for become text of JSON, with a warning for each', async () => {
  const store = new MemoryStore()
  const place = { store, path: 'a.zarr' }
  const attrs = { nested: { a: 1 }, mixed: [1, 'a'], nothing: null, plain: 1, large: 2n ** 70n, larges: [1n, -(2n ** 80n)] }
  const array = { x: { dims: ['i'], data: Int8Array.of(1, 2), attrs } }
  const texts = { nested: '{"a":1}', mixed: '[1,"a"]', nothing: 'null', large: String(2n ** 70n), larges: `[1,-${2n ** 80n}]` }
  await new Dataset(array, { attrs }).write(place)
  const { file, done } = await imported(place)
  const written = { store: new MemoryStore(), path: 'w.af' }
  const direct = await new Dataset(array, { attrs }).write(written)
  for (const [copy, { warnings }] of [
    [file, done],
    [await open(written), direct],
  ] as const) {
    for (const { attrs } of [copy, copy.array('x')])
      for (const [name, text] of Object.entries(texts)) expect(attrs.get(name), name).toBe(text)
    const named = Object.keys(texts).flatMap((name) =>
      ['', "array 'x': "].map((owner) => `${owner}the attribute '${name}' becomes`),
    )
    expect(warnings.map((text) => text.replace(/ becomes .*$/, ' becomes')).sort()).toEqual(named.sort())
  }
})
