import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import type { BlockSource } from '../../src/array/source.ts'
import { sizeOf } from '../../src/core/shape.ts'
import { fillTensor, tensorOf } from '../../src/core/tensor.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { planJob } from '../../src/runtime/cluster.ts'
import { Dataset, openDataset } from '../../src/runtime/dataset.ts'
import { openNetcdf } from '../../src/runtime/netcdf.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { byBudget, seedOf } from '../support/budget.ts'
import { createRandom } from './netcdf-random.ts'

const small = (name = 'v', attrs: Readonly<Record<string, unknown>> = {}, dim = 'x'): Dataset =>
  new Dataset({ [name]: { dims: [dim], data: Int16Array.of(1, 2, 3), attrs } })

const write = (ds: Dataset, options: object = {}, store = new MemoryStore()): Promise<unknown> =>
  ds.write({ store, path: 'x.nc' }, options)

describe('content that NetCDF cannot hold is refused before anything is written', () => {
  test.each([
    ['a variable with a slash', () => small('a/b'), {}, /classic NetCDF has no groups and no slashes in names: .* rename 'a\/b'/],
    ['a variable that begins with a sign', () => small('+v'), {}, /"\+v" has a name that NetCDF does not allow.*rename it/],
    ['a dimension that ends with a space', () => small('v', {}, 'x '), {}, /the dimension "x " .*ends with a space/],
    ['an attribute with a control character', () => small('v', { 'a\n': 1 }), {}, /the attribute .*control character/],
    ['a long name', () => small('é'.repeat(129)), {}, /258 bytes, more than 256/],
    ['two names of one normal form', () => small('v', { 'e\u0301': 1, é: 2 }), {}, /two attributes have the name "é"/],
    [
      'wide values in CDF-2',
      () => new Dataset({ v: { dims: ['x'], data: BigInt64Array.of(2n ** 40n) } }),
      { kind: 2 },
      /CDF-2 cannot hold the data: 'v' has values of int64; CDF-5 can/,
    ],
    [
      'a text that ends with NUL',
      () => new Dataset({ v: { dims: ['x'], data: ['a\0'] } }),
      {},
      /ends with NUL.*leave the variable out/,
    ],
    ['an attribute that ends with NUL', () => small('v', { note: 'a\0' }), {}, /'v': the text of attribute 'note' ends with NUL/],
    ['an attribute with half of a character', () => small('v', { note: 'a\ud800' }), {}, /attribute 'note' is no valid Unicode/],
    [
      'a text with half of a character',
      () => new Dataset({ v: { dims: ['x'], data: ['\udc00'] } }),
      {},
      /is no valid Unicode.*leave the variable out/,
    ],
    [
      'variables beyond CDF-1',
      () => createPair(2 ** 29 + 1),
      { kind: 1 },
      /CDF-1 cannot hold the data: .*; CDF-2 can \(`kind: 2`\)$/,
    ],
    [
      'variables beyond CDF-2',
      () => createPair(2 ** 30),
      { kind: 1 },
      /CDF-1 cannot hold the data: .*; CDF-5 can \(`kind: 5`\)$/,
    ],
    ['an unknown unlimited dimension', () => small(), { unlimited: ['time'] }, /there is no dimension 'time'; there are x/],
    ['a codec', () => small(), { codec: 'zstd' }, /`codec` is for containers and Zarr stores, and this is a NetCDF file/],
    ['chunks of an encoding', () => small(), { encoding: { v: { chunks: [1] } } }, /encoding of 'v': `chunks` is for/],
    ['an unknown kind', () => small(), { kind: 3 }, /kind cannot be 3/],
    [
      'a kind of another format',
      () => small(),
      { kind: 1, format: 'zarr' },
      /`kind` is for NetCDF files, and this is a Zarr store/,
    ],
  ] as const)('%s', async (_, make, options, text) => {
    const store = new MemoryStore()
    await expect(write(make(), options, store)).rejects.toThrow(text)
    expect(await store.list('')).toEqual([])
  })

  test('a dimension of length 0 is that of records, as the first one, and refused elsewhere', async () => {
    const empty = (dims: readonly string[]): Dataset =>
      new Dataset({ v: { dims, data: tensorOf('float32', dims.map((dim) => (dim === 'x' ? 0 : 2))) } }) // biome-ignore format: one line
    const store = new MemoryStore()
    const { warnings } = await empty(['x', 'y']).write({ store, path: 'x.nc' })
    expect(warnings).toEqual(["dimension 'x' becomes unlimited, because no other can have the length 0 in NetCDF"])
    await using back = await openDataset({ store, path: 'x.nc' })
    expect(back.get('v').shape).toEqual([0, 2])
    await expect(write(empty(['y', 'x']))).rejects.toThrow(/dimension 'x' has the length 0.*leave out the variables/)
  })

  test('the workers of a queue do not write NetCDF', async () => {
    const operation = { method: 'copy', source: { dataset: 'a.zarr' }, target: 'x.nc' } as const
    await expect(planJob(operation)).rejects.toThrow(/x\.nc is a NetCDF file.*hyperslab export or ds\.write/)
  })
})

