import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { create, slice } from '../../src/runtime/index.ts'
import { createZarr } from '../../src/runtime/zarr.ts'
import { haveZip, zipped } from '../support/archives.ts'
import { RudeServer } from '../support/rude-server.ts'
import { hyperslab, NETCDF, smallContainer, temporaryFolder } from './support.ts'

const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const STORES = fileURLToPath(new URL('../fixtures/zarr/', import.meta.url))

/** Element `i` of an array of the fixtures, as make.py has it. */
const element = (i: number, factor = 1, offset = 0): number => ((7 * i) % 101) * factor + offset

/** The same of all elements of a shape. */
const elements = (size: number, factor = 1, offset = 0): number[] =>
  Array.from({ length: size }, (_, i) => element(i, factor, offset))

/** As many columns as tables take, so that no line is wrapped. */
const WIDE = { COLUMNS: '300' }

const output = async (...args: string[]): Promise<string> => {
  const { stdout, stderr, exitCode } = await hyperslab(STORES, args, WIDE)
  expect([stderr, exitCode]).toEqual(['', 0])
  return stdout
}

/** The numbers of a selection as JSON. */
const numbers = async (...args: string[]): Promise<(number | string | null)[]> =>
  JSON.parse(await output('get', ...args, '--format', 'json')).data

const LITTLE = { name: 'bytes', configuration: { endian: 'little' } }

/** The objects of a fixture, by their names in it. */
function objectsOf(store: string): Record<string, Uint8Array> {
  const names = readdirSync(join(STORES, store), { recursive: true, withFileTypes: true })
  const files = names.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return Object.fromEntries(files.map((file) => [file.slice(join(STORES, store).length + 1), new Uint8Array(readFileSync(file))]))
}

/** Serves fixtures; gives the URL of the folder they are in. */
async function serveStores(...stores: string[]): Promise<string> {
  const rude = await RudeServer.start()
  onTestFinished(() => rude.stop())
  for (const store of stores)
    for (const [name, bytes] of Object.entries(objectsOf(store))) rude.put(`data/${store}/${name}`, bytes)
  return `${rude.origin}/data`
}

