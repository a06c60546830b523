import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { create, open } from '../../src/runtime/index.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { hyperslab, NETCDF, smallContainer, temporaryFolder } from './support.ts'

const lines = async (folder: string, ...args: string[]): Promise<string> => {
  const { stdout, stderr, exitCode } = await hyperslab(folder, args)
  expect([stderr, exitCode]).toEqual(['', 0])
  return stdout
}

test('head prints the first elements of all arrays, in C order and decoded', async () => {
  const folder = await smallContainer()
  expect((await lines(folder, 'head', 'small.af')).split('\n')).toEqual([
    't     float32       (time, lat, lon)  0 1 2 3 4',
    'time  timestamp_ns  (time)            2000-01-01T00:00 2000-02-01T00:00',
    'lat   float64       (lat)             -10 0 10',
    'lon   float64       (lon)             0 90 180 270',
    'id    int64         (time)            9007199254740993 -1',
    'name  string        (time)            "one" "two \\"2\\""',
    '',
  ])
  const json = JSON.parse(await lines(folder, 'head', 'small.af', 't', 'id', '-n', '14', '--json'))
  expect(json).toEqual({
    t: { dtype: 'float32', shape: [14], data: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, null, 13] },
    id: { dtype: 'int64', shape: [2], data: ['9007199254740993', '-1'] },
  })
  expect(await hyperslab(folder, ['head', 'small.af', 'none'])).toMatchObject({ exitCode: 1, stdout: '' })
  expect(await hyperslab(folder, ['head', 'small.af', '-n', '0'])).toMatchObject({ exitCode: 2, stdout: '' })
})

/** `x.af`: numbers far from 0, a chunk after another, some missing, some NaN. */
async function numbers(): Promise<string> {
  const folder = await temporaryFolder()
  await using file = await create(join(folder, 'x.af'))
  const x = file.createArray('x', { dtype: 'float32', shape: [6], chunks: [2], dimensionNames: ['n'], fillValue: -9 })
  await x.set(null, [1e6, 1e6 + 2, -9, 1e6 + 4, Number.NaN, 1e6 + 8])
  await file.createArray('n', { dtype: 'int32', shape: [6], dimensionNames: ['n'] }).set(null, [1, 2, 3, 4, 5, 6])
  const big = file.createArray('big', { dtype: 'int64', shape: [2] })
  await big.set(null, [2n ** 60n + 1n, -3n])
  await file.createArray('none', { dtype: 'int8', shape: [2], fillValue: -1 }).set(null, [-1, -1])
  await file.createArray('word', { dtype: 'string', shape: [1] }).set(null, ['a'])
  await file.flush()
  return folder
}

test('stats of all elements, without those that are missing', async () => {
  const folder = await numbers()
  const [deviations, mean] = [[-3.5, -1.5, 0.5, 4.5], 1e6 + 3.5]
  const std = Math.sqrt(deviations.reduce((sum, each) => sum + each * each, 0) / 4)
  const found = JSON.parse(await lines(folder, 'stats', 'x.af', '--json'))
  expect(Object.keys(found)).toEqual(['x', 'n', 'big', 'none'])
  expect(found.x).toEqual({ min: 1e6, max: 1e6 + 8, mean, std: expect.closeTo(std, 9), count: 4, missing: 2 })
  expect(found.big).toMatchObject({ min: '-3', max: String(2n ** 60n + 1n), count: 2, missing: 0 })
  expect(found.none).toEqual({ min: null, max: null, mean: null, std: null, count: 0, missing: 2 })
  expect(await lines(folder, 'stats', 'x.af', 'x', '--sel', 'n=1:2')).toMatch(/\nx +1000000 +1000002 +1000001 +1 +2 +0\n$/)
  const { stderr, exitCode } = await hyperslab(folder, ['stats', 'x.af', 'word'])
  expect([exitCode, stderr]).toEqual([1, "hyperslab: x.af: array 'word': there is no mean of string values\n"])
})