test('an existing file is replaced on request, and only one of NetCDF', async () => {
  const store = new MemoryStore()
  await write(small(), {}, store)
  await expect(write(small(), {}, store)).rejects.toThrow(/the file exists; `overwrite` replaces it/)
  await write(new Dataset({ w: { dims: ['x'], data: Int8Array.of(5) } }), { overwrite: true }, store)
  await using back = await openDataset({ store, path: 'x.nc' })
  expect(Object.keys(back.variables)).toEqual(['w'])
  await small().write({ store, path: 'y.af' })
  await expect(small().write({ store, path: 'y.af' }, { format: 'netcdf', overwrite: true })).rejects.toThrow(
    /of the kind 'container'/,
  )
  await expect(back.write({ store, path: 'x.nc' }, { overwrite: true })).rejects.toThrow(/the same place/)
})

test('changes of types and dimensions, and values that read as missing, are named in the result', async () => {
  const ds = new Dataset({
    wide: { dims: ['t', 'x'], data: tensorOf('int64', [1, 2], BigInt64Array.of(1n, -5n)) },
    other: { dims: ['x'], data: Int16Array.of(-32767, 1), attrs: { list: ['a', 'b'] } },
  })
  const store = new MemoryStore()
  const { warnings } = await ds.write({ store, path: 'x.nc' }, { unlimited: ['x', 't'] })
  expect(warnings).toEqual([
    "'wide': values of int64 are written as int32, which holds all of them",
    "'other': the attribute 'list' becomes text of JSON, because NetCDF has no type for its value",
    "dimension 'x' has a fixed length, not an unlimited one, because it is not the first one of all variables that have it",
    "'other': some values are -32767, which programs of NetCDF read as missing without a _FillValue; give one in the encoding",
  ])
})

test('numbers that no type holds exactly become text of JSON, in NetCDF as in a container', async () => {
  const attrs = {
    mixed: [2n ** 53n + 1n, 1.5],
    reversed: [1.5, 2n ** 53n + 1n],
    wide: 10n ** 30n,
    signs: [-1, 2n ** 63n],
    exact: [2n ** 53n + 2n, 1.5],
    whole: [1, 2n ** 53n + 1n],
    unsigned: [1, 2n ** 63n + 1n],
  }
  const texts = {
    mixed: '[9007199254740993,1.5]',
    reversed: '[1.5,9007199254740993]',
    wide: '1000000000000000000000000000000',
    signs: '[-1,9223372036854775808]',
  }
  const values = { ...texts, exact: [2 ** 53 + 2, 1.5], whole: [1n, 2n ** 53n + 1n], unsigned: [1n, 2n ** 63n + 1n] }
  for (const name of ['x.nc', 'x.af']) {
    const store = new MemoryStore()
    const ds = new Dataset({ v: { dims: ['x'], data: Int16Array.of(1), attrs } }, { attrs: { wide: attrs.wide } })
    const { warnings } = await ds.write({ store, path: name })
    const told = warnings.filter((text) => text.includes('text of JSON'))
    expect(told.length).toBe(5)
    for (const key of Object.keys(texts)) expect(told.join()).toContain(`'v': the attribute '${key}' becomes`)
    await using back = await openDataset({ store, path: name })
    const plain = (all: Iterable<readonly [string, unknown]>) =>
      Object.fromEntries(
        Array.from(all, ([key, value]) => [key, ArrayBuffer.isView(value) ? [...(value as Float64Array)] : value]),
      )
    expect(plain(Object.entries(back.get('v').attrs)), name).toEqual(values)
    expect(back.attrs.wide).toBe(texts.wide)
  }
})