describe('info', () => {
  test('of a store like ERA5: what values stand for, and dimensions by name', async () => {
    expect((await output('info', 'era5.zarr')).split('\n')).toEqual([
      'era5.zarr: Zarr 2, consolidated, 6 arrays, 2.7 KiB',
      '',
      'Arrays',
      '  name            type     shape                                      chunk shape     codecs               chunks    bytes',
      '  2m_temperature  float32  time 4, latitude 7, longitude 12           1 x 7 x 12      blosc lz4 5 shuffle  2 of 4  1.3 KiB',
      '  geopotential    int16    time 4, level 2, latitude 7, longitude 12  2 x 1 x 7 x 12  blosc lz4 5 shuffle       4  1.3 KiB',
      '  latitude        float32  latitude 7                                 7               blosc lz4 5 shuffle       1     28 B',
      '  level           int64    level 2                                    2               blosc lz4 5 shuffle       1     16 B',
      '  longitude       float32  longitude 12                               12              blosc lz4 5 shuffle       1     48 B',
      '  time            int64    time 4                                     4               blosc lz4 5 shuffle       1     32 B',
      '',
      'Values',
      '  name              fill  missing  packed         units                   long name',
      '  2m_temperature     NaN      NaN                 K                       2 metre temperature',
      '  geopotential    -32767   -32767  * 0.25 + 5000  m**2 s**-2              Geopotential',
      '  latitude                                        degrees_north           latitude',
      '  level                                           hPa                     pressure level',
      '  longitude                                       degrees_east            longitude',
      '  time                                            hours since 1900-01-01  time',
      '',
      'Attributes of the group',
      '  valid_time_start  string  1940-01-01',
      '  valid_time_stop   string  2023-12-31',
      '',
    ])
  })

  test('of a store like CMIP6: bounds, a scalar, attributes of everything', async () => {
    const stdout = await output('info', 'cmip6.zarr', '--attributes')
    expect(stdout).toMatch(/^cmip6\.zarr: Zarr 2, consolidated, 8 arrays, 1\.4 KiB\n/)
    expect(stdout).toMatch(/^ {2}height +float64 +scalar +zstd 3 +1 +8 B$/m)
    expect(stdout).toMatch(/^ {2}lat_bnds +float64 +lat 5, bnds 2 +5 x 2 +zstd 3 +1 +80 B$/m)
    expect(stdout).toMatch(/^ {2}tas +float32 +time 6, lat 5, lon 8 +4 x 5 x 8 +blosc lz4 5 shuffle +2 +960 B$/m)
    expect(stdout).toMatch(/^ {2}tas +1e\+20 +1e\+20 +K +Near-Surface Air Temperature$/m)
    expect(stdout).toMatch(/\nAttributes of tas\n(.*\n)+ {2}cell_methods +string +area: time: mean\n/)
    expect(stdout).toMatch(/\nAttributes of the group\n(.*\n)+ {2}Conventions +string +CF-1\.7 CMIP-6\.2\n/)
  })

  test('of a store like HRRR: a tree of groups, types as they are stored', async () => {
    const stdout = await output('info', 'hrrr.zarr')
    expect(stdout).toMatch(/^hrrr\.zarr: Zarr 2, not consolidated, 8 arrays, 6 groups, 688 B\n/)
    expect(stdout).toMatch(
      /^ {2}2m_above_ground\/TMP\/2m_above_ground\/TMP +float32 \(float16\) +projection_y_coordinate 6, projection_x_coordinate 9 +4 x 5 +blosc lz4 5 shuffle +4 +216 B$/m,
    )
    expect(stdout).toMatch(/^ {2}surface\/GUST\/time +timestamp_ns \(datetime64\[s\]\) +scalar +zlib 1 +1 +8 B$/m)
    expect(stdout).toMatch(/^ {2}surface\/GUST\/time +NaT +NaT +time$/m)
    expect(stdout.slice(stdout.indexOf('Groups')).split('\n')).toEqual([
      'Groups',
      '  name                 arrays  attributes',
      '  2m_above_ground           0           0',
      '    TMP                     3           0',
      '      2m_above_ground       1           0',
      '  surface                   0           0',
      '    GUST                    3           0',
      '      surface               1           0',
      '',
    ])
  })

  test.each([
    ['ome04.zarr', 'Zarr 2', / {2}0 +uint16 +dim_0 2, dim_1 16, dim_2 24 +1 x 8 x 8 +blosc lz4 5 shuffle +12 +1\.5 KiB\n/],
    ['ome05.zarr', 'Zarr 3', / {2}0 +uint16 +c 2, y 16, x 24 +1 x 4 x 6 +1 x 16 x 24 +zstd 3 +32 +1\.5 KiB\n/],
  ])('of images: levels with their scales; %s', async (store, format, row) => {
    const stdout = await output('info', store)
    expect(stdout).toContain(`${store}: ${format}, not consolidated, 3 arrays, `)
    expect(stdout).toMatch(row)
    const levels = stdout.slice(stdout.indexOf('Levels')).split('\n')
    expect(levels.slice(0, 5)).toEqual([
      'Levels of cells along c, y in micrometer, x in micrometer',
      '  level  shape        scale        translation',
      '  0      2 x 16 x 24  1, 0.5, 0.5',
      '  1      2 x 8 x 12   1, 1, 1      0, 0.25, 0.25',
      '  2      2 x 4 x 6    1, 2, 2      0, 0.75, 0.75',
    ])
  })

  test('as JSON', async () => {
    const { format, arrays, pyramids, groups, attributes, totals } = JSON.parse(await output('info', 'ome05.zarr', '--json'))
    expect([format, groups.map(({ path }: { path: string }) => path)]).toEqual(['Zarr 3, not consolidated', ['labels']])
    expect(arrays[0]).toMatchObject({
      ...{ name: '0', dtype: 'uint16', shape: [2, 16, 24], chunkShape: [1, 4, 6], shardShape: [1, 16, 24] },
      ...{ codecs: 'zstd 3', chunks: 32, bytes: 1536, fillValue: 0, missing: [], statistics: null },
    })
    expect(pyramids[0].levels[1]).toEqual({ path: '1', shape: [2, 8, 12], scale: [1, 1, 1], translation: [0, 0.25, 0.25] })
    expect(attributes.ome).toMatchObject({ type: 'json', value: { version: '0.5', multiscales: [{ name: 'cells' }] } })
    expect(totals.bytes).toBe(1536 + 384 + 96)
  })

  test('counts the stored chunks of arrays in a folder', async () => {
    const folder = await temporaryFolder()
    const group = await createZarr(`${folder}/x.zarr`)
    for (const [name, written] of [
      ['whole', 6],
      ['half', 3],
    ] as const) {
      const array = await group.createArray(name, { dtype: 'int8', shape: [6], chunks: [1] })
      await array.set([slice(0, written)], 1)
    }
    const { stdout } = await hyperslab(folder, ['info', 'x.zarr', '--json'])
    const { arrays } = JSON.parse(stdout) as { arrays: { name: string; chunks: number; storedChunks: number }[] }
    expect(arrays.map(({ name, chunks, storedChunks }) => [name, chunks, storedChunks])).toEqual([
      ['half', 6, 3],
      ['whole', 6, 6],
    ])
    expect((await hyperslab(folder, ['info', 'x.zarr'])).stdout).toContain('3 of 6')
  })

  test('says which arrays cannot be read, and why, and fails', async () => {
    const folder = await temporaryFolder()
    await cp(join(STORES, 'ome05.zarr'), join(folder, 'a.zarr'), { recursive: true })
    const metadata = JSON.parse(readFileSync(join(STORES, 'ome05.zarr/2/zarr.json'), 'utf8'))
    await mkdir(join(folder, 'a.zarr/labels/z'))
    await writeFile(join(folder, 'a.zarr/labels/z/zarr.json'), JSON.stringify({ ...metadata, data_type: 'int4' }))
    await mkdir(join(folder, 'a.zarr/p'))
    await writeFile(join(folder, 'a.zarr/p/zarr.json'), JSON.stringify({ ...metadata, codecs: [LITTLE, 'numcodecs.bz2'] }))
    const { stdout, exitCode } = await hyperslab(folder, ['info', 'a.zarr'], WIDE)
    expect(exitCode).toBe(1)
    expect(stdout).toMatch(/^ {2}0 +uint16 /m)
    expect(stdout).toMatch(
      /\nNot readable\n {2}name +reason\n( {2}p +.*'bz2'.*\n)( {2}labels\/z +the data type 'int4' cannot be read.*\n)/,
    )
    const { unreadable } = JSON.parse((await hyperslab(folder, ['info', 'a.zarr', '--json'], WIDE)).stdout)
    expect(unreadable.map(({ name }: { name: string }) => name)).toEqual(['p', 'labels/z'])
  })
})

