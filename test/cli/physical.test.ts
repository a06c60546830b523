import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { create } from '../../src/runtime/index.ts'
import { hyperslab, temporaryFolder } from './support.ts'

/**
 * `packed.af`: `t(y 3, x 2)` of int16, packed by 0.01 and 273.15, with a fill value and another missing value; `u`, unsigned bytes; `count`,
 * integers that are not packed; `when`, times; latitudes under another name than their dimension's.
 */
async function packedContainer(): Promise<string> {
  const folder = await temporaryFolder()
  await using file = await create(join(folder, 'packed.af'))
  const dimensionNames = ['y', 'x']
  const t = file.define('t', { dtype: 'int16', shape: [3, 2], dimensionNames, fillValue: -32768 })
  t.attrs.set('scale_factor', { type: 'float32', value: -0.01 }).set('add_offset', { type: 'float32', value: 273.15 })
  t.attrs.set('units', 'K')
  await t.set(null, [0, 100, 200, 300, 400, -32768])
  const other = file.define('other', { dtype: 'int16', shape: [4], fillValue: -1 })
  other.attrs.set('scale_factor', 2).set('missing_value', { type: 'int16', value: 999 })
  await other.set(null, [1, 2, 999, -1])
  const u = file.define('u', { dtype: 'int8', shape: [2] })
  u.attrs.set('_Unsigned', 'true').set('scale_factor', 1)
  await u.set(null, [-1, 1])
  const count = file.define('count', { dtype: 'int32', shape: [3], fillValue: -9 })
  count.attrs.set('missing_value', { type: 'int32', value: -8 })
  await count.set(null, [5, -9, -8])
  const when = file.define('when', { dtype: 'timestamp_ns', shape: [2], fillValue: -1n })
  await when.set(null, [0n, -1n])
  const wrong = file.define('wrong', { dtype: 'int16', shape: [1] })
  wrong.attrs.set('scale_factor', 'one half')
  await wrong.set(null, [1])
  const north = file.define('north', { dtype: 'int16', shape: [3], dimensionNames: ['y'] })
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
    expect(await lines(folder, 'get', 'packed.af', 't')).toBe('[[273.15 272.15]\n [271.15 270.15]\n [269.15    NaN]]\n')
    expect(await lines(folder, 'get', 'packed.af', 't', '--raw')).toBe('[[     0    100]\n [   200    300]\n [   400 -32768]]\n')
    const json = JSON.parse(await lines(folder, 'get', 'packed.af', 't', '2', '-f', 'json'))
    expect(json).toEqual({ dtype: 'float32', shape: [2], data: [Math.fround(269.15), 'NaN'] })
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

test('info shows extremes of what values stand for', async () => {
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
  expect(failed.stdout).toMatch(/^ {2}other +2 +4 +2 +4$/m)
  expect(failed.stdout).toMatch(/^ {2}u +1 +255 +0 +2$/m)
  expect(failed.stdout).toMatch(/^ {2}count +5 +5 +2 +3$/m)
  expect(failed.stdout).toMatch(/^ {2}wrong +- +- +\? +\?$/m)
  expect(failed.stderr).toContain("array 'wrong': attribute 'scale_factor' must be numbers")
})

test('info counts NaNs apart from missing values, of which only one may be NaN', async () => {
  const folder = await temporaryFolder()
  {
    await using file = await create(join(folder, 'n.af'))
    const { NaN: nan } = Number
    const values = [nan, 1, 2, -9, -8, nan]
    await file.define('plain', { dtype: 'float32', shape: [6] }).set(null, values)
    await file.define('fill', { dtype: 'float32', shape: [6], fillValue: -9 }).set(null, values)
    const two = file.define('two', { dtype: 'float32', shape: [6], fillValue: -9 })
    two.attrs.set('missing_value', { type: 'float32', value: -8 })
    await two.set(null, values)
    const all = file.define('all', { dtype: 'float64', shape: [6], fillValue: nan })
    all.attrs.set('missing_value', -8)
    await all.set(null, values)
    await file.define('whole', { dtype: 'int8', shape: [1] }).set(null, [3])
    await file.flush()
  }
  const shown = await lines(folder, 'info', 'n.af')
  expect(shown).toMatch(/^ {2}name +min +max +missing +NaN +of/m)
  expect(shown).toMatch(/^ {2}plain +-9 +2 +0 +2 +6/m)
  expect(shown).toMatch(/^ {2}fill +-8 +2 +1 +2 +6/m)
  expect(shown).toMatch(/^ {2}two +1 +2 +2 +2 +6/m)
  expect(shown).toMatch(/^ {2}all +-9 +2 +3 +0 +6/m)
  expect(shown).toMatch(/^ {2}whole +3 +3 +0 +0 +1/m)
  const { arrays } = JSON.parse(await lines(folder, 'info', 'n.af', '--json'))
  const two = arrays.find((each: { name: string }) => each.name === 'two')
  expect(two.statistics).toEqual({ min: 1, max: 2, nullCount: 2, nanCount: 2, rowCount: 6 })
})

describe('plot', () => {
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
      const a = file.define('a', { dtype: 'uint8', shape: [2, 2], dimensionNames: ['y', 'x'] })
      await a.set(null, [0, 0, 9, 9])
      const along = file.define(name, { dtype: 'float64', shape: [2], dimensionNames: ['y'] })
      for (const [key, value] of Object.entries(attributes)) along.attrs.set(key, value)
      await along.set(null, [1, 2])
      await file.flush()
    }
    const drawn = (await lines(folder, 'plot', 'c.af', 'a', '--width', '12')).split('\n')
    expect(drawn[1]!.endsWith('@')).toBe(upward)
  })
})
