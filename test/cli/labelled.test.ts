import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPlace } from '../../src/cli/commands/place.ts'
import { addLabelOptions, selectArray } from '../../src/cli/commands/select.ts'
import { toFailure } from '../../src/cli/show/failure.ts'
import { create } from '../../src/runtime/index.ts'
import { hyperslab, temporaryFolder } from './support.ts'

/**
 * `packed.af`: `t(y 3, x 2)` of int16, packed by 0.01 and 273.15, with a fill value and another missing
 * value; `u`, unsigned bytes; `count`, integers that are not packed; `when`, times; latitudes under another
 * name than their dimension's.
 */
async function packedContainer(): Promise<string> {
  const folder = await temporaryFolder()
  await using file = await create(join(folder, 'packed.af'))
  const dimensionNames = ['y', 'x']
  const t = file.createArray('t', { dtype: 'int16', shape: [3, 2], dimensionNames, fillValue: -32768 })
  t.attrs.set('scale_factor', { type: 'float32', value: -0.01 }).set('add_offset', { type: 'float32', value: 273.15 })
  t.attrs.set('units', 'K')
  await t.set(null, [0, 100, 200, 300, 400, -32768])
  const other = file.createArray('other', { dtype: 'int16', shape: [4], fillValue: -1 })
  other.attrs.set('scale_factor', 2).set('missing_value', { type: 'int16', value: 999 })
  await other.set(null, [1, 2, 999, -1])
  const u = file.createArray('u', { dtype: 'int8', shape: [2] })
  u.attrs.set('_Unsigned', 'true').set('scale_factor', 1)
  await u.set(null, [-1, 1])
  const count = file.createArray('count', { dtype: 'int32', shape: [3], fillValue: -9 })
  count.attrs.set('missing_value', { type: 'int32', value: -8 })
  await count.set(null, [5, -9, -8])
  const inside = file.createArray('inside', { dtype: 'int16', shape: [4], chunks: [2], fillValue: -1 })
  inside.attrs.set('missing_value', { type: 'int16', value: 999 }).set('valid_min', { type: 'int16', value: 0 })
  await inside.set(null, [1, -1, 3, 2])
  const when = file.createArray('when', { dtype: 'timestamp_ns', shape: [2], fillValue: -1n })
  await when.set(null, [0n, -1n])
  const wrong = file.createArray('wrong', { dtype: 'int16', shape: [1] })
  wrong.attrs.set('scale_factor', 'one half')
  await wrong.set(null, [1])
  const north = file.createArray('north', { dtype: 'int16', shape: [3], dimensionNames: ['y'] })
  north.attrs.set('units', 'degrees_north').set('scale_factor', 0.5)
  await north.set(null, [-20, 0, 20])
  await file.flush()
  return folder
}

const lines = async (folder: string, ...args: string[]): Promise<string> => {
  const { stdout, stderr, exitCode } = await hyperslab(folder, args)
  expect([stderr, exitCode]).toEqual(['', 0])
  return stdout
}

