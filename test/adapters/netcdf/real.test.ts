import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { DiskArray } from '../../../src/array/disk-array.ts'
import { openNetcdf } from '../../../src/runtime/netcdf.ts'
import { CountingFile, variable } from './support.ts'

const read = (path: string) => new CountingFile(readFileSync(new URL(`../../../${path}`, import.meta.url)))
const relative = (actual: number, expected: number): number => Math.abs(actual / expected - 1)

async function floats(counting: CountingFile, name: string) {
  const found = variable(await openNetcdf(counting), name)
  expect(found.dtype).toBe('float32')
  const array = found as unknown as DiskArray<'float32'>
  return { array, data: (await array.get(null)).data }
}

describe('monthly air temperatures', () => {
  const path = 'demo/data/tas_rectilinear_grid_2D.nc'

  test('what is in the file', async () => {
    const { dimensions, attrs, variables } = await openNetcdf(read(path))
    expect(dimensions).toEqual([
      { name: 'lon', length: 192, isRecord: false },
      { name: 'nb2', length: 2, isRecord: false },
      { name: 'lat', length: 96, isRecord: false },
      { name: 'time', length: 12, isRecord: true },
    ])
    expect(attrs.get('institute_id')).toBe('MPI-M')
    expect(attrs.typed('branch_time')).toEqual({ type: 'float64', value: 10957 })
    const tas = variables.find(({ name }) => name === 'tas')!
    expect(tas.attrs.typed('units')).toEqual({ type: 'string', value: 'K' })
    expect(tas.attrs.typed('_FillValue')).toEqual({ type: 'float32', value: Math.fround(1e20) })
    expect([tas.dtype, tas.shape, tas.dimensionNames]).toEqual(['float32', [12, 96, 192], ['time', 'lat', 'lon']])
    expect([tas.fillValue, tas.chunks.chunkShape]).toEqual([Math.fround(1e20), [12, 96, 192]])
  })

  test('its values', async () => {
    const { data } = await floats(read(path), 'tas')
    let [low, high, total] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0]
    const months = new Array<number>(12).fill(0)
    data.forEach((value, i) => {
      low = Math.min(low, value)
      high = Math.max(high, value)
      total += value
      months[Math.floor(i / (96 * 192))]! += value / (96 * 192)
    })
    expect([low, high]).toEqual([203.96768188476562, 317.2264709472656])
    expect(relative(total, 61649070.50531006)).toBeLessThan(1e-12)
    const expected = '276.7182 276.9498 276.7604 278.1721 279.7429 280.9356 281.2117 281.1328 280.1656 278.6419 277.2665 276.9787'
    expect(months.map((mean) => mean.toFixed(4)).join(' ')).toBe(expected)
  })

  test('a time series reads 12 elements', async () => {
    const counting = read(path)
    const { array, data } = await floats(counting, 'tas')
    counting.slices = []
    const series = await array.get([null, 40, 100])
    expect([...series.data]).toEqual(Array.from({ length: 12 }, (_, month) => data[(month * 96 + 40) * 192 + 100]))
    expect([counting.slices.length, counting.bytesRead]).toEqual([12, 48])
  })
})

test('sea surface temperatures', async () => {
  const { array, data } = await floats(read('test/fixtures/nc/tos_ocean_bipolar_grid.nc'), 'tos')
  const valid = [...data].filter((value) => value !== array.fillValue)
  expect([array.shape, data.length, valid.length]).toEqual([[1, 220, 256], 56320, 36791])
  expect(relative(valid.reduce((sum, value) => sum + value, 0) / valid.length, 283.27957323862404)).toBeLessThan(1e-12)
})
