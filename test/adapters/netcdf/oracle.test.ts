import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isFixed } from '../../../src/core/dtype.ts'
import { openNetcdf } from '../../../src/runtime/netcdf.ts'
import { FORMATS, type OracleValues } from '../hdf5/support.ts'
import { valuesOf } from './support.ts'

/** A variable as netCDF4 describes it. */
interface OracleVariable {
  readonly dtype: string
  readonly dimensions: readonly string[]
  readonly shape: readonly number[]
  readonly attrs: Readonly<Record<string, { readonly value?: unknown } | unknown>>
  readonly values: OracleValues
}

interface OracleNetcdf {
  readonly dimensions: Readonly<Record<string, readonly [number, boolean]>>
  readonly variables: Readonly<Record<string, OracleVariable>>
}

const { files } = JSON.parse(readFileSync(join(FORMATS, 'oracle.json'), 'utf8')) as {
  files: Record<string, { netCDF4: OracleNetcdf }>
}
const classic = Object.entries(files).filter(([name]) => name.startsWith('netcdf3/'))

test('the oracle has classic files', () => expect(classic.length).toBeGreaterThanOrEqual(10))

describe.each(classic)('%s', (name, { netCDF4 }) => {
  test('its dimensions, and its variables with their elements, are those that netCDF4 reads', async () => {
    await using file = await openNetcdf(join(FORMATS, name))
    const dimensions = file.dimensions.map((each) => [each.name, [each.length, each.isRecord]])
    expect(Object.fromEntries(dimensions)).toEqual(netCDF4.dimensions)
    expect(file.variables.map((each) => each.name)).toEqual(Object.keys(netCDF4.variables))
    for (const array of file.variables) {
      const { dtype, dimensions, shape, attrs, values } = netCDF4.variables[array.name]!
      expect([...array.attrs.keys()], array.name).toEqual(Object.keys(attrs))
      if (!isFixed(array.dtype)) {
        // Texts are joined here, and single characters there.
        expect(dtype).toMatch(/S1|str|char/)
        continue
      }
      expect([array.dtype, array.dimensionNames, array.shape], array.name).toEqual([dtype, dimensions, shape])
      const all = (await valuesOf(array)) as (number | bigint)[]
      expect(all.length).toBe(values.elements)
      for (const [at, value] of values.at ?? []) expect(String(all[at]), `${array.name} ${at}`).toBe(String(value))
      const finite = all.filter((value) => typeof value === 'bigint' || Number.isFinite(value))
      expect(finite.length).toBe(values.finite ?? 0)
      if (finite.length === 0) continue
      const sorted = finite.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
      expect([Number(sorted[0]), Number(sorted.at(-1))], array.name).toEqual([Number(values.min), Number(values.max)])
    }
  })
})