describe('get', () => {
  test('unpacks, and knows what is missing', async () => {
    const stored = elements(4 * 2 * 7 * 12, 10)
    const unpacked = stored.map((value) => value * 0.25 + 5000)
    const row = await numbers('era5.zarr', 'geopotential', '0,0,0')
    expect(row).toEqual([unpacked[0], null, ...unpacked.slice(2, 12)])
    expect(await numbers('era5.zarr', 'geopotential', '-1,1,::-3,2')).toEqual(
      [6, 3, 0].map((lat) => unpacked[((3 * 2 + 1) * 7 + lat) * 12 + 2]),
    )
    expect(await numbers('era5.zarr', 'geopotential', '0,0,0,:3', '--raw')).toEqual([stored[0], -32767, stored[2]])
    // The third step is not written.
    expect(await numbers('era5.zarr', '2m_temperature', '1:3,6,11')).toEqual([element(2 * 84 - 1, 0.5, 250), null])
  })

  test('reads an array by its path, from its group or by itself, and a group by its path', async () => {
    const expected = elements(54, 0.5, 270)
    const path = '2m_above_ground/TMP/2m_above_ground/TMP'
    for (const [place, name] of [
      ['hrrr.zarr', path],
      ['hrrr.zarr/', `/${path}/`],
      [`hrrr.zarr/${path}`, 'TMP'],
      [`${STORES}hrrr.zarr/${path}/`, '.'],
      ['hrrr.zarr/2m_above_ground/TMP/', '2m_above_ground/TMP'],
      [`hrrr.zarr/${path}/.zarray`, 'TMP'],
      [new URL(`hrrr.zarr/${path}`, `file://${STORES}`).href, 'TMP'],
    ])
      expect(await numbers(place!, name!), place).toEqual(expected)
    expect(await output('get', 'hrrr.zarr', 'surface/GUST/time')).toBe('2021-06-01T00:00\n')
  })

  test('reads shards, and takes nothing for missing in images', async () => {
    const expected = elements(2 * 16 * 24, 3)
    for (const store of ['ome04.zarr', 'ome05.zarr']) expect(await numbers(store, '0')).toEqual(expected)
  })
})