test('a refused name is told with the file, the array and the attribute', async () => {
  await expect(write(small('v', { 'a/b': 1 }))).rejects.toThrow(/x\.nc: array 'v': the attribute "a\/b" has a name/)
})

test.each([
  ['no _FillValue if no element is missing', 3n, undefined, ''],
  [
    'a _FillValue if an element is missing',
    -(2n ** 63n),
    -(2 ** 31),
    '; the missing value -9223372036854775808 becomes -2147483648',
  ],
  [
    'a _FillValue if an element is the default one',
    -(2n ** 31n) + 1n,
    -(2 ** 31),
    '; the missing value -9223372036854775808 becomes -2147483648',
  ],
] as const)('times of int64 get %s', async (_, last, fill, change) => {
  const store = new MemoryStore()
  const attrs = { units: 'seconds since 2000-01-01' }
  await new Dataset({ t: { dims: ['t'], data: BigInt64Array.of(1n, 2n, last), attrs } }).write({ store, path: 'x.zarr' })
  await using ds = await openDataset({ store, path: 'x.zarr' })
  const { warnings } = await ds.write({ store, path: 'x.nc' })
  await using file = await openNetcdf({ store, path: 'x.nc' })
  const { dtype, attrs: own } = file.variable('t')
  expect([dtype, own?.get('_FillValue')]).toEqual(['int32', fill])
  expect(warnings).toEqual([`'t': values of int64 are written as int32, which holds all of them${change}`])
})

describe('bounds of 64-bit integers that are written as int32', () => {
  const data = (): BigInt64Array => BigInt64Array.of(1n, -5n, 2n ** 31n - 1n, -(2n ** 31n))
  const written = async (attrs: Readonly<Record<string, unknown>>) => {
    const store = new MemoryStore()
    const ds = new Dataset({ v: { dims: ['x'], data: data(), attrs } })
    const { warnings } = await ds.write({ store, path: 'x.nc' })
    await using file = await openNetcdf({ store, path: 'x.nc' })
    const array = file.variable('v')
    const { data: read } = (await array.toTensor()) as unknown as { data: ArrayLike<number | bigint> }
    return {
      dtype: array.dtype,
      values: Array.from(read, BigInt),
      attrs: Object.fromEntries(
        Array.from(array.attrs, ([key, value]) => [key, ArrayBuffer.isView(value) ? Array.from(value as Int32Array) : value]),
      ),
      warnings,
    }
  }

  test('are kept if int32 holds them', async () => {
    const { dtype, values, attrs, warnings } = await written({ valid_range: [-5n, 2n ** 31n - 1n], valid_min: -5n })
    expect([dtype, values, warnings.length]).toEqual(['int32', [...data()], 1])
    expect(attrs).toMatchObject({ valid_range: [-5, 2 ** 31 - 1], valid_min: -5 })
  })

  test('become the ends of int32 with a warning if they are beyond', async () => {
    const { dtype, values, attrs, warnings } = await written({ valid_range: [-(2n ** 63n), 2n ** 40n], valid_max: 2n ** 31n })
    expect([dtype, values]).toEqual(['int32', [...data()]])
    expect(attrs).toMatchObject({ valid_range: [-(2 ** 31), 2 ** 31 - 1], valid_max: 2 ** 31 - 1 })
    expect(warnings.filter((text) => text.includes('becomes'))).toEqual([
      "'v': valid_range -9223372036854775808 becomes -2147483648, because int32 ends there; no value is beyond either",
      "'v': valid_range 1099511627776 becomes 2147483647, because int32 ends there; no value is beyond either",
      "'v': valid_max 2147483648 becomes 2147483647, because int32 ends there; no value is beyond either",
    ])
  })

  test.each([
    { valid_min: 2n ** 31n },
    { valid_max: -(2n ** 31n) - 1n },
    { valid_range: [2n ** 40n, 2n ** 41n] },
    { valid_range: [-(2n ** 41n), -(2n ** 40n)] },
  ])('keep the values in 64 bits if they exclude all of int32: %o', async (bounds) => {
    const { dtype, values, attrs } = await written(bounds)
    const [[name, bound]] = Object.entries(bounds) as [[string, bigint | bigint[]]]
    expect([dtype, values, attrs[name]]).toEqual(['int64', [...data()], bound])
  })
})