test('stats --quick reads no elements where a container stores statistics', async () => {
  const folder = await numbers()
  const bytes = await readFile(join(folder, 'x.af'))
  const whole = JSON.parse(await lines(folder, 'stats', 'x.af', 'x', 'big', '--json'))
  // The blocks come first in the file: what reads one of them finds another checksum.
  bytes.fill(255, 0, 64)
  await writeFile(join(folder, 'x.af'), bytes)
  const damaged = await hyperslab(folder, ['stats', 'x.af', 'x'])
  expect([damaged.exitCode, damaged.stderr]).toEqual([1, expect.stringContaining("array 'x'")])
  const quick = JSON.parse(await lines(folder, 'stats', 'x.af', 'x', 'big', '--quick', '--json'))
  expect(quick).toEqual({ x: { ...whole.x, std: null }, big: { ...whole.big, std: null } })
  expect(await hyperslab(folder, ['stats', 'x.af', 'x', '--quick', '--sel', 'n=1'])).toMatchObject({ exitCode: 2, stdout: '' })
})

test('diff finds nothing between a file and its copies', async () => {
  const folder = await temporaryFolder()
  await lines(folder, 'import', NETCDF, 'c.af')
  await lines(folder, 'export', 'c.af', 'c.zarr', '--chunks', 'time=5,lat=7')
  expect(await lines(folder, 'diff', NETCDF, 'c.zarr')).toBe('nothing differs\n')
  expect(await lines(folder, 'diff', 'c.af', 'c.zarr', '--json')).toBe('[]\n')
})

test('diff says what differs: arrays, dimensions, types, attributes and values', async () => {
  const folder = await smallContainer()
  {
    await using file = await create(join(folder, 'other.af'))
    const dimensionNames = ['time', 'lat', 'lon']
    const t = file.createArray('t', { dtype: 'float64', shape: [2, 3, 4], chunks: [2, 2, 2], dimensionNames })
    t.attrs.set('units', 'C').set('long_name', 'temperature')
    const values = Array.from({ length: 24 }, (_, i) => (i === 7 ? 7.5 : i === 20 ? 20.25 : i))
    await t.set(null, values)
    const name = file.createArray('name', { dtype: 'string', shape: [2], dimensionNames: ['time'] })
    await name.set(null, ['one', 'three'])
    file.createArray('lon', { dtype: 'float64', shape: [3], dimensionNames: ['lon'] }).attrs.set('units', 'degrees_east')
    file.createArray('more', { dtype: 'int8', shape: [] })
    await file.flush()
  }
  const diff = async (...more: string[]) => {
    const { stdout, stderr, exitCode } = await hyperslab(folder, ['diff', 'small.af', 'other.af', ...more])
    return { exitCode, stderr, lines: stdout.split('\n').slice(0, -1) }
  }
  const { exitCode, stderr, lines: all } = await diff()
  expect([exitCode, stderr]).toEqual([1, ''])
  expect(all).toEqual([
    't: type: float32 / float64',
    't: attribute units: "K" / "C"',
    // One is missing in the first.
    't: 3 of 24 values differ at [1, 0, 0]: _ / 12',
    'time: array: int32 [2] / none',
    'lat: array: float64 [3] / none',
    'lon: shape: [4] / [3]',
    'id: array: int64 [2] / none',
    'name: 1 of 2 values differs at [1]: "two \\"2\\"" / "three"',
    'more: array: none / int8 []',
    'attribute title: "a small container" / none',
  ])
  expect((await diff('--variables', 't', '--tolerance', '0.25')).lines.at(-1)).toBe(
    't: 2 of 24 values differ at [1, 0, 0]: _ / 12',
  )
  const raw = await diff('--variables', 't', '--raw', '--json')
  expect(JSON.parse(raw.lines.join('\n')).at(-1)).toEqual({
    array: 't',
    what: 'values',
    first: -999,
    second: 12,
    different: 3,
    of: 24,
    at: [1, 0, 0],
    distance: 1011,
  })
  expect(await hyperslab(folder, ['diff', 'small.af', 'other.af', '--variables', 'none'])).toMatchObject({
    exitCode: 1,
    stdout: '',
  })
  expect(await hyperslab(folder, ['diff', 'small.af', 'other.af', '--tolerance', '-1'])).toMatchObject({
    exitCode: 2,
    stdout: '',
  })
})

test('diff names the value that is furthest away, with a tolerance in proportion, too', async () => {
  const folder = await temporaryFolder()
  for (const [name, values] of [
    ['a', [100, 200, 300, Number.NaN]],
    ['b', [101, 201, 290, Number.NaN]],
  ] as const) {
    await using file = await create(join(folder, `${name}.af`))
    await file.createArray('x', { dtype: 'float64', shape: [4], chunks: [1] }).set(null, [...values])
    await file.flush()
  }
  const { stdout } = await hyperslab(folder, ['diff', 'a.af', 'b.af'])
  expect(stdout).toBe('x: 3 of 4 values differ, most by 10 at [2]: 300 / 290\n')
  expect((await hyperslab(folder, ['diff', 'a.af', 'b.af', '--relative', '0.01'])).stdout).toMatch(/^x: 1 of 4 values differs, /)
  for (const share of ['0.04', '4e-2', '.4E-1', '4.'])
    expect(await lines(folder, 'diff', 'a.af', 'b.af', '--relative', share)).toBe('nothing differs\n')
})