test('reduce takes what values stand for', async () => {
  const all = elements(4 * 2 * 7 * 12, 2.5, 5000)
  all.splice(1, 1)
  const reduce = async (...args: string[]): Promise<number[]> =>
    JSON.parse(await output('reduce', ...args, '--format', 'json')).data
  const sum = all.reduce((a, b) => a + b, 0)
  expect((await reduce('era5.zarr', 'geopotential', '--op', 'mean'))[0]).toBeCloseTo(sum / all.length, 9)
  const written = elements(2 * 84, 0.5, 250)
  written[0] = Number.NEGATIVE_INFINITY
  expect(await reduce('era5.zarr', '2m_temperature', '--op', 'max')).toEqual([Math.max(...written)])
  const levels = [0, 1].map((c) => elements(2 * 384, 3).slice(384 * c, 384 * (c + 1)))
  const sums = levels.map((level) => level.reduce((a, b) => a + b, 0))
  expect(await reduce('ome05.zarr', '0', '--op', 'sum', '--axis', 'y,x')).toEqual(sums)
})

test('plot finds coordinates in the group of an array and in those above', async () => {
  const era5 = (await output('plot', 'era5.zarr', '2m_temperature', '1', '--width', '40')).split('\n')
  expect(era5.slice(0, 3)).toEqual([
    '2m_temperature: 2 metre temperature (K)',
    'time 1 = 2020-01-01 06:00',
    expect.stringMatching(/^90N /),
  ])
  expect(era5.at(-3)).toMatch(/^ +0 +longitude +330E$/)
  const hrrr = await output('plot', 'hrrr.zarr', '2m_above_ground/TMP/2m_above_ground/TMP', '--width', '40')
  // South is stored first.
  expect(hrrr.split('\n')[1]).toMatch(/^ 6000 m /)
})

describe('verify', () => {
  test('tells what it has looked at', async () => {
    expect((await output('verify', 'era5.zarr')).split('\n')).toEqual([
      'era5.zarr: nothing is wrong',
      expect.stringMatching(/^ {2}looked at 1 group, 6 arrays, 10 chunks \(.*\)$/),
      '  2 chunks not stored (all fill values)',
      '  10 chunks without a checksum: changed bytes show there only where they do not decode',
      '',
    ])
    expect(await output('verify', 'ome05.zarr/')).toContain('looked at 2 groups, 3 arrays, 42 chunks')
    const url = await serveStores('era5.zarr')
    expect(await output('verify', `${url}/era5.zarr`)).toContain('looked at 1 group, 6 arrays, 10 chunks')
  })

  test('names what is damaged, by array, chunk and object, and fails', async () => {
    const folder = await temporaryFolder()
    await cp(join(STORES, 'cmip6.zarr'), join(folder, 'a.zarr'), { recursive: true })
    const bytes = readFileSync(join(folder, 'a.zarr/tas/1.0.0'))
    await writeFile(join(folder, 'a.zarr/tas/1.0.0'), bytes.subarray(0, bytes.length - 20))
    await writeFile(join(folder, 'a.zarr/tas/2.0.0'), bytes)
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['verify', 'a.zarr'])
    expect([stderr, exitCode]).toEqual(['', 1])
    expect(stdout.split('\n').slice(0, 3)).toEqual([
      expect.stringMatching(/^error: a\.zarr\/tas\/1\.0\.0: array 'tas': chunk \[1, 0, 0\]: .*blosc/),
      "warning: a.zarr/tas/2.0.0: array 'tas': chunk [2, 0, 0] lies beyond the grid of [2, 1, 1]",
      'a.zarr: 1 error, 1 warning',
    ])
    const { ok, findings } = JSON.parse((await hyperslab(folder, ['verify', 'a.zarr', '--json'])).stdout)
    expect([ok, findings[0]]).toMatchObject([
      false,
      { severity: 'error', array: 'tas', chunk: [1, 0, 0], file: 'a.zarr/tas/1.0.0' },
    ])
    await writeFile(join(folder, 'a.zarr/.zmetadata'), '{')
    const broken = await hyperslab(folder, ['verify', 'a.zarr'])
    expect([broken.exitCode, broken.stdout]).toEqual([
      1,
      expect.stringMatching(/^error: a\.zarr: \.zmetadata is not JSON: .*\na\.zarr: 1 error/),
    ])
  })

  test('ends when it is interrupted', async () => {
    const rude = await RudeServer.start()
    onTestFinished(() => rude.stop())
    for (const [name, bytes] of Object.entries(objectsOf('era5.zarr'))) rude.put(`era5.zarr/${name}`, bytes)
    const asked = new Promise<void>((resolve) => {
      rude.manners = ({ url }) => {
        if (!/\/\d+(\.\d+)*$/.test(url)) return {}
        resolve()
        return { mute: true }
      }
    })
    const child = spawn(process.execPath, [COMMAND, 'verify', `${rude.origin}/era5.zarr`], { stdio: 'ignore' })
    const ended = new Promise((resolve) => child.once('close', resolve))
    await asked
    child.kill('SIGINT')
    expect(await ended).toBe(130)
  })
})

