import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { generate } from '../../src/array/combine.ts'
import { DiskArray } from '../../src/array/disk-array.ts'
import type { NamedValues } from '../../src/array/source.ts'
import { allocate, type DType, isBigInt, isFloat, type NumericDType } from '../../src/core/dtype.ts'
import { sizeOf } from '../../src/core/shape.ts'
import type { RawVariable } from '../../src/dataset/cf/decode.ts'
import type { DataArray } from '../../src/dataset/data-array.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { slice } from '../../src/grid/slice.ts'
import { open } from '../../src/runtime/index.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { CountingSource } from '../support/counting-source.ts'

/** Values of attributes with the types they are stored in, as NetCDF and containers tell them. */
class Typed implements NamedValues {
  readonly #values: Readonly<Record<string, readonly [string, unknown]>>
  constructor(values: Readonly<Record<string, readonly [string, unknown]>>) {
    this.#values = values
  }
  get(name: string): unknown {
    return this.#values[name]?.[1]
  }
  typed(name: string): { type: string; value: unknown } | undefined {
    const found = this.#values[name]
    return found && { type: found[0], value: found[1] }
  }
  keys(): string[] {
    return Object.keys(this.#values)
  }
}

type Attributes = Readonly<Record<string, readonly [string, unknown]>>

function rawVariable(
  name: string,
  dims: readonly string[],
  shape: readonly number[],
  dtype: DType,
  data: ArrayLike<unknown>,
  attrs: Attributes = {},
): RawVariable {
  const own = allocate(dtype, data.length)
  for (let i = 0; i < data.length; i++) own[i] = data[i] as never
  const grid = ChunkGrid.regular(shape, shape.map((length) => Math.max(1, Math.ceil(length / 2)))) // biome-ignore format: one line
  const source = new CountingSource({ dtype, shape, data: own } as never, grid, { attrs: new Typed(attrs), dimensionNames: dims })
  return { name, array: new DiskArray(source as never), dims }
}

const LENGTHS: Readonly<Record<string, number>> = { time: 5, lat: 4, x: 3 }

const integers: Partial<Record<DType, readonly [number, number]>> = {
  int8: [-128, 127],
  int16: [-32768, 32767],
  int32: [-2147483648, 2147483647],
  uint8: [0, 255],
  uint16: [0, 65535],
  uint32: [0, 4294967295],
  int64: [-(2 ** 53), 2 ** 53],
  uint64: [0, 2 ** 53],
}

/** A variable packed in one of the ways that CF knows. */
const packedVariables = (name: string, needsFill: boolean): fc.Arbitrary<RawVariable> =>
  fc
    .record({
      dtype: fc.constantFrom<NumericDType>(
        'int8',
        'int16',
        'int32',
        'uint8',
        'uint16',
        'uint32',
        'int64',
        'uint64',
        'float32',
        'float64',
      ),
      dims: fc.subarray(['time', 'lat', 'x']),
      scale: fc.option(fc.constantFrom(0.01, 0.5, -2, 1e-3)),
      offset: fc.option(fc.constantFrom(280, -1.5)),
      floats: fc.constantFrom('float32', 'float64'),
      fill: fc.boolean(),
      missing: fc.constantFrom('none', 'one', 'list'),
      unsigned: fc.boolean(),
      range: fc.boolean(),
      picks: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 60, maxLength: 60 }),
    })
    .map(({ dtype, dims, scale, offset, floats, fill, missing, unsigned, range, picks }) => {
      // Values outside of the valid range need a fill value or a missing value to stand for them.
      const shape = dims.map((dim) => LENGTHS[dim]!)
      const [low, high] = integers[dtype] ?? [-1e6, 1e6]
      const value = (part: number): number | bigint => {
        const plain = low + part * (high - low)
        if (isFloat(dtype)) return dtype === 'float32' ? Math.fround(plain) : plain
        return isBigInt(dtype) ? BigInt(Math.round(plain)) : Math.round(plain)
      }
      const wide = (number: number): number | bigint => (isBigInt(dtype) ? BigInt(number) : number)
      const special = [wide(high), wide(Math.max(low, 0)), wide(high - 3)]
      const data = picks
        .slice(0, sizeOf(shape))
        .map((part, i) => (i % 5 === 0 && (fill || missing !== 'none') ? special[i % 3]! : value(part)))
      const float = (number: number): readonly [string, number] => [floats, floats === 'float32' ? Math.fround(number) : number]
      const attrs: Record<string, readonly [string, unknown]> = { units: ['string', 'K'], level: ['int16', 5] }
      if (scale !== null) attrs['scale_factor'] = float(scale)
      if (offset !== null) attrs['add_offset'] = float(offset)
      if (fill) attrs['_FillValue'] = [dtype, special[0]]
      const list = allocate(dtype, 2)
      list[0] = special[1]! as never
      list[1] = special[2]! as never
      if (missing !== 'none') attrs['missing_value'] = missing === 'one' ? [dtype, special[1]] : [`${dtype}[]`, list]
      if (unsigned && dtype.startsWith('int')) attrs['_Unsigned'] = ['string', 'true']
      if (range && (fill || missing !== 'none' || !needsFill)) attrs['valid_max'] = [dtype, wide(high - 2)]
      return rawVariable(name, dims, shape, dtype, data, attrs)
    })

