import { execFile } from 'node:child_process'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { create } from '../../src/runtime/index.ts'
import { openNetcdf } from '../../src/runtime/netcdf.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { type WriterFile, writeNetcdf } from '../support/netcdf-writer.ts'
import { zarrPython } from '../support/python.ts'
import { RudeServer } from '../support/rude-server.ts'
import { hyperslab, NETCDF, temporaryFolder } from './support.ts'

const env = zarrPython()

/** Reads references with Python: returns the type, dimensions and elements of each array, NaN as null. */
async function pythonReads(references: string): Promise<Record<string, { dtype: string; dims: string[]; data: unknown[] }>> {
  const program = `
import json, sys
import fsspec, numpy as np, zarr
fs = fsspec.filesystem("reference", fo=sys.argv[1], asynchronous=True, remote_options={"asynchronous": True})
group = zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True, path=""), mode="r", zarr_format=2)
found = {}
for name, array in group.arrays():
    data = np.asarray(array[...])
    flat = data.ravel().tolist()
    found[name] = {
        "dtype": str(data.dtype.newbyteorder("=")),
        "dims": list(array.attrs["_ARRAY_DIMENSIONS"]),
        "data": [x.decode() if isinstance(x, bytes) else None if x != x else x for x in flat],
    }
print(json.dumps(found))`
  const { stdout } = await promisify(execFile)('python3', ['-c', program, references], { env, maxBuffer: 2 ** 28 })
  return JSON.parse(stdout)
}

const plain = (data: ArrayLike<unknown>): unknown[] =>
  Array.from(data, (value) => (Number.isNaN(value) ? null : typeof value === 'bigint' ? Number(value) : value))

/** Months of a reanalysis: records of two variables, so that neither lies in one row. */
const month = (first: number, records: number, units = 'days since 2000-01-01'): WriterFile => ({
  records,
  dimensions: [['time', 0], ['lat', 3], ['lon', 4], ['length', 3]], // biome-ignore format: one line
  attributes: [{ name: 'title', type: 'char', value: 'months' }],
  variables: [
    { name: 'lat', type: 'double', dimensions: ['lat'], values: [10, 20, 30] },
    {
      name: 'time',
      type: 'double',
      dimensions: ['time'],
      values: Array.from({ length: records }, (_, i) => first + i),
      attributes: [{ name: 'units', type: 'char', value: units }],
    },
    {
      name: 't',
      type: 'short',
      dimensions: ['time', 'lat', 'lon'],
      values: Array.from({ length: 12 * records }, (_, i) => 100 * first + i),
      attributes: [{ name: '_FillValue', type: 'short', value: [105] }],
    },
    { name: 'name', type: 'char', dimensions: ['lat', 'length'], values: [...Buffer.from('onetwosix')] },
  ],
})

async function write(folder: string, name: string, file: WriterFile): Promise<void> {
  await writeFile(join(folder, name), writeNetcdf(file))
}

const references = async (folder: string, ...args: string[]): Promise<string> => {
  const { exitCode, stderr, stdout } = await hyperslab(folder, ['references', 'refs.json', ...args])
  expect([exitCode, stderr]).toEqual([0, ''])
  return stdout
}

describe('references to Zarr', () => {
  test('name its objects, and are written neither to references nor to archives', { timeout: 30_000 }, async () => {
    const folder = await temporaryFolder()
    const store = join(import.meta.dirname, '../fixtures/zarr/era5.zarr')
    await references(folder, store, '--inline', '0', '--base', 'https://data.example.org/')
    const { refs } = JSON.parse(await readFile(join(folder, 'refs.json'), 'utf8')) as { refs: Record<string, unknown> }
    const urls = Object.values(refs).flatMap((each) => (Array.isArray(each) ? [String(each[0])] : []))
    expect(urls.length).toBeGreaterThan(0)
    for (const url of urls) expect(url).toMatch(/^https:\/\/data\.example\.org\/era5\.zarr\/\w+\//)
    const again = await hyperslab(folder, ['references', 'again.json', 'refs.json'])
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringMatching(/this is a list of references already/)])
  })
})