describe('import', () => {
  test('copies a store, from wherever it is, and the copy is the same', async () => {
    const folder = await temporaryFolder()
    const url = await serveStores('era5.zarr', 'hrrr.zarr')
    const run = async (...args: string[]) => hyperslab(folder, ['import', ...args])
    const { stdout, stderr, exitCode } = await run(`${url}/era5.zarr`, 'a.af', '--chunks', 'time=1', '--codec', 'zstd')
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(stdout).toMatch(/^a\.af: 6 arrays, .* \(from http:.*\/era5\.zarr\)\n$/)
    for (const selection of ['', '0,0,0', '-1,1,::-3,2']) {
      const [copy, own] = [folder, STORES].map((place, i) =>
        hyperslab(place, ['get', i === 0 ? 'a.af' : 'era5.zarr', 'geopotential', selection, '--format', 'json']),
      )
      expect((await copy!).stdout).toBe((await own!).stdout)
    }
    const names = 'surface/GUST/surface/GUST,surface/GUST/projection_y_coordinate'
    expect(await run(`${url}/hrrr.zarr`, 'b.af')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('--names gives the paths'),
    })
    expect(await run(`${url}/hrrr.zarr`, 'b.af', '--variables', names)).toMatchObject({ exitCode: 0, stderr: '' })
    // Coordinates are in the group above.
    const { stdout: drawn } = await hyperslab(folder, ['plot', 'b.af', 'surface/GUST/surface/GUST', '--width', '40'])
    expect(drawn).toMatch(/\n 6000 m /)
    const { stdout: ofArray } = await run(join(STORES, 'hrrr.zarr/surface/GUST/surface/GUST/'), 'c.af')
    expect([ofArray.startsWith('c.af: 1 array'), (await hyperslab(folder, ['get', 'c.af', 'GUST', '5,8'])).stdout]).toEqual([
      true,
      `${element(53, 0.5, 270)}\n`,
    ])
  })

  test.each([
    [['import', 'era5.zarr', 'x.af', '--variables', 'tas'], 1, /^hyperslab: era5\.zarr: array 'tas': there is neither/],
    [
      ['import', 'era5.zarr', 'x.af', '--chunks', 'lev=2'],
      1,
      /^hyperslab: chunks: there is no dimension 'lev'; there are time, latitude,/,
    ],
    [['import', 'era5.zarr', 'x.nc'], 2, /ends in .af or .zarr, 'x.nc' does not/],
  ])('fails: %j', async (args, exitCode, message) => {
    const folder = await temporaryFolder()
    const run = await hyperslab(
      folder,
      args.map((arg) => arg.replace('era5.zarr', join(STORES, 'era5.zarr'))),
    )
    expect([run.exitCode, run.stdout]).toEqual([exitCode, ''])
    expect(run.stderr.replace(STORES, '')).toMatch(message)
    expect(readdirSync(folder)).toEqual([])
  })
})