test('attr lists, prints, sets and removes attributes of a container', async () => {
  const folder = await smallContainer()
  expect(await lines(folder, 'attr', 'small.af')).toBe('title  a small container\n')
  expect(await lines(folder, 'attr', 'small.af', 't')).toBe('units      K\nlong_name  temperature\n')
  expect(await lines(folder, 'attr', 'small.af', 't', 'units=C', 'comment=a=b')).toBe('')
  expect(await lines(folder, 'attr', 'small.af', 't', 'valid_range=-1,1.5', '--type', 'float32', '--delete', 'long_name')).toBe(
    '',
  )
  expect(await lines(folder, 'attr', 'small.af', 't', 'valid_range=0,2')).toBe('')
  expect(await lines(folder, 'attr', 'small.af', 't', 'units')).toBe('C\n')
  expect(JSON.parse(await lines(folder, 'attr', 'small.af', 't', '--json'))).toEqual({
    units: 'C',
    comment: 'a=b',
    valid_range: [0, 2],
  })
  await using file = await open(join(folder, 'small.af'))
  expect(file.array('t').attrs.typed('valid_range')).toEqual({ type: 'float32[]', value: Float32Array.of(0, 2) })
  expect(await file.array('t').get([0, 0, 1])).toBe(1)
})

test('attr changes attributes of Zarr, which keep their kind', async () => {
  const folder = await smallContainer()
  await lines(folder, 'export', 'small.af', 's.zarr')
  expect(await lines(folder, 'attr', 's.zarr', 't', 'units=1', 'long_name=x')).toBe('')
  expect(await lines(folder, 'attr', 's.zarr', 't', 'scale={"a":[1]}', '--type', 'json')).toBe('')
  expect(await lines(folder, 'attr', 's.zarr', '.', 'n=9007199254740993', '--type', 'int64', '--delete', 'title')).toBe('')
  expect(JSON.parse(await lines(folder, 'attr', 's.zarr', 't', '--json'))).toMatchObject({
    units: '1',
    long_name: 'x',
    scale: { a: [1] },
  })
  await using group = await openZarr(join(folder, 's.zarr'), { kind: 'group' })
  expect(Object.fromEntries(group.attrs)).toEqual({ n: 2n ** 53n + 1n })
})

test.each([
  [['t', 'n=1'], 2, "attribute 'n' is new, and 1 may be a text or a number: --type text or --type float64 tells"],
  [['t', 'n=x', '--type', 'int8'], 2, "attribute 'n': 'x' is no number of type int8"],
  [['t', 'n={}', '--type', 'json'], 2, '--type json is for Zarr: attributes of containers are texts and numbers'],
  [['t', 'units', 'units=C'], 2, "'units' is no change: name=value sets an attribute, --delete removes one"],
  [['t', 'units=C', 'units=K'], 2, "attribute 'units' is changed twice"],
  [['t', '--type', 'int8'], 2, '--type is for new values: name=value'],
  [['t', '=C'], 2, "'=C' names no attribute"],
  [['t', 'none'], 1, "small.af: array 't': there is no attribute 'none'; there are units, long_name"],
  [['t', 'units=C', '--delete', 'none'], 1, "small.af: array 't': there is no attribute 'none'; there are units, long_name"],
])('attr refuses %j, and changes nothing', async (args, exitCode, message) => {
  const folder = await smallContainer()
  expect(await hyperslab(folder, ['attr', 'small.af', ...args])).toMatchObject({
    exitCode,
    stdout: '',
    stderr: `hyperslab: ${message}\n`,
  })
  await using file = await open(join(folder, 'small.af'))
  expect([file.layers().length, file.array('t').attrs.get('units')]).toEqual([2, 'K'])
})

test.each(['attr', 'compact', 'verify'])('%s says that classic NetCDF is to be imported first', async (command) => {
  const { stderr, exitCode } = await hyperslab('.', [command, NETCDF, ...(command === 'attr' ? ['tas', 'units=C'] : [])])
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`import it first: hyperslab import ${NETCDF} out.af`)])
})
