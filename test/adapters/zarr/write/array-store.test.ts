import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ZarrArray, ZarrGroup } from '../../../../src/adapters/zarr/group.ts'
import { DiskArray } from '../../../../src/array/disk-array.ts'
import { missingElements } from '../../../../src/array/missing.ts'
import { type DType, fillElement, type ScalarOf } from '../../../../src/core/dtype.ts'
import { sizeOf } from '../../../../src/core/shape.ts'
import { ChunkGrid } from '../../../../src/grid/chunks.ts'
import { broadcast } from '../../../../src/runtime/index.ts'
import { asZarrStore, openZarr, type ZarrStoreOfArrays } from '../../../../src/runtime/zarr.ts'
import { dtypes, elements, mixedGrids, numbered, plains, selections, shapes } from '../../../support/arbitraries.ts'
import { runs } from '../../../support/budget.ts'
import { CountingSource } from '../../../support/counting-source.ts'
import { plainGet } from '../../../support/oracle.ts'

const { loadPeer } = await import(new URL('../../../../bench/peers.mjs', import.meta.url).href)
const zarrita = await loadPeer('zarrita')
if (zarrita === undefined && process.env['CI'] === 'true') throw new Error('tests need zarrita')

const cases = fc.tuple(shapes, dtypes).chain(([shape, dtype]) =>
  fc.record({
    plain: plains(dtype, shape),
    grid: mixedGrids(shape),
    selection: selections(shape),
    fillValue: fc.option(elements(dtype) as fc.Arbitrary<ScalarOf<DType>>, { nil: undefined }),
  }),
)

const open = (store: ZarrStoreOfArrays): Promise<ZarrGroup> => openZarr(store, { kind: 'group' })
const listOf = (result: unknown): unknown[] =>
  typeof result === 'object' && result !== null && 'data' in result
    ? [...(result as { data: ArrayLike<unknown> & Iterable<unknown> }).data]
    : [result]

/** Counts up in C order: rows of ten. */
const ramp = (shape: readonly number[], chunks: readonly number[], options: object = {}): CountingSource<'int16'> =>
  new CountingSource(numbered('int16', shape), ChunkGrid.regular(shape, chunks), options)