/** Times in units of a calendar, strings, booleans and flags, which are none of them packed. */
const coordinates: fc.Arbitrary<RawVariable[]> = fc
  .record({
    units: fc.constantFrom(
      'days since 1850-01-01',
      'hours since 1997-12-30 06:00',
      'seconds since 1970-01-01',
      'minutes since 0001-01-01',
    ),
    calendar: fc.constantFrom(undefined, 'standard', 'noleap', '360_day'),
    type: fc.constantFrom<NumericDType>('float64', 'int32', 'int64', 'float32'),
    step: fc.constantFrom(1, 0.25, 1 / 3),
    latitudes: fc.constantFrom<NumericDType>('float32', 'float64', 'int16'),
  })
  .map(({ units, calendar, type, step, latitudes }) => {
    const from = units.includes('0001') ? 1_050_000_000 : 10_000
    const times = Array.from({ length: LENGTHS['time']! }, (_, i) => from + i * (isFloat(type) ? step : 1))
    return [
      rawVariable('time', ['time'], [5], type, type === 'int64' ? times.map(BigInt) : times, {
        units: ['string', units],
        ...(calendar !== undefined && { calendar: ['string', calendar] }),
        bounds: ['string', 'time_bnds'],
      }),
      rawVariable(
        'time_bnds',
        ['time', 'nv'],
        [5, 2],
        'float64',
        times.flatMap((time) => [time - 0.5, time + 0.5]),
      ),
      rawVariable('lat', ['lat'], [4], latitudes, [60, 20, -20, -60], { units: ['string', 'degrees_north'] }),
      rawVariable('station', ['x'], [3], 'string', ['a', 'ü "b"', ''], { cf_role: ['string', 'timeseries_id'] }),
      rawVariable('mask', ['x', 'lat'], [3, 4], 'int8', [1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1], { dtype: ['string', 'bool'] }),
      rawVariable('kind', ['x'], [3], 'int16', [0, 1, -1], {
        flag_values: ['int16[]', Int16Array.of(0, 1)],
        flag_meanings: ['string', 'no yes'],
        _FillValue: ['int16', -1],
        coordinates: ['string', 'station'],
      }),
    ]
  })

const contents = (needsFill: boolean) =>
  fc
    .tuple(coordinates, packedVariables('a', needsFill), packedVariables('b', needsFill))
    .map(([coords, a, b]): RawVariable[] => [...coords, a, b])

const newPlace = () => ({ store: new MemoryStore(), path: 'x.af' })