test('values are unpacked by attributes as JSON has them, whatever spells what is missing', async () => {
  const folder = await temporaryFolder()
  const metadata = {
    ...{ zarr_format: 3, node_type: 'array', shape: [3], data_type: 'float32', fill_value: 0, codecs: [LITTLE] },
    ...{ chunk_grid: { name: 'regular', configuration: { chunk_shape: [3] } }, chunk_key_encoding: { name: 'default' } },
    // xarray has the float64 -9999 in base64.
    ...{ dimension_names: ['x'], attributes: { _FillValue: 'AAAAAICHw8A=', scale_factor: [0.5], add_offset: 10 } },
  }
  await mkdir(join(folder, 'a.zarr/c'), { recursive: true })
  await writeFile(join(folder, 'a.zarr/zarr.json'), JSON.stringify(metadata))
  await writeFile(join(folder, 'a.zarr/c/0'), new Uint8Array(Float32Array.of(1, -9999, 3).buffer))
  const { stdout, stderr } = await hyperslab(folder, ['get', 'a.zarr', 'a', '-f', 'json'])
  expect([stderr, JSON.parse(stdout).data]).toEqual(['', [10.5, null, 11.5]])
})

test('coordinates are not those of other groups', async () => {
  const folder = await temporaryFolder()
  {
    await using file = await create(join(folder, 'c.af'))
    for (const [group, latitudes] of Object.entries({ a: [0, 10], b: [10, 0] })) {
      const lat = file.createArray(`${group}/lat`, { dtype: 'float64', shape: [2], dimensionNames: ['lat'] })
      lat.attrs.set('units', 'degrees_north')
      await lat.set(null, latitudes)
      const t = file.createArray(`${group}/t`, { dtype: 'uint8', shape: [2, 2], dimensionNames: ['lat', 'x'] })
      await t.set(null, [0, 0, 9, 9])
    }
    await file.flush()
  }
  for (const [name, isHigh] of [
    ['a/t', true],
    ['b/t', false],
  ] as const) {
    const [, first = ''] = (await hyperslab(folder, ['plot', 'c.af', name, '--width', '12'])).stdout.split('\n')
    expect([first.slice(0, 4), first.endsWith('@')], name).toEqual(['10N ', isHigh])
  }
})

describe('over HTTP', () => {
  test('consolidated stores are read as local ones', async () => {
    const url = await serveStores('era5.zarr')
    const { stdout, stderr, exitCode } = await hyperslab(STORES, ['info', `${url}/era5.zarr`], WIDE)
    expect([stderr, exitCode]).toEqual(['', 0])
    // Stored chunks are counted in folders alone.
    expect(stdout.replace(`${url}/`, '')).toBe((await output('info', 'era5.zarr')).replace('2 of 4', '     4'))
    for (const place of [`${url}/era5.zarr/`, `${url}/era5.zarr?token=1`, `${url}/era5.zarr/.zmetadata`])
      expect(await numbers(place, 'geopotential', '0,0,0,2'), place).toEqual([element(2, 2.5, 5000)])
    expect(await output('plot', `${url}/era5.zarr`, '2m_temperature', '1', '--width', '20')).toContain('90N ')
  })

  test('names are asked for where nothing tells them', async () => {
    const place = `${await serveStores('hrrr.zarr')}/hrrr.zarr`
    const refused = await hyperslab(STORES, ['info', place], WIDE)
    expect([refused.stdout, refused.exitCode]).toEqual(['', 1])
    expect(refused.stderr).toMatch(/^hyperslab: \S+: the place cannot be listed, .*--names gives the paths/)
    const name = 'surface/GUST/surface/GUST'
    expect(await numbers(place, name)).toEqual(elements(54, 0.5, 270))
    expect(await output('info', place, '--names', `${name},surface/GUST/time`)).toMatch(
      /: Zarr 2, not consolidated, 2 arrays, 3 groups/,
    )
    // Coordinates are looked for by the names of dimensions.
    expect(await output('plot', place, name, '--width', '40')).toMatch(/\n 6000 m /)
    const unknown = await hyperslab(STORES, ['info', place, '--names', 'nothing'], WIDE)
    expect([unknown.stdout, unknown.exitCode]).toEqual([expect.stringMatching(/Not readable\n.*\n {2}nothing/), 1])
  })

  test('buckets of S3 are', async () => {
    const { origin } = new URL(await serveStores('era5.zarr'))
    const env = { AWS_ENDPOINT_URL: origin, AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }
    const { stdout, stderr, exitCode } = await hyperslab(STORES, ['info', 's3://data/era5.zarr'], env)
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(stdout).toContain('s3://data/era5.zarr: Zarr 2, consolidated, 6 arrays')
  })
})