describe('references to NetCDF', () => {
  test('read as the file does, and hold no elements', { timeout: 30_000 }, async () => {
    const folder = await temporaryFolder()
    await references(folder, NETCDF)
    await using file = await openNetcdf(NETCDF)
    await using group = await openZarr(join(folder, 'refs.json'), { kind: 'group' })
    for (const variable of file.variables) {
      const array = await group.array(variable.name)
      expect(array.dimensionNames).toEqual(variable.dimensionNames)
      expect((await array.toTensor()).data, variable.name).toEqual((await variable.toTensor()).data)
    }
    expect((await stat(join(folder, 'refs.json'))).size).toBeLessThan((await stat(NETCDF)).size / 4)
  })

  test.skipIf(env === undefined)('of several files join their records, in Python, too', { timeout: 60_000 }, async () => {
    const folder = await temporaryFolder()
    await write(folder, 'a.nc', month(0, 2))
    await write(folder, 'b.nc', month(2, 3))
    expect(await references(folder, 'a.nc', 'b.nc', '--dim', 'time')).toBe('refs.json: 4 arrays, 12 chunks of 2 files\n')
    const t = [...Array(24).keys(), ...Array.from({ length: 36 }, (_, i) => 200 + i)]
    await using group = await openZarr(join(folder, 'refs.json'), { kind: 'group' })
    const array = await group.array('t', 'int16', 3)
    expect(array.shape).toEqual([5, 3, 4])
    expect([...(await array.toTensor()).data]).toEqual(t)
    expect(await array.count()).toBe(60)
    expect(array.missing).toEqual({ values: [105], nan: false })
    expect(group.attrs.get('title')).toBe('months')
    expect(await pythonReads(join(folder, 'refs.json'))).toEqual({
      lat: { dtype: 'float64', dims: ['lat'], data: [10, 20, 30] },
      time: { dtype: 'float64', dims: ['time'], data: [0, 1, 2, 3, 4] },
      t: { dtype: 'int16', dims: ['time', 'lat', 'lon'], data: t },
      name: { dtype: '|S3', dims: ['lat'], data: ['one', 'two', 'six'] },
    })
  })

  test('that would join what differs are refused', { timeout: 60_000 }, async () => {
    const folder = await temporaryFolder()
    await write(folder, 'a.nc', month(0, 2))
    await write(folder, 'late.nc', month(2, 1, 'days since 2000-02-01'))
    await write(folder, 'restarted.nc', month(0, 2, 'days since 2000-02-01'))
    const shifted = month(2, 1)
    await write(folder, 'shifted.nc', {
      ...shifted,
      variables: shifted.variables!.map((v) => (v.name === 'lat' ? { ...v, values: [11, 21, 31] } : v)),
    })
    await write(folder, 'fewer.nc', { ...shifted, variables: shifted.variables!.slice(0, 2) })
    const cases: [string[], number, RegExp][] = [
      [['a.nc', 'a.nc', '--dim', 'time'], 1, /array 'time': label 2 is 0 and the one before it 1: give the files in their order/],
      [['a.nc', 'shifted.nc', '--dim', 'time'], 1, /array 'lat': it differs from file to file/],
      [['a.nc', 'fewer.nc', '--dim', 'time'], 1, /fewer.nc: array 't': this file has no such array/],
      [['a.nc', 'late.nc', '--dim', 'day'], 1, /no array has a dimension 'day'/],
      [['a.nc', 'late.nc'], 2, /--dim says/],
      [['a.nc', '--dim', 'time'], 2, /--dim joins several files/],
    ]
    for (const [args, code, text] of cases) {
      const { exitCode, stderr } = await hyperslab(folder, ['references', 'refs.json', ...args])
      expect([exitCode, stderr]).toEqual([code, expect.stringMatching(text)])
      await expect(stat(join(folder, 'refs.json'))).rejects.toThrow('ENOENT')
    }
    for (const late of ['restarted.nc', 'late.nc']) {
      const { stderr } = await hyperslab(folder, ['references', 'refs.json', 'a.nc', late, '--dim', 'time', '--overwrite'])
      expect(stderr).toMatch(/array 'time': no references are written: the attribute 'units' is .*2000-02-01.* in another; copy/)
    }
    await using group = await openZarr(join(folder, 'refs.json'), { kind: 'group' })
    expect(await group.arrays()).toEqual(['lat', 'name', 't'])
  })

  test('to a file with braces in its name are read here and in Python', { timeout: 30_000 }, async () => {
    const folder = await temporaryFolder()
    const name = 'a{{name}} {% if %}.nc'
    await write(folder, name, month(0, 2))
    await references(folder, name)
    await using group = await openZarr(join(folder, 'refs.json'), { kind: 'group' })
    expect([...(await (await group.array('lat')).toTensor()).data]).toEqual([10, 20, 30])
    if (env !== undefined) expect((await pythonReads(join(folder, 'refs.json')))['lat']!.data).toEqual([10, 20, 30])
  })

  test('name files where they are, or will be', { timeout: 30_000 }, async () => {
    const folder = await temporaryFolder()
    await write(folder, 'a b.nc', month(0, 2))
    const urls = async (): Promise<string[]> => {
      const { refs } = JSON.parse(await readFile(join(folder, 'refs.json'), 'utf8'))
      return [...new Set(Object.values(refs).flatMap((each) => (Array.isArray(each) ? [each[0] as string] : [])))]
    }
    await references(folder, 'a b.nc', '--inline', '0')
    expect(await urls()).toEqual([join(folder, 'a b.nc')])
    const again = await hyperslab(folder, ['references', 'refs.json', 'a b.nc'])
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringMatching(/the file exists; --overwrite replaces it/)])
    await references(folder, 'a b.nc', '--inline', '0', '--base', 'https://data.example.org/x', '--overwrite')
    expect(await urls()).toEqual(['https://data.example.org/x/a%20b.nc'])
    const rude = await RudeServer.start()
    rude.put('a.nc', await readFile(join(folder, 'a b.nc')))
    await references(folder, `${rude.origin}/a.nc`, '--inline', '0', '--overwrite')
    expect(await urls()).toEqual([`${rude.origin}/a.nc`])
    await using group = await openZarr(join(folder, 'refs.json'), { kind: 'group' })
    expect([...(await (await group.array('lat')).toTensor()).data]).toEqual([10, 20, 30])
    rude.put('a%20b.nc', await readFile(join(folder, 'a b.nc')))
    for (const [base, name] of [
      ['https://data.example.org/x', 'a%20b.nc'],
      ['s3://bucket/x/', 'a b.nc'],
    ] as const) {
      await references(folder, `${rude.origin}/a%20b.nc`, '--inline', '0', '--base', base, '--overwrite')
      expect(await urls()).toEqual([`${base.replace(/\/$/, '')}/${name}`])
    }
    await rude.stop()
  })
})