const typedAttributes = (attrs: NamedValues | undefined): unknown =>
  Object.fromEntries([...(attrs?.keys() ?? [])].map((name) => [name, (attrs as Typed).typed(name)]))

/** Returns the elements, with undefined for missing ones: a selection has one value for all of them. */
async function elementsOf(array: DataArray): Promise<unknown[]> {
  const missing = new Set<unknown>(array.array.missing.values)
  return Array.from(await array.values(), (value) => (missing.has(value) ? undefined : value))
}

async function expectSame(
  own: DataArray,
  other: DataArray,
  elements = (array: DataArray): unknown => array.values(),
): Promise<void> {
  const name = own.name
  expect([other.dtype, other.dims, other.attrs], name).toEqual([own.dtype, own.dims, own.attrs])
  expect(await elements(other), name).toEqual(await elements(own))
  expect(Object.keys(other.coords).sort(), name).toEqual(Object.keys(own.coords).sort())
}

test('a dataset that is written is the same when it is opened, and so is what is stored', async () => {
  await fc.assert(
    fc.asyncProperty(contents(false), async (variables) => {
      const attrs = { title: 'any', history: 'x', version: 2 }
      const ds = await Dataset.from({ variables, attrs })
      expect([...ds.decodeErrors]).toEqual([])
      const place = newPlace()
      const written = await ds.write(place)
      expect(written.warnings).toEqual([])
      await using back = await openDataset(place)
      expect(back.attrs).toEqual(attrs)
      expect(Object.keys(back.coords).sort()).toEqual(Object.keys(ds.coords).sort())
      for (const array of [...Object.values(ds.variables), ...Object.values(ds.coords)]) {
        await expectSame(array, back.get(array.name))
        // Coordinates along one dimension and short bounds are one chunk.
        const isWhole = ds.coords[array.name] !== undefined && (array.dims.length === 1 || array.name.endsWith('_bnds'))
        const chunks = isWhole ? array.shape : array.encoding['chunks']
        expect(back.get(array.name).encoding['chunks'], array.name).toEqual(chunks)
      }
      // The stored values are the same, too, and so are the types of attributes.
      await using file = await open(place)
      for (const { name, array } of variables) {
        const stored = file.array(name)
        expect(stored.dtype).toBe(array.dtype)
        expect((await stored.toTensor()).data, name).toEqual((await array.toTensor()).data)
        expect(typedAttributes(stored.attrs), name).toEqual(typedAttributes(array.attrs))
      }
      await using raw = await openDataset(place, { decode: false })
      await using before = await Dataset.from({ variables, attrs }, { decode: false })
      for (const array of Object.values(before.variables)) await expectSame(array, raw.get(array.name))
      // Again, from what is not decoded.
      const again = newPlace()
      await raw.write(again)
      await using decoded = await openDataset(again)
      for (const array of Object.values(ds.variables)) await expectSame(array, decoded.get(array.name))
    }),
    { numRuns: 25 },
  )
})

test('what is selected packs again to what was stored', async () => {
  await fc.assert(
    fc.asyncProperty(contents(true), async (variables) => {
      const ds = (await Dataset.from({ variables })).isel({ time: slice(1, 4), lat: [3, 0] })
      const place = newPlace()
      await ds.write(place)
      await using back = await openDataset(place)
      for (const array of [...Object.values(ds.variables), ...Object.values(ds.coords)])
        await expectSame(array, back.get(array.name), elementsOf)
      await using file = await open(place)
      for (const { name, array, dims } of variables) {
        expect(file.array(name).dtype).toBe(array.dtype)
        if (
          !isFloat(array.dtype) &&
          !isBigInt(array.dtype) &&
          !('missing_value' in Object.fromEntries([...(array.attrs?.keys() ?? [])].map((key) => [key, 1]))) &&
          array.attrs?.get('valid_max') === undefined
        ) {
          const taken = dims.map((dim) => (dim === 'time' ? slice(1, 4) : dim === 'lat' ? [3, 0] : null))
          const expected =
            dims.length === 0 ? (await array.toTensor()).data : ((await array.get(taken as never)) as { data: unknown }).data
          expect((await file.array(name).toTensor()).data, name).toEqual(expected)
        }
      }
    }),
    { numRuns: 25 },
  )
})