test('names are from the group that is asked for, and coordinates are those of the groups above, too', async () => {
  const info = await output('info', 'hrrr.zarr', '--group', '/surface/GUST/')
  expect(info).toMatch(/^hrrr\.zarr: Zarr 2, not consolidated, 4 arrays, 1 group, /)
  expect(info).toMatch(/^ {2}surface\/GUST +float32/m)
  expect(info).toMatch(/\nGroups\n.*\n {2}surface +1 /)
  const drawn = await output('plot', 'hrrr.zarr', 'surface/GUST', '--group', 'surface/GUST', '--width', '40')
  expect(drawn.split('\n')[1]).toMatch(/^ 6000 m /)
  const unknown = await hyperslab(STORES, ['get', 'hrrr.zarr', 'nope', '--group', 'surface/GUST'])
  expect(unknown.stderr).toMatch(/there are projection_x_coordinate, projection_y_coordinate, time, surface\/GUST\n$/)
})

describe('a classic NetCDF file', () => {
  test('is read as it is', async () => {
    const info = await output('info', NETCDF)
    expect(info).toMatch(/: classic NetCDF, 7 arrays, /)
    expect(info).toMatch(/^ {2}tas +float32 +time 12, lat 96, lon 192 +12 x 96 x 192 +1 +864\.0 KiB$/m)
    expect(info).toMatch(/\nAttributes of the file\n(.*\n)+ {2}frequency +string +mon\n/)
    expect(await output('get', NETCDF, 'time', '0')).toBe('2005-01-16T12:00\n')
    expect(await output('get', NETCDF, 'tas', '--sel', 'time=2005-02', 'lat=52.5', 'lon=13.4', '--method', 'nearest')).toMatch(
      /^\[\d{3}\.\d+\]\n$/,
    )
    expect(await output('plot', NETCDF, 'tas', '0', '--width', '20')).toMatch(/\ntime 0 = 2005-01-16 12:00\n88\.572N /)
  })

  test('has neither layers nor groups', async () => {
    for (const [option, value] of [
      ['--layer', '0'],
      ['--names', 'tas'],
      ['--group', 'a'],
    ])
      expect((await hyperslab(STORES, ['info', NETCDF, option!, value!], WIDE)).stderr).toMatch(/ and .*\.nc is a NetCDF file\n$/)
  })
})

test.runIf(haveZip())('archives are told by what they are, whatever their name and whichever folder was archived', async () => {
  const folder = await temporaryFolder()
  const objects = objectsOf('ome05.zarr')
  const within = Object.fromEntries(Object.entries(objects).map(([name, bytes]) => [`ome05.zarr/${name}`, bytes]))
  await writeFile(join(folder, 'a.zip'), zipped(objects))
  await writeFile(join(folder, 'b.dat'), zipped(within))
  for (const name of ['a.zip', 'b.dat']) {
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['get', name, '0', '1,15,20:', '-f', 'json'])
    expect([stderr, exitCode]).toEqual(['', 0])
    expect(JSON.parse(stdout).data).toEqual(elements(768, 3).slice(-4))
    expect((await hyperslab(folder, ['info', name], WIDE)).stdout).toMatch(
      /: Zarr 3 in a zip archive, not consolidated, 3 arrays, 1 group/,
    )
  }
})