describe('get', () => {
  test('unpacks, in the type of the attributes; --raw does not', async () => {
    const folder = await packedContainer()
    expect(await lines(folder, 'get', 'packed.af', 't')).toBe('[[273.15 272.15]\n [271.15 270.15]\n [269.15      _]]\n')
    expect(await lines(folder, 'get', 'packed.af', 't', '--raw')).toBe('[[     0    100]\n [   200    300]\n [   400 -32768]]\n')
    const json = JSON.parse(await lines(folder, 'get', 'packed.af', 't', '2', '-f', 'json'))
    expect(json).toEqual({ dtype: 'float32', shape: [2], data: [Math.fround(269.15), null] })
    const { bytes } = await hyperslab(folder, ['get', 'packed.af', 'other', '--format', 'bytes'])
    expect([0, 8, 16, 24].map((at) => bytes.readDoubleLE(at))).toEqual([2, 4, Number.NaN, Number.NaN])
    expect(await lines(folder, 'get', 'packed.af', 'u')).toBe('[255   1]\n')
  })

  test('marks missing values of what is not packed', async () => {
    const folder = await packedContainer()
    expect(await lines(folder, 'get', 'packed.af', 'count')).toBe('[5 _ _]\n')
    expect(await lines(folder, 'get', 'packed.af', 'count', '--raw')).toBe('[ 5 -9 -8]\n')
    expect(JSON.parse(await lines(folder, 'get', 'packed.af', 'count', '-f', 'json')).data).toEqual([5, null, null])
    expect(await lines(folder, 'get', 'packed.af', 'when')).toMatch(/^\[1970-\S+ +_\]\n$/)
  })

  test('refuses attributes of another type, and says what does not', async () => {
    const folder = await packedContainer()
    const { stderr, exitCode } = await hyperslab(folder, ['get', 'packed.af', 'wrong'])
    expect(exitCode).toBe(1)
    expect(stderr).toBe(
      "hyperslab: packed.af: array 'wrong': attribute 'scale_factor' must be numbers, got the text 'one half'; --raw shows the stored values\n",
    )
    expect(await lines(folder, 'get', 'packed.af', 'wrong', '--raw')).toBe('[1]\n')
  })
})

test('reduce takes what values stand for', async () => {
  const folder = await packedContainer()
  const reduced = async (...args: string[]) => Number(await lines(folder, 'reduce', 'packed.af', ...args))
  expect(await reduced('t', '--op', 'max')).toBe(273.15)
  expect(await reduced('t', '--op', 'mean', '--axis', '0,1')).toBeCloseTo(271.15, 4)
  expect(await reduced('t', '--op', 'max', '--raw')).toBe(400)
  expect(await reduced('other', '--op', 'sum')).toBe(6)
  expect(await reduced('other', '--op', 'sum', '--keep-missing')).toBeNaN()
  expect(await reduced('other', '--op', 'sum', '--keep-missing', '--raw')).toBe(1 + 2 + 999 - 1)
  expect(await reduced('count', '--op', 'sum')).toBe(5)
})

test('info shows extremes of what values stand for, where chunks tell them without being read', async () => {
  const folder = await packedContainer()
  const table = async (...args: string[]) =>
    Object.fromEntries(
      JSON.parse(await lines(folder, 'info', 'packed.af', '--json', ...args)).arrays.map((each: never) => {
        const { name, statistics } = each as { name: string; statistics: Record<string, unknown> | null }
        return [name, statistics && [statistics['min'], statistics['max'], statistics['nullCount']]]
      }),
    )
  const raw = await table('--raw')
  expect([raw.t, raw.other, raw.u, raw.count]).toEqual([[0, 400, 1], [1, 999, 1], [-1, 1, 0], [-8, 5, 1]]) // biome-ignore format: one line
  const failed = await hyperslab(folder, ['info', 'packed.af'])
  expect(failed.exitCode).toBe(1)
  expect(failed.stdout).toMatch(/^ {2}t +269\.15 +273\.15 +1 +6 +K$/m)
  expect(failed.stdout).toMatch(/^ {2}inside +1 +3 +1 +4$/m)
  for (const name of ['other', 'u', 'count']) expect(failed.stdout).toMatch(new RegExp(`^ {2}${name} +- +- +\\? +\\?$`, 'm'))
  expect(failed.stdout).toMatch(/^ {2}wrong +- +- +\? +\?$/m)
  expect(failed.stderr).toContain("array 'wrong': attribute 'scale_factor' must be numbers")
})