const small = (attrs: Attributes, data: readonly number[] = [1, 2, 3], dtype: NumericDType = 'int16') =>
  Dataset.from({ variables: [rawVariable('t', ['x'], [data.length], dtype, data, attrs)] })

test('a local name with # or ? has its format by its end', async () => {
  const ds = new Dataset({ a: { dims: ['x'], data: [1, 2] } })
  const store = new MemoryStore()
  for (const path of ['a#b.zarr', 'a?b.zarr/']) {
    await ds.write({ store, path })
    expect(await store.stat(`${path.replace(/\/$/, '')}/zarr.json`)).toBeDefined()
  }
})

describe('values that their encoding does not hold are refused, with array, value and range', () => {
  const ds = new Dataset({ t: { dims: ['x'], data: [271.5, 1e6, Number.NaN] } })
  test.each([
    [
      { dtype: 'int16', scale_factor: 0.01, add_offset: 280, _FillValue: -32768 },
      /'t': 1000000 does not fit int16 with scale_factor 0.01.*holds -47.68.* to 607.67/,
    ],
    [{ dtype: 'int32', scale_factor: 0.01 }, /'t': a value is missing, and no int32 represents missing values/],
    [{ dtype: 'uint8', _FillValue: 255 }, /271.5 does not fit uint8, which holds 0 to 255/],
    [{ dtype: 'int32', _FillValue: 1_000_000 }, /1000000 is stored as 1000000, which stands for missing values/],
    [{ dtype: 'int8', _FillValue: 300 }, /_FillValue 300 is no int8 value/],
    [{ dtype: 'string' }, /float64 values cannot be stored as string/],
    [{ units: 'days since 2000-01-01' }, /units are for times/],
    [{ dtype: 'int16', scale_factor: 0 }, /cannot scale by 0/],
    [{ dtype: 'int16', scalefactor: 1 }, /no option 'scalefactor'; did you mean 'scale_factor'/],
    [{ dtype: 'half' }, /dtype cannot be "half"/],
    [{ chunks: [2, 2] }, /chunks of 2 lengths for 1 dimensions/],
    [{ chunks: [0] }, /chunks must be/],
  ])('%j', async (encoding, message) => {
    const place = newPlace()
    await expect(ds.write(place, { encoding: { t: encoding as never } })).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      message: expect.stringMatching(message),
    })
    // The refused write leaves no file.
    expect((await place.store.list('')).length).toBe(0)
  })

  test('floats, times, valid ranges, attributes twice, names of nothing', async () => {
    await expect(ds.write(newPlace(), { encoding: { t: { dtype: 'float32', _FillValue: 1e20 } } })).resolves.toBeDefined()
    const large = new Dataset({ t: { dims: ['x'], data: [1e300] } })
    await expect(large.write(newPlace(), { encoding: { t: { dtype: 'float32' } } })).rejects.toThrow(
      /1e\+300 is beyond what float32/,
    )
    const noon = new Dataset({ t: { dims: ['x'], data: [new Date('1998-01-16T12:00Z')] } })
    const days = { units: 'days since 1990-01-01' }
    await expect(noon.write(newPlace(), { encoding: { t: days } })).rejects.toThrow(
      /1998-01-16T12:00 is no whole number in 'days/,
    )
    await expect(noon.write(newPlace(), { encoding: { t: { ...days, calendar: 'noleap' } } })).rejects.toThrow(
      /cannot be stored as those of noleap/,
    )
    await expect(noon.write(newPlace(), { encoding: { t: { units: 'days' } } })).rejects.toThrow(/not units of time/)
    await expect(noon.write(newPlace(), { encoding: { t: { calendar: 'nonsense' } } })).rejects.toThrow(
      /calendar "nonsense" is none of standard, gregorian/,
    )
    await expect(noon.write(newPlace(), { encoding: { t: { calendar: 'standard' } } })).rejects.toThrow(
      /a calendar belongs to units, and the encoding has none: give units as well/,
    )
    await expect(large.write(newPlace(), { encoding: { t: { calendar: 'standard' } } })).rejects.toThrow(
      /a calendar is for times, and these are float64 values/,
    )
    const half = { units: 'hours since 1990-01-01', calendar: 'standard' }
    await expect(noon.write(newPlace(), { encoding: { t: half } })).resolves.toBeDefined()
    await expect(noon.write(newPlace(), { encoding: { t: { dtype: 'int64' } } })).rejects.toThrow(
      /times are stored as numbers with units/,
    )
    const seconds = { units: 'seconds since 1990-01-01', dtype: 'int8' as const }
    await expect(noon.write(newPlace(), { encoding: { t: seconds } })).rejects.toThrow(/1998-01-16T12:00 does not fit int8/)
    const twice = new Dataset({ t: { dims: ['x'], data: [1], attrs: { _FillValue: 3 } } })
    await expect(twice.write(newPlace(), { encoding: { t: { _FillValue: 2 } } })).rejects.toThrow(
      /'_FillValue' is an attribute, and in the encoding/,
    )
    await expect(twice.write(newPlace(), { encoding: { u: {} } })).rejects.toMatchObject({ tag: 'UnknownArrayError' })
  })
})

