import { type RecordBatch, Table, tableFromIPC, tableToIPC } from 'apache-arrow'
import { expect, test, vi } from 'vitest'
import { inMemory } from '../../src/array/lazy/generate.ts'
import { tensorOf } from '../../src/core/tensor.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { NAT } from '../../src/dataset/time/instant.ts'
import { create, DiskArray, MemoryStore } from '../../src/runtime/index.ts'

async function tableOf(batches: AsyncIterable<unknown>): Promise<Table> {
  const all: RecordBatch[] = []
  for await (const batch of batches) all.push(batch as RecordBatch)
  // Written and read again, as other programs get it.
  return tableFromIPC(tableToIPC(new Table(all), 'stream'))
}

const column = (table: Table, name: string): unknown[] => [...table.getChild(name)!]

test('each position is a row, of the types that there are', async () => {
  const shape = [2, 3]
  const values = {
    bool: new Uint8Array([1, 0, 0, 1, 1, 0]),
    int16: Int16Array.of(-5, 4, 3, 2, 1, 32767),
    uint64: BigUint64Array.of(2n ** 64n - 1n, 1n, 2n, 3n, 4n, 5n),
    float32: Float32Array.of(0.5, Number.NaN, 2, 3, 4, Number.POSITIVE_INFINITY),
    timestamp_ns: BigInt64Array.of(1n, NAT, 10n ** 18n, 3n, 4n, -1n),
    string: ['a', '', 'ö', 'd', 'e', 'f'],
  } as const
  const variables = Object.entries(values).map(([dtype, data]) => {
    const tensor = tensorOf(dtype as 'int16', shape, data as Int16Array)
    const missing = { values: dtype === 'timestamp_ns' ? [NAT] : [], nan: dtype === 'float32' }
    const array = new DiskArray({ ...inMemory(tensor), dtype, missing } as never)
    return [dtype, { dims: ['lat', 'lon'], data: array }] as const
  })
  const ds = new Dataset(Object.fromEntries(variables) as never, { coords: { lat: [50.5, 60], lon: [1, 2, 3] } })
  const table = await tableOf(ds.toTable())
  expect(table.schema.fields.map(({ name, type }) => `${name}: ${type}`)).toEqual([
    'lat: Float64',
    'lon: Float64',
    'bool: Bool',
    'int16: Int16',
    'uint64: Uint64',
    'float32: Float32',
    'timestamp_ns: Timestamp<NANOSECOND, UTC>',
    'string: Utf8',
  ])
  expect(column(table, 'lat')).toEqual([50.5, 50.5, 50.5, 60, 60, 60])
  expect(column(table, 'lon')).toEqual([1, 2, 3, 1, 2, 3])
  expect(column(table, 'bool')).toEqual([true, false, false, true, true, false])
  expect(column(table, 'int16')).toEqual([...values.int16])
  expect(column(table, 'uint64')).toEqual([...values.uint64])
  expect(column(table, 'float32')).toEqual([0.5, null, 2, 3, 4, Number.POSITIVE_INFINITY])
  const times = table.getChild('timestamp_ns')!
  expect([times.nullCount, times.isValid(1)]).toEqual([1, false])
  const nanoseconds = (times.data[0]!.values as BigInt64Array).slice(0, 6)
  expect([...nanoseconds].filter((_, i) => i !== 1)).toEqual([...values.timestamp_ns].filter((_, i) => i !== 1))
  expect(column(table, 'string')).toEqual([...values.string])
})

test('many rows come in batches, and no times that Arrow has not', async () => {
  const big = new Dataset({
    t: { dims: ['y', 'x'], data: { data: Float32Array.from({ length: 200_000 }, (_, i) => i), shape: [400, 500] } },
  })
  const rows: number[] = []
  for await (const { numRows } of big.get('t').toTable()) rows.push(numRows)
  expect(rows.length).toBeGreaterThan(1)
  expect(rows.reduce((a, b) => a + b, 0)).toBe(200_000)
  expect(column(await tableOf(big.toTable()), 't')).toEqual(Array.from({ length: 200_000 }, (_, i) => i))
})

test('times of other calendars are text', async () => {
  const store = new MemoryStore()
  const file = await create({ store, path: 'x.af' })
  const time = file.createArray('time', { dtype: 'float64', shape: [2], dimensionNames: ['time'] })
  time.attrs.set('units', 'days since 2000-02-29').set('calendar', '360_day')
  await time.set(null, [0, 1])
  const t = file.createArray('t', { dtype: 'float64', shape: [2], dimensionNames: ['time'] })
  await t.set(null, [7, 8])
  await file.flush()
  await file.close()
  await using ds = await openDataset({ store, path: 'x.af' })
  const table = await tableOf(ds.toTable())
  expect(column(table, 'time')).toEqual(['2000-02-29T00:00', '2000-02-30T00:00'])
  expect(column(table, 't')).toEqual([7, 8])
})

test('without the package an error says what to install', async () => {
  vi.resetModules()
  vi.doMock('apache-arrow', () => {
    throw new Error('not there')
  })
  const { writeArrow } = await import('../../src/dataset/out/arrow.ts')
  await expect(writeArrow([], new Map(), {}).next()).rejects.toMatchObject({
    tag: 'MissingDependencyError',
    message: expect.stringContaining('npm install apache-arrow'),
  })
  vi.doUnmock('apache-arrow')
})