test('info counts NaNs apart from missing values, of which only one may be NaN', async () => {
  const folder = await temporaryFolder()
  {
    await using file = await create(join(folder, 'n.af'))
    const { NaN: nan } = Number
    const values = [nan, 1, 2, -9, -8, nan]
    await file.createArray('plain', { dtype: 'float32', shape: [6] }).set(null, values)
    await file.createArray('fill', { dtype: 'float32', shape: [6], fillValue: -9 }).set(null, values)
    const two = file.createArray('two', { dtype: 'float32', shape: [6], fillValue: -9 })
    two.attrs.set('missing_value', { type: 'float32', value: -8 })
    await two.set(null, values)
    const all = file.createArray('all', { dtype: 'float64', shape: [6], fillValue: nan })
    all.attrs.set('missing_value', -8)
    await all.set(null, values)
    const far = file.createArray('far', { dtype: 'float32', shape: [6] })
    far.attrs.set('missing_value', { type: 'float32', value: 1000 })
    await far.set(null, values)
    await file.createArray('whole', { dtype: 'int8', shape: [1] }).set(null, [3])
    await file.flush()
  }
  const shown = await lines(folder, 'info', 'n.af')
  expect(shown).toMatch(/^ {2}name +min +max +missing +NaN +of/m)
  expect(shown).toMatch(/^ {2}plain +-9 +2 +0 +2 +6/m)
  expect(shown).toMatch(/^ {2}fill +-8 +2 +1 +2 +6/m)
  // Elements that are missing by an attribute may lie between the bounds, so that the statistics are unknown.
  for (const name of ['two', 'all']) expect(shown).toMatch(new RegExp(`^ {2}${name} +- +- +\\? +\\? +\\?`, 'm'))
  expect(shown).toMatch(/^ {2}far +-9 +2 +0 +2 +6/m)
  expect(shown).toMatch(/^ {2}whole +3 +3 +0 +0 +1/m)
  const { arrays } = JSON.parse(await lines(folder, 'info', 'n.af', '--json'))
  const statistics = Object.fromEntries(arrays.map((each: { name: string; statistics: unknown }) => [each.name, each.statistics]))
  expect(statistics.two).toBeNull()
  expect(statistics.far).toEqual({ min: -9, max: 2, nullCount: 0, nanCount: 2, rowCount: 6 })
})

describe('plot', () => {
  test('writes pictures, and says what they show', async () => {
    const folder = await packedContainer()
    expect((await lines(folder, 'plot', 'packed.af', 't', '--output', 'map.png')).split('\n')).toEqual([
      't (K)',
      'y 10N to 10S, downwards; x 0 to 1',
      'dark is 269.15, light 273.15 K',
      '1 missing value left transparent',
      expect.stringMatching(/^map\.png: \d/),
      '',
    ])
    const bytes = await readFile(join(folder, 'map.png'))
    // Three rows of two: each element is shown 200 times beside itself.
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([400, 600])
    expect((await hyperslab(folder, ['plot', 'packed.af', 't', '--output', 'map.jpg'])).stderr).toMatch(/must end in \.png/)
    expect((await hyperslab(folder, ['plot', 'packed.af', 't', '--output', 'packed.af/map.png'])).exitCode).toBe(1)
  })

  test('unpacks, and puts north up by a coordinate of another name', async () => {
    const folder = await packedContainer()
    const drawn = (await lines(folder, 'plot', 'packed.af', 't', '--width', '12')).split('\n')
    expect([drawn[1]!.slice(0, 4), drawn.find((line) => line.startsWith('10S'))]).toEqual(['10N ', expect.anything()])
    expect(drawn.at(-3)).toBe('269.15 .=*@ 273.15 K')
    expect(drawn.at(-2)).toBe('1 missing value left blank')
    expect(await lines(folder, 'plot', 'packed.af', 't', '--raw', '--width', '12')).toContain('-32768 ')
  })

  test.each([
    ['y', { standard_name: 'latitude' }, true],
    ['y', { axis: 'Y' }, true],
    ['y', { units: 'degreesN' }, true],
    ['y', { standard_name: 'projection_y_coordinate', units: 'm' }, true],
    ['y', { units: 'm' }, false],
    ['other', { units: 'degree_north' }, true],
    ['other', { axis: 'Y', units: 'm' }, true],
    ['other', { units: 'm' }, false],
  ])('a coordinate %s with %j: upwards %s', async (name, attributes, upward) => {
    const folder = await temporaryFolder()
    {
      await using file = await create(join(folder, 'c.af'))
      const a = file.createArray('a', { dtype: 'uint8', shape: [2, 2], dimensionNames: ['y', 'x'] })
      await a.set(null, [0, 0, 9, 9])
      const along = file.createArray(name, { dtype: 'float64', shape: [2], dimensionNames: ['y'] })
      for (const [key, value] of Object.entries(attributes)) along.attrs.set(key, value)
      await along.set(null, [1, 2])
      await file.flush()
    }
    const drawn = (await lines(folder, 'plot', 'c.af', 'a', '--width', '12')).split('\n')
    expect(drawn[1]!.endsWith('@')).toBe(upward)
  })
})