test('an encoding that is given packs, and is what is read again', async () => {
  const time = [new Date('1998-01-01'), new Date('1998-01-02T06:00Z'), new Date('1998-03-01')]
  const data = Float32Array.of(271.5, Number.NaN, 280.25)
  const ds = new Dataset({ t: { dims: ['time'], data, attrs: { units: 'K' } } }, { coords: { time } })
  const place = newPlace()
  await ds.write(place, {
    encoding: {
      t: { dtype: 'int16', scale_factor: 0.25, add_offset: 270, _FillValue: -1, chunks: [2] },
      time: { units: 'hours since 1998-01-01', dtype: 'int32' },
    },
  })
  await using back = await openDataset(place)
  expect(back.get('t').dtype).toBe('float32')
  expect(await back.get('t').values()).toEqual(data)
  expect(await back.get('time').dates()).toEqual(time)
  expect(await back.get('t').sel({ time: '1998-03' }).values()).toEqual(Float32Array.of(280.25))
  await using raw = await openDataset(place, { decode: false })
  expect(await raw.get('t').values()).toEqual(Int16Array.of(6, -1, 41))
  expect(raw.get('t').array.chunks.axes[0]!.chunkLength).toBe(2)
  expect(await raw.get('time').values()).toEqual(Int32Array.of(0, 30, 1416))
  expect(raw.get('t').attrs).toEqual({ units: 'K', scale_factor: 0.25, add_offset: 270, _FillValue: -1 })
})

test('what is computed is written as it is: times of windows, means, labels of groups, values that selections leave', async () => {
  const time = Array.from({ length: 24 }, (_, month) => 30 * month)
  const variables = [
    rawVariable('time', ['time'], [24], 'int32', time, { units: ['string', 'days since 1998-01-01'] }),
    rawVariable('lev', ['lev'], [2], 'int32', [850, 501]),
    rawVariable(
      't',
      ['time', 'lev'],
      [24, 2],
      'int16',
      Array.from({ length: 48 }, (_, i) => i),
      {
        scale_factor: ['float64', 0.01],
        _FillValue: ['int16', 7],
      },
    ),
  ]
  const t = (await Dataset.from({ variables })).get('t')
  const results = {
    means: t.groupBy('time.month').mean(),
    seasons: t.groupBy('time.season').max(),
    blocks: t.coarsen({ time: 2, lev: 2 }).mean(),
    level: t.sel({ lev: 850 }).add(1),
    sampled: t.resample({ time: 'YS' }).mean(),
  }
  for (const [name, result] of Object.entries(results)) {
    const place = newPlace()
    await new Dataset({ [name]: result }).write(place)
    await using back = await openDataset(place)
    await expectSame(result.rename(name), back.get(name))
    for (const coord of Object.values(result.coords)) await expectSame(coord, back.coords[coord.name]!)
  }
})