describe('arrays as a Zarr store', () => {
  test('read as they are, of every type and in chunks of any kind', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ plain, grid, selection, fillValue }) => {
        const source = new CountingSource<DType>(plain, grid, fillValue === undefined ? {} : { fillValue })
        const group = await open(asZarrStore({ 'a/x': new DiskArray(source) }))
        const array = (await group.array('a/x')) as ZarrArray
        expect(array.dtype).toBe(plain.dtype)
        expect(array.shape).toEqual(plain.shape)
        const expected = plainGet(plain, selection)
        const result = listOf(await array.get(selection))
        expect(result.map((value) => (typeof value === 'boolean' ? Number(value) : value))).toEqual([...expected.data])
        const { dtype } = plain
        // xarray opens no store that names missing bytes.
        const missing = dtype === 'binary' ? { values: [], nan: false } : missingElements(source)
        if (dtype !== 'timestamp_ns') expect(missingElements(array.source)).toEqual(missing)
        // Once, and in boxes that are chunks of the store.
        expect(new Set(source.reads.map((box) => JSON.stringify(box))).size).toBe(source.reads.length)
      }),
      { numRuns: runs(500) },
    )
  })

  test('give chunk by chunk what is asked for, edges filled up, and nothing else', async () => {
    const source = ramp([5, 7], [2, 3], { fillValue: -1 })
    const store = asZarrStore({ x: new DiskArray(source), 'deep/er/y': new DiskArray(ramp([], [])) })
    expect(await store.metadataKeys()).toEqual([
      'zarr.json',
      'deep/zarr.json',
      'deep/er/zarr.json',
      'x/zarr.json',
      'deep/er/y/zarr.json',
    ])
    for (const key of await store.metadataKeys()) expect(await store.get(`/${key}`)).toBeInstanceOf(Uint8Array)
    expect(source.reads).toEqual([])
    const edge = await store.get('/x/c/2/2')
    expect([...new Int16Array(edge!.slice().buffer)]).toEqual([numbered('int16', [5, 7]).data[34], -1, -1, -1, -1, -1])
    expect(source.reads).toEqual([[{ start: 4, stop: 5, step: 1 }, { start: 6, stop: 7, step: 1 }]]) // biome-ignore format: one line
    expect(await store.getRange('/x/c/2/2', { offset: 2, length: 4 })).toEqual(edge!.subarray(2, 6))
    expect(await store.getRange('/x/c/2/2', { suffixLength: 3 })).toEqual(edge!.subarray(9))
    expect((await store.get('/deep/er/y/c'))!.length).toBe(2)
    source.reads.length = 0
    const absent = [
      '',
      'x',
      'c/0',
      'x/c',
      'x/c/0',
      'x/c/0/0/0',
      'x/c/00/0',
      'x/c/-1/0',
      'x/c/3/0',
      'x/c/0/1e0',
      'x/.zarray',
      'y/zarr.json',
      'x/zarr.json/',
      'deep/c/0',
    ]
    for (const key of absent) {
      expect(await store.get(`/${key}`), key).toBeUndefined()
      expect(await store.getRange(`/${key}`, { suffixLength: 1 }), key).toBeUndefined()
    }
    expect(source.reads).toEqual([])
  })

  test('pass on attributes, names of dimensions and all values that are missing', async () => {
    const attrs = new Map<string, unknown>([['units', 'K'], ['_ARRAY_DIMENSIONS', ['a', 'b']], ['valid_max', Number.POSITIVE_INFINITY]]) // biome-ignore format: one line
    const source = ramp([4, 5], [2, 5], { fillValue: 3, attrs, dimensionNames: ['y', 'x'] })
    const missing = { values: [7, 3], nan: false }
    const group = await open(
      asZarrStore({ x: new DiskArray(Object.assign(source, { missing })) }, { attributes: { title: 'T' } }),
    )
    const x = await group.array('x')
    expect(group.attrs.get('title')).toBe('T')
    expect([...x.attrs!.keys()].sort()).toEqual(['_FillValue', 'missing_value', 'units', 'valid_max'])
    expect(x.attrs!.get('_FillValue')).toBe(3)
    expect(x.attrs!.get('valid_max')).toBe('Infinity')
    expect(x.dimensionNames).toEqual(['y', 'x'])
    expect([...missingElements(x.source).values].sort()).toEqual([3, 7])
    expect(await x.sum()).toBe(190 - 10)
  })

  test('may be lazy: an anomaly of two arrays is computed for the chunk that is asked for', async () => {
    const [a, b] = [ramp([6, 4], [2, 4]), ramp([6, 4], [2, 4])]
    const anomaly = broadcast((x, y) => x - 2 * y, new DiskArray(a), new DiskArray(b))
    const store = asZarrStore({ anomaly })
    const bytes = await store.get('/anomaly/c/1/0')
    expect([a.reads.length, b.reads.length]).toEqual([1, 1])
    expect([...new Int16Array(bytes!.slice().buffer)]).toEqual([...numbered('int16', [6, 4]).data.slice(8, 16)].map((x) => -x))
  })

  test('have a fill value that is missing, where arrays have none: maps leave out what equals it', async () => {
    const zeros = { dtype: 'float32' as const, shape: [3], data: Float32Array.of(0, 1, Number.NaN) }
    const of = (facts: object): DiskArray<'float32'> =>
      new DiskArray(Object.assign(new CountingSource(zeros, ChunkGrid.regular([3], [2])), facts))
    const group = await open(
      asZarrStore({
        difference: broadcast((a, b) => a - b, of({}), of({ missing: { values: [], nan: true } })),
        plain: of({}),
        marked: of({ missing: { values: [-9], nan: false } }),
        own: of({ fillValue: 4 }),
        whole: new DiskArray(ramp([3], [2])),
      }),
    )
    const fillValues = []
    for (const name of await group.arrays()) fillValues.push([name, (await group.array(name)).fillValue])
    expect(Object.fromEntries(fillValues)).toEqual({
      difference: Number.NaN,
      plain: Number.NaN,
      marked: -9,
      own: 4,
      whole: 0,
    })
    expect([...(await (await group.array('plain')).toTensor()).data]).toEqual([0, 1, Number.NaN])
    expect((await group.array('plain')).missing).toEqual({ values: [], nan: false })
  })

  test('of names that cannot be paths, or of what is no array, are refused', async () => {
    const x = new DiskArray(ramp([2], [2]))
    for (const [arrays, text] of [
      [{ '': x }, 'not empty'],
      [{ 'a//b': x }, 'is not a path of names'],
      [{ '../b': x }, 'is not a path of names'],
      [{ 'a/zarr.json': x }, 'keeps for itself'],
      [{ __x: x }, 'keeps for itself'],
      [{ a: x, 'a/b': x }, "'a' is an array"],
    ] as const) {
      const read = asZarrStore(arrays as never).get('/zarr.json')
      await expect(read).rejects.toMatchObject({ tag: 'InvalidArgumentError', message: expect.stringContaining(text) })
    }
    expect(() => asZarrStore({ x: {} as never })).toThrow('x must be a DiskArray')
    expect(() => asZarrStore([] as never)).toThrow('plain object')
    expect(() => asZarrStore({ x }, { level: 2 } as never)).toThrow("no option 'level'")
  })

  test.skipIf(zarrita === undefined)('are opened by zarrita', async () => {
    const source = ramp([5, 7], [2, 3], { fillValue: -1, dimensionNames: ['y', 'x'] })
    const store = asZarrStore({ 'a/x': new DiskArray(source) })
    const root = zarrita.root(store)
    const array = await zarrita.open.v3(root.resolve('a/x'), { kind: 'array' })
    expect((await zarrita.get(array)).data).toEqual(numbered('int16', [5, 7]).data)
    expect(array.dimensionNames).toEqual(['y', 'x'])
  })
})