/**
 * `labels.af`: `t(time 4, lat 3, lon 4)` counting up from 0, every six hours from 1998-01-31T12:00, north
 * first, longitudes from 0; `v(time)`, which are the times of a calendar without leap days; `n(station)`,
 * with names; `c(x, x)`.
 */
async function labelledContainer(folder: string): Promise<void> {
  await using file = await create(join(folder, 'labels.af'))
  const dimensionNames = ['time', 'lat', 'lon']
  const count = (length: number): Float32Array => Float32Array.from({ length }, (_, i) => i)
  await file.createArray('t', { dtype: 'float32', shape: [4, 3, 4], dimensionNames }).set(null, count(48))
  const time = file.createArray('time', { dtype: 'int32', shape: [4], dimensionNames: ['time'] })
  time.attrs.set('units', 'hours since 1998-01-31 12:00')
  await time.set(null, [0, 6, 12, 18])
  const lat = file.createArray('lat', { dtype: 'float32', shape: [3], dimensionNames: ['lat'] })
  await lat.set(null, [50.1, 50, 49.9])
  const lon = file.createArray('lon', { dtype: 'int64', shape: [4], dimensionNames: ['lon'] })
  lon.attrs.set('units', 'degrees_east')
  await lon.set(null, [0n, 90n, 180n, 270n])
  const v = file.createArray('v', { dtype: 'float64', shape: [2, 2], dimensionNames: ['time_of_model', 'bnds'] })
  v.attrs.set('units', 'days since 2000-02-28').set('calendar', 'noleap').set('_FillValue', -1)
  await v.set(null, [0, 1, 1.5, -1])
  await file.createArray('n', { dtype: 'uint8', shape: [3], dimensionNames: ['station'] }).set(null, [7, 8, 9])
  await file.createArray('station', { dtype: 'string', shape: [3], dimensionNames: ['station'] }).set(null, ['a', 'b:c', 'd'])
  await file.createArray('c', { dtype: 'int8', shape: [2, 2], dimensionNames: ['x', 'x'] }).set(null, [1, 2, 3, 4])
  const months = file.createArray('months', { dtype: 'int8', shape: [2] })
  months.attrs.set('units', 'months since 2000-01-01')
  await months.set(null, [0, 1])
  const bounded = file.createArray('span', { dtype: 'int8', shape: [1], dimensionNames: ['span'] })
  bounded.attrs.set('units', 'days since 2000-01-01').set('bounds', 'span_bnds')
  await bounded.set(null, [1])
  await file.createArray('span_bnds', { dtype: 'int8', shape: [1, 2], dimensionNames: ['span', 'bnds'] }).set(null, [0, 2])
  await file.flush()
}