describe('references to containers', () => {
  const values = Float32Array.from({ length: 64 * 64 }, (_, i) =>
    i % 97 === 0 ? Number.NaN : Math.round(1000 * Math.sin(i / 50)) / 8,
  )

  test.skipIf(env === undefined).each(['none', 'lz4', 'zstd'] as const)(
    'of %s are read by Python',
    { timeout: 60_000 },
    async (codec) => {
      const folder = await temporaryFolder()
      {
        await using file = await create(join(folder, 'x.af'), { codec, blockBytes: 1 })
        const shape = [64, 64]
        const x = file.createArray('x', {
          dtype: 'float32',
          shape,
          chunks: [16, 16],
          dimensionNames: ['y', 'x'],
          fillValue: Number.NaN,
        })
        await x.set(null, { data: values, shape })
        await file.createArray('i', { dtype: 'int64', shape: [5], chunks: [9], fillValue: -1n }).set([1], 7n)
        await file.createArray('b', { dtype: 'bool', shape: [2], chunks: [2] }).set(null, [true, false])
        file.createArray('sparse', { dtype: 'uint8', shape: [4, 4], chunks: [2, 2], fillValue: 9 })
        await file.flush()
        await file.array('sparse').set([0, 3], 1)
        await x.set([63, 63], 5)
        await file.flush()
      }
      await references(folder, 'x.af')
      const expected = values.slice()
      expected[values.length - 1] = 5
      await using group = await openZarr(join(folder, 'refs.json'), { kind: 'group' })
      const read = await pythonReads(join(folder, 'refs.json'))
      expect(read['x']).toEqual({ dtype: 'float32', dims: ['y', 'x'], data: plain(expected) })
      expect(read['i']!.data).toEqual([-1, 7, -1, -1, -1])
      expect(read['b']!.data).toEqual([true, false])
      expect(read['sparse']!.data).toEqual([9, 9, 9, 1, ...Array(12).fill(9)])
      for (const name of await group.arrays())
        expect(plain((await (await group.array(name)).toTensor()).data), name).toEqual(
          plain(
            read[name]!.data.map((value) => (typeof value === 'boolean' ? Number(value) : value === null ? Number.NaN : value)),
          ),
        )
    },
  )

  test('leave out what Zarr has no words for, by its reason', { timeout: 30_000 }, async () => {
    const folder = await temporaryFolder()
    {
      await using file = await create(join(folder, 'x.af'), { codec: 'lz4' })
      await file.createArray('shared', { dtype: 'int16', shape: [8], chunks: [2] }).set(null, [1, 2, 3, 4, 5, 6, 7, 8])
      await file.createArray('cut', { dtype: 'int16', shape: [7], chunks: [2] }).fill(1)
      await file.createArray('text', { dtype: 'string', shape: [1] }).set(null, ['x'])
      await file.flush()
    }
    const { exitCode, stderr } = await hyperslab(folder, ['references', 'refs.json', 'x.af'])
    expect(exitCode).toBe(1)
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(
        /^hyperslab: left out: .*array 'shared': no references are written: several of its chunks are compressed together/,
      ),
      expect.stringMatching(
        /array 'cut': .* its chunks of 2 do not divide axis 0 of 7, and Zarr has the last one whole: export it$/,
      ),
      expect.stringMatching(/array 'text': .* arrays of string are stored in another way than Zarr has them$/),
      expect.stringMatching(/there is no array of which references can be written$/),
    ])
    await expect(stat(join(folder, 'refs.json'))).rejects.toThrow('ENOENT')
    const none = await hyperslab(folder, ['references', 'refs.json', 'none.nc'])
    expect([none.exitCode, none.stderr]).toEqual([1, expect.stringMatching(/none\.nc: there is neither/)])
  })
})