test('bounds keep the meaning of their numbers when what they are of is stored in other units', async () => {
  const variables = [
    rawVariable('time', ['time'], [2], 'int32', [10, 20], {
      units: ['string', 'days since 1998-01-01'],
      bounds: ['string', 'b'],
    }),
    rawVariable('b', ['time', 'nv'], [2, 2], 'int32', [5, 15, 15, 25]),
  ]
  const ds = await Dataset.from({ variables })
  for (const units of ['hours since 1998-01-01', 'days since 1990-01-01']) {
    const place = newPlace()
    await ds.write(place, { encoding: { time: { units } } })
    await using back = await openDataset(place)
    expect(await back.get('b').dates()).toEqual(await ds.get('b').dates())
    expect(await back.get('time').dates()).toEqual(await ds.get('time').dates())
  }
})

test('memory is bounded by chunks: nothing is read whole', async () => {
  let largest = 0
  const big = generate((i, j) => i + j, { dtype: 'float32', shape: [2048, 4096], chunks: [64, 4096] })
  const { source } = big
  const readBlock: typeof source.readBlock = (box, out, options) => {
    largest = Math.max(largest, out.data.length)
    return source.readBlock(box, out, options)
  }
  const counted = new DiskArray({ dtype: 'float32', shape: big.shape, chunks: big.chunks, readBlock })
  const place = newPlace()
  const seen: number[] = []
  await new Dataset({ t: { dims: ['y', 'x'], data: counted as DiskArray } }).write(place, {
    codec: 'none',
    encoding: { t: { dtype: 'int16', chunks: [128, 1024] } },
    onProgress: ({ done, total }) => void seen.push(done / total),
  })
  expect(largest).toBeLessThanOrEqual(2 ** 22)
  expect(seen.at(-1)).toBe(1)
  expect(await (await open(place)).array('t', 'int16', 2).get([2047, 4095])).toBe(2047 + 4095)
})

test('a write that fails or is aborted leaves what was there', async () => {
  const ds = await small({})
  const store = new MemoryStore()
  const place = { store, path: 'x.af' }
  await ds.write(place)
  await expect(ds.write(place)).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
  const other = new Dataset({ t: { dims: ['x'], data: [9] } })
  await expect(other.write(place, { overwrite: true, signal: AbortSignal.abort(new Error('stop')) })).rejects.toThrow('stop')
  await expect(other.write(place, { overwrite: true, encoding: { t: { dtype: 'int16', scale_factor: 1e-9 } } })).rejects.toThrow(
    /does not fit/,
  )
  expect(await (await openDataset(place)).get('t').values()).toEqual(Int16Array.of(1, 2, 3))
  expect((await store.list('')).length).toBeLessThanOrEqual(2)
  await other.write(place, { overwrite: true })
  expect(await (await openDataset(place)).get('t').values()).toEqual(Float64Array.of(9))
})

test('variables that cannot be decoded are left out, and told', async () => {
  const variables = [
    rawVariable('a', ['x'], [1], 'int16', [1]),
    rawVariable('b', ['x'], [1], 'int16', [1], { units: ['string', 'months since 1990-01-01'] }),
  ]
  const ds = await Dataset.from({ variables })
  expect((await ds.write(newPlace())).warnings).toEqual([expect.stringMatching(/^'b' is left out: .*months/)])
})