describe('--sel', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-labels-'))
    await labelledContainer(folder)
  })
  afterAll(() => rm(folder, { recursive: true }))

  /** Returns the numbers that `get` would print for an array with an optional selection and options. */
  async function selected([name = '', ...args]: readonly string[]): Promise<number[]> {
    await using place = await openPlace(join(folder, 'labels.af'), {})
    const command = addLabelOptions(
      new Command('get')
        .exitOverride()
        .configureOutput({ writeErr: () => {} })
        .argument('[selection]'),
    )
    command.parse(args, { from: 'user' })
    const { variable } = await selectArray(place, await place.array(name), command.args[0] ?? '', command.opts())
    return Array.from((await variable.array.toTensor()).data as ArrayLike<number>)
  }

  test.each([
    [
      ['t', '--sel', 'time=1998-02', 'lat=50', 'lon=90'],
      [29, 41],
    ],
    [
      ['t', '--sel', 'time=1998-02-01T06:00', 'lat=49.9', 'lon=0:90'],
      [44, 45],
    ],
    [
      ['t', '--sel', 'time=1998-01-31T18:1998-02-01T00:00', 'lat=50.1', 'lon=0'],
      [12, 24],
    ],
    [
      ['t', '--sel', 'time=:1998-01', 'lat=50.1', 'lon=0'],
      [0, 12],
    ],
    [
      ['t', '--sel', 'time=1998-02:', 'lat=50.1', 'lon=0'],
      [24, 36],
    ],
    [
      ['t', '0', '--sel', 'lat=50:', 'lon=-90:0'],
      [3, 0, 7, 4],
    ],
    [
      ['t', '0', '--sel', 'lat=49.9,50.1', '--sel', 'lon=180'],
      [10, 2],
    ],
    [['t', '0', '--sel', 'lat=50.04', 'lon=100', '--method', 'nearest'], [5]],
    [
      ['t', '0', '--sel', 'lat=49:51', 'lon=100', '--method', 'pad', '--tolerance', '10'],
      [1, 5, 9],
    ],
    [
      ['t', '::2,-1', '--sel', 'lon=0'],
      [8, 32],
    ],
    [['n', '--sel', 'station=b:c'], [8]],
    [
      ['n', '--sel', 'station=d,a'],
      [9, 7],
    ],
  ])('%j', async (args, expected) => {
    expect(await selected(args)).toEqual(expected)
  })

  test.each([
    [
      ['t', '--sel', 'time=1999'],
      1,
      /labels\.af: array 't': no label along time is from 1999-01-01.*: they go from 1998-01-31T12:00/,
    ],
    [['t', '--sel', 'lat=50.5'], 1, /array 't': no label along lat is 50\.5: they go from/],
    [['t', '--sel', 'height=2'], 1, /array 't': there is no dimension "height"; labels are along time, lat, lon/],
    [['c', '--sel', 'x=2'], 1, /array 'c': the dimension x has no coordinate/],
    [['t', '--sel', 'lat=70:35'], 1, /array 't': a range along lat goes from 70 down to 35/],
    [['t', '--sel', 'lat=north'], 2, /^--sel lat: 'north' is no number, as labels along lat are, nor a range of two$/],
    [['t', '--sel', 'lat=1:2:3'], 2, /--sel lat: '1:2:3' is no number/],
    [['t', '--sel', 'time=now'], 1, /array 't': "now" is not a time/],
    [['t', '--sel', 'lat'], 2, /It must be like time=1998-01 or lat=35:70/],
    [['t', '--sel', 'lat=50', 'lat=49'], 2, /It has lat twice/],
    [['t', '0', '--sel', 'time=1998-01'], 2, /^time is selected twice: by --sel, and by position/],
    [['t', '--method', 'nearest'], 2, /--method requires --sel/],
    [['t', '--sel', 'lat=50', '--tolerance', '1'], 2, /--tolerance requires --method/],
    [['t', '--sel', 'lat=50', '--method', 'next'], 2, /Allowed choices are nearest, pad, backfill/],
    [
      ['t', '--sel', 'time=1998-01-31T19', 'lat=50', '--method', 'nearest', '--tolerance', '2h'],
      1,
      /array 't': tolerance along lat is a number/,
    ],
  ])('refuses %j', async (args, exitCode, message) => {
    const error = await selected(args).catch((error) => error)
    expect([toFailure(error).exitCode, error.message]).toEqual([exitCode, expect.stringMatching(message)])
  })

  test('is of reduce, by names of dimensions or numbers of axes, and of plot', async () => {
    const reduced = (...args: string[]) => lines(folder, 'reduce', 'labels.af', 't', '--sel', 'lat=50', 'time=1998-02', ...args)
    expect(await reduced('--op', 'mean')).toBe('35.5\n')
    expect(await reduced('--op', 'max', '--axis', 'time')).toBe('[40 41 42 43]\n')
    expect(await reduced('--op', 'max', '--axis', '-1')).toBe('[31 43]\n')
    const dropped = await hyperslab(folder, ['reduce', 'labels.af', 't', '--sel', 'lat=50', '--op', 'max', '--axis', '1'])
    expect(dropped.stderr).toMatch(/array 't': there is no dimension "lat": there are time, lon/)
    const drawn = await lines(folder, 'plot', 'labels.af', 't', '--sel', 'time=1998-02-01T06:00', 'lon=-90:90', '--width', '20')
    const [, where, top, ...rest] = drawn.split('\n')
    expect([where, top!.slice(0, 6), rest.at(-3)]).toEqual([
      'time 3 = 1998-02-01 06:00',
      '50.1 -',
      expect.stringMatching(/^ +90W +lon +90E$/),
    ])
  })
})