describe('levels', () => {
  const SHAPE = [2, 5, 7]
  const element = (t: number, y: number, x: number): number => (t * 5 + y) * 7 + x
  /** The mean of the elements that a level's is made of, of those that are not missing. */
  const mean = (t: number, y: number, x: number, factor: number, isMissing = (_: number): boolean => false): number => {
    const found: number[] = []
    for (let i = y * factor; i < Math.min(5, (y + 1) * factor); i++)
      for (let j = x * factor; j < Math.min(7, (x + 1) * factor); j++)
        if (!isMissing(element(t, i, j))) found.push(element(t, i, j))
    return found.length === 0 ? Number.NaN : found.reduce((a, b) => a + b) / found.length
  }
  const expected = (factor: number, of: (t: number, y: number, x: number) => number): number[] => {
    const [rows, columns] = [Math.ceil(5 / factor), Math.ceil(7 / factor)]
    return Array.from({ length: 2 * rows * columns }, (_, at) =>
      of(Math.floor(at / rows / columns), Math.floor(at / columns) % rows, at % columns),
    )
  }
  const counted = (options: object = {}): DiskArray => {
    const data = Float32Array.from({ length: sizeOf(SHAPE) }, (_, i) => i)
    const plain = { dtype: 'float32' as const, shape: SHAPE, data }
    const dimensionNames = ['time', 'lat', 'lon']
    return new DiskArray(new CountingSource(plain, ChunkGrid.regular(SHAPE, [1, 2, 7]), { dimensionNames, ...options }))
  }

  test('of one array are an image, whose levels are means', async () => {
    const group = await open(asZarrStore({ tas: counted() }, { levels: 3, attributes: { title: 'T' } }))
    const [pyramid] = await group.levels()
    expect(pyramid!.name).toBe('tas')
    expect(pyramid!.axes).toEqual([
      { name: 'time', type: 'time' },
      { name: 'lat', type: 'space' },
      { name: 'lon', type: 'space' },
    ])
    for (const [level, { node, scale, translation }] of pyramid!.levels.entries()) {
      const factor = 2 ** level
      expect(scale).toEqual([1, factor, factor])
      expect(translation).toEqual([0, (factor - 1) / 2, (factor - 1) / 2])
      const array = node as ZarrArray
      expect(array.dtype).toBe('float32')
      const { data } = await array.toTensor()
      expect([...data]).toEqual(expected(factor, (t, y, x) => Math.fround(mean(t, y, x, factor))))
    }
    expect(pyramid!.levels).toHaveLength(3)
    expect(group.attrs.get('title')).toBe('T')
  })

  test('of several are groups with their coordinates; flags give elements, and what is missing counts for nothing', async () => {
    const lat = new DiskArray(new CountingSource({ dtype: 'float64', shape: [5], data: Float64Array.of(0, 1, 2, 3, 4) }, ChunkGrid.regular([5], [5]), { dimensionNames: ['lat'] })) // biome-ignore format: one line
    const flags = counted({ attrs: new Map([['flag_values', [0, 1]]]) })
    const tas = counted({ fillValue: 8 })
    const group = await open(asZarrStore({ tas, lat, flags }, { levels: 2 }))
    const [pyramid] = await group.levels()
    expect(pyramid!.levels.map(({ scale, translation }) => ({ scale, translation }))).toEqual([
      { scale: undefined, translation: undefined },
      { scale: [2, 2], translation: [0.5, 0.5] },
    ])
    const coarse = pyramid!.levels[1]!.node as ZarrGroup
    const read = async (name: string): Promise<unknown[]> => [...(await (await coarse.array(name)).toTensor()).data]
    expect(await read('lat')).toEqual([0.5, 2.5, 4])
    expect(await read('flags')).toEqual(expected(2, (t, y, x) => element(t, 2 * y, 2 * x)))
    expect(await read('tas')).toEqual(expected(2, (t, y, x) => Math.fround(mean(t, y, x, 2, (value) => value === 8))))
  })

  test('keep the type of integers, and the value of what is missing', async () => {
    const data = Int16Array.of(-9, -9, 1, 2, -9, -9, 4, 4)
    const source = new CountingSource({ dtype: 'int16', shape: [2, 4], data }, ChunkGrid.regular([2, 4], [2, 4]), {
      fillValue: -9,
    })
    const group = await open(asZarrStore({ x: new DiskArray(source) }, { levels: 2 }))
    const coarse = await group.array('1')
    expect(coarse.dtype).toBe('int16')
    expect([...(await coarse.toTensor()).data]).toEqual([-9, 3])
    expect(fillElement('int16', coarse.fillValue as number)).toBe(-9)
  })

  test('have the bounds of all cells that become one, and longitudes between their neighbours across the seam', async () => {
    const line = (name: string, values: number[], attrs: Record<string, unknown> = {}, columns = 0): DiskArray => {
      const shape = columns === 0 ? [values.length] : [values.length / columns, columns]
      const dimensionNames = columns === 0 ? [name] : [name, 'vertex']
      const plain = { dtype: 'float64' as const, shape, data: Float64Array.from(values) }
      return new DiskArray(
        new CountingSource(plain, ChunkGrid.regular(shape, shape), { dimensionNames, attrs: new Map(Object.entries(attrs)) }),
      )
    }
    const group = await open(
      asZarrStore(
        {
          tas: counted(),
          lat: line('lat', [80, 40, 0, -40, -80], { bounds: 'lat_bnds' }),
          // The first end of each is its northern one, of the other its southern one.
          lat_bnds: line('lat', [90, 60, 60, 20, 20, -20, -20, -60, -60, -90], {}, 2),
          lon: line('lon', [359, 1, 61, 121, 179, -179, -60], { units: 'degrees_east', bounds: 'lon_bnds' }),
          lon_bnds: line('lon', [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7], {}, 2),
          track: line('lon', [10, Number.NaN, Number.NaN, Number.NaN, 20, 30, 5], { units: 'degrees_east' }),
          north: line('lat', [0, 0, 0, 0, 0], { bounds: 'north_bnds' }),
          north_bnds: line('lat', [60, 90, 20, 60, -20, 20, -60, -20, -90, -60], {}, 2),
          corners: line(
            'lat',
            Array.from({ length: 20 }, (_, i) => i),
            {},
            4,
          ),
          area: line('lat', [1, 1, 1, 1, 1], { bounds: 'corners' }),
        },
        { levels: 3 },
      ),
    )
    const [pyramid] = await group.levels()
    const read = async (level: number, name: string): Promise<unknown> => {
      const array = await (pyramid!.levels[level]!.node as ZarrGroup).array(name)
      return [...(await array.toTensor()).data]
    }
    expect(await read(1, 'lat_bnds')).toEqual([90, 20, 20, -60, -60, -90])
    expect(await read(1, 'north_bnds')).toEqual([20, 90, -60, 20, -90, -60])
    expect(await read(2, 'lat_bnds')).toEqual([90, -60, -60, -90])
    expect(await read(1, 'lon_bnds')).toEqual([0, 2, 2, 4, 4, 6, 6, 7])
    expect(await read(1, 'lon')).toEqual([360, 91, 180, -60])
    expect(await read(2, 'lon')).toEqual([405.5, 240])
    expect(await read(1, 'track')).toEqual([10, Number.NaN, 25, 5])
    expect(await read(0, 'corners')).toHaveLength(20)
    await expect(read(1, 'corners')).rejects.toThrow('corners')
  })

  test('need two dimensions, and names of them where there are several arrays', async () => {
    const line = new DiskArray(ramp([4], [4]))
    const unnamed = new DiskArray(ramp([4, 4], [4, 4]))
    await expect(asZarrStore({ line }, { levels: 2 }).get('/zarr.json')).rejects.toThrow('two dimensions')
    await expect(asZarrStore({ unnamed, line }, { levels: 2 }).get('/zarr.json')).rejects.toThrow('names of dimensions')
    expect(() => asZarrStore({ line }, { levels: 0 })).toThrow('levels')
  })
})