test('references are told by what they are', async () => {
  const folder = await temporaryFolder()
  const refs: Record<string, unknown> = { '.zgroup': '{"zarr_format":2}' }
  for (const [name, bytes] of Object.entries(objectsOf('era5.zarr/latitude')))
    refs[`lat/${name}`] = name === '0' ? [`${STORES}era5.zarr/latitude/0`, 0, bytes.length] : new TextDecoder().decode(bytes)
  for (const name of ['refs.json', 'refs']) {
    await writeFile(join(folder, name), JSON.stringify({ version: 1, refs }, null, name === 'refs' ? 2 : 0))
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['get', name, 'lat'])
    expect([stdout, stderr, exitCode]).toEqual(['[ 90  60  30   0 -30 -60 -90]\n', '', 0])
    expect((await hyperslab(folder, ['info', name], WIDE)).stdout).toContain(
      `${name}: Zarr 2 by references, not consolidated, 1 array`,
    )
  }
})

describe('refusals', () => {
  test.each([
    [
      ['get', 'era5.zarr', 'nope'],
      1,
      /^hyperslab: era5\.zarr: array 'nope': there is no such array; there are 2m_temperature, .*, time\n$/,
    ],
    [['get', 'hrrr.zarr', 'surface'], 1, /^hyperslab: hrrr\.zarr: array 'surface': it is a group, not an array\n$/],
    [
      ['get', 'era5.zarr/time', 'nope'],
      1,
      /^hyperslab: era5\.zarr\/time: array 'nope': there is no such array; the only one is 'time'\n$/,
    ],
    [['get', 'era5.zarr', 'time', '4'], 1, /^hyperslab: era5\.zarr: array 'time': index 4 is out of bounds/],
    [
      ['info', 'none.zarr'],
      1,
      /^hyperslab: none\.zarr: there is neither a container, nor a NetCDF file, .*, nor a Zarr store\n$/,
    ],
    [
      ['info', 'make.py'],
      1,
      /^hyperslab: make\.py: this file of \d+ bytes is neither a container, nor a NetCDF file, .*, nor a Zarr store\n$/,
    ],
    [['info', '.'], 1, /^hyperslab: \.: there is neither a container, nor a NetCDF file, .*, nor a Zarr store\n$/],
    [
      ['verify', NETCDF],
      1,
      /this is a classic NetCDF file, which has no checksums that could be verified; import it first: [^\n]+\n$/,
    ],
    [['info', 'hrrr.zarr', '--group', 'surface/none'], 1, /array 'surface\/none': there is neither an array nor a group/],
    [['get', 'era5.zarr/time', '.', '--group', 'a'], 2, /^hyperslab: --group is for groups, and era5\.zarr\/time is an array\n$/],
    [['info', 'era5.zarr', '--layer', '0'], 2, /^hyperslab: --layer is for containers, and era5\.zarr is a Zarr store\n$/],
    [['get', 'era5.zarr', 'time', '--layer', '1'], 2, /^hyperslab: --layer is for containers, and era5\.zarr is a Zarr store\n$/],
    [
      ['info', 'era5.zarr', '--names', 'time,'],
      2,
      /^hyperslab: option '--names <paths>' argument 'time,' is invalid\. It has an empty name\.\n$/,
    ],
  ])('%j', async (args, exitCode, message) => {
    const run = await hyperslab(STORES, args, WIDE)
    expect([run.exitCode, run.stdout]).toEqual([exitCode, ''])
    expect(run.stderr).toMatch(message)
  })

  test('names are for Zarr', async () => {
    const ofGroup = await hyperslab(await smallContainer(), ['info', 'small.af', '--group', 'a'])
    expect(ofGroup.stderr).toBe('hyperslab: --group is for HDF5 files, TIFF files and Zarr stores, and small.af is a container\n')
    const { stderr, exitCode } = await hyperslab(await smallContainer(), ['info', 'small.af', '--names', 't'])
    expect([stderr, exitCode]).toEqual(['hyperslab: --names is for Zarr stores, and small.af is a container\n', 2])
  })

  test('a folder may be called like a container', async () => {
    const folder = await temporaryFolder()
    await cp(join(STORES, 'era5.zarr'), join(folder, 'x.af'), { recursive: true })
    expect((await hyperslab(folder, ['info', 'x.af'], WIDE)).stdout).toMatch(/^x\.af: Zarr 2, consolidated, 6 arrays/)
  })
})