test('times are dates, of any calendar; sums of them are none', async () => {
  const folder = await temporaryFolder()
  await labelledContainer(folder)
  expect(await lines(folder, 'get', 'labels.af', 'v')).toBe(
    '[[      2000-02-28       2000-03-01]\n [2000-03-01T12:00                _]]\n'
      .replaceAll('      2000-02-28', '2000-02-28T00:00')
      .replaceAll('      2000-03-01]', '2000-03-01T00:00]'),
  )
  const json = async (...args: string[]) => JSON.parse(await lines(folder, ...args, '-f', 'json'))
  expect(await json('get', 'labels.af', 'v', '1')).toEqual({
    ...{ dtype: 'float64', calendar: 'noleap', shape: [2], data: ['2000-03-01T12:00', null] },
  })
  expect(await json('get', 'labels.af', 'time', ':2')).toEqual({
    ...{ dtype: 'timestamp_ns', calendar: 'standard', shape: [2], data: ['1998-01-31T12:00', '1998-01-31T18:00'] },
  })
  expect(await lines(folder, 'get', 'labels.af', 'time', ':2', '--raw')).toBe('[0 6]\n')
  expect(await lines(folder, 'get', 'labels.af', 'span_bnds')).toBe('[[2000-01-01T00:00 2000-01-03T00:00]]\n')
  expect(await lines(folder, 'reduce', 'labels.af', 'time', '--op', 'max')).toBe('1998-02-01T06:00\n')
  expect(await lines(folder, 'reduce', 'labels.af', 'v', '--op', 'mean')).toBe('2000-02-28T20:00\n')
  expect(await hyperslab(folder, ['reduce', 'labels.af', 'v', '--op', 'sum'])).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: "hyperslab: labels.af: array 'v': there is no sum of times\n",
  })
  expect(await lines(folder, 'reduce', 'labels.af', 'v', '--op', 'sum', '--raw')).toBe('1.5\n')
  const { stderr, exitCode } = await hyperslab(folder, ['get', 'labels.af', 'months'])
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(/array 'months': times in 'months since.*; --raw shows the stored/),
  ])
  expect(await lines(folder, 'get', 'labels.af', 'months', '--raw')).toBe('[0 1]\n')
  const info = await lines(folder, 'info', 'labels.af')
  expect(info).toMatch(/^ {2}time +1998-01-31T12:00 +1998-02-01T06:00 +0 +4 /m)
  expect(info).toMatch(/^ {2}months +0 +1 +0 +2 +months since/m)
  const { arrays } = JSON.parse(await lines(folder, 'info', 'labels.af', '--json'))
  expect(arrays[1].statistics).toMatchObject({ min: '1998-01-31T12:00', max: '1998-02-01T06:00' })
})

test('axes of one name are numbered', async () => {
  const folder = await temporaryFolder()
  await labelledContainer(folder)
  expect(await lines(folder, 'get', 'labels.af', 'c')).toBe('[[1 2]\n [3 4]]\n')
  expect(await lines(folder, 'reduce', 'labels.af', 'c', '--op', 'sum', '--axis', 'dim_1')).toBe('[3 7]\n')
})