const KILLS = byBudget({ quick: 5, full: 20, soak: 200 })

test('a killed or failed write leaves no file that opens', async () => {
  const random = createRandom(seedOf('killed writes of NetCDF', 77))
  const folder = await mkdtemp(join(tmpdir(), 'hyperslab-killed-'))
  const ds = new Dataset({
    a: { dims: ['t', 'x'], data: tensorOf('float64', [40, 50]) },
    b: { dims: ['t'], data: Float32Array.from({ length: 40 }, (_, i) => i) },
  })
  const options = { unlimited: ['t'], maxBytes: 4000 }
  try {
    const counting = new FaultStore(new FileStore())
    await ds.write({ store: counting, path: join(folder, 'whole.nc') }, options)
    const steps = counting.log.length
    expect(steps).toBeGreaterThan(10)
    for (let number = 0; number < KILLS; number++) {
      const path = join(folder, `${number}.nc`)
      const at = random.between(1, steps - 1)
      const store = new FaultStore(new FileStore())
      store.faultAfter(at, 'crash')
      const outcome = await ds.write({ store, path }, options).then(() => 'written', () => 'failed') // biome-ignore format: one line
      const isThere = (await readdir(folder)).includes(`${number}.nc`)
      // A crash after the publication leaves the whole file.
      if (!isThere) expect(outcome).toBe('failed')
      else {
        await using back = await openDataset(path)
        expect(await back.get('b').values()).toEqual(Float32Array.from({ length: 40 }, (_, i) => i))
      }
    }
    const controller = new AbortController()
    const aborted = ds.write(join(folder, 'aborted.nc'), {
      ...options,
      signal: controller.signal,
      onProgress: () => controller.abort(),
    })
    await expect(aborted).rejects.toThrow(/abort/i)
    expect((await readdir(folder)).filter((name) => name.startsWith('aborted'))).toEqual([])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

/** Returns two variables of float32 that are too large to be read, and are not. */
function createPair(length: number): Dataset {
  const array = (): DiskArray => createLarge([length], [1024], () => expect.unreachable())
  return new Dataset({ v: { dims: ['x'], data: array() }, w: { dims: ['x'], data: array() } })
}

/** A source that counts the bytes of the tensors it fills, and holds none. */
function createLarge(shape: readonly number[], chunks: readonly number[], note: (bytes: number) => void): DiskArray {
  const source: BlockSource<'float32'> = {
    dtype: 'float32',
    shape,
    chunks: ChunkGrid.regular(shape, chunks),
    readBlock: (_, out) => {
      note(sizeOf(out.shape) * 4)
      fillTensor(out, 1)
    },
  }
  return new DiskArray(source)
}

test.each([
  ['of one variable', ['v']],
  ['of records of several variables', ['v', 'w']],
] as const)('no region %s is larger than half of the memory', async (_, names) => {
  let [most, reads] = [0, 0]
  const note = (bytes: number): void => {
    most = Math.max(most, bytes)
    reads++
  }
  const variables = names.map((name) => [name, { dims: ['t', 'y', 'x'], data: createLarge([64, 32, 64], [1, 32, 64], note) }])
  const maxBytes = 300_000
  const store = new MemoryStore()
  await new Dataset(Object.fromEntries(variables)).write({ store, path: 'x.nc' }, { maxBytes, unlimited: ['t'] })
  expect(most).toBeLessThanOrEqual(maxBytes / 2)
  expect(reads).toBeGreaterThan(names.length * 2)
  await using back = await openDataset({ store, path: 'x.nc' })
  expect(await back.get('v').sum().get()).toBe(64 * 32 * 64)
})

test('the dimension of the lengths of texts has a name that no variable has', async () => {
  const store = new MemoryStore()
  const ds = new Dataset({
    s: { dims: ['x'], data: ['abc', 'de'] },
    s_strlen: { dims: ['x'], data: Int32Array.of(3, 2) },
  })
  await ds.write({ store, path: 'x.nc' })
  await using back = await openDataset({ store, path: 'x.nc' })
  expect(await back.get('s').values()).toEqual(['abc', 'de'])
  expect([...((await back.get('s_strlen').values()) as Float64Array)]).toEqual([3, 2])
})
