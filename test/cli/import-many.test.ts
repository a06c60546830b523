import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pythonEnvironment } from '../../scripts/python.mjs'
import { openDataset } from '../../src/runtime/dataset.ts'
import { HDF5_PACKAGES } from '../support/hdf5-filters.ts'
import { hyperslab, temporaryFolder } from './support.ts'

const { env, failure } = pythonEnvironment(HDF5_PACKAGES)
if (failure !== undefined) console.warn(`SKIPPED: importing many files needs netCDF4: ${failure}`)

/** Writes four files of two days each: NetCDF-4, classic, CDF-5 and NetCDF-4 again. */
const WRITE = `
import sys, netCDF4, numpy
for i, kind in enumerate(['NETCDF4', 'NETCDF3_CLASSIC', 'NETCDF3_64BIT_DATA', 'NETCDF4_CLASSIC']):
    with netCDF4.Dataset(f'{sys.argv[1]}/{i}.nc', 'w', format=kind) as file:
        for name, length in [('time', None), ('y', 3), ('x', 4)]: file.createDimension(name, length)
        options = dict(zlib=True, chunksizes=(1, 3, 4)) if kind.startswith('NETCDF4') else {}
        t = file.createVariable('t', 'i2', ('time', 'y', 'x'), fill_value=-1, **options)
        t.set_auto_scale(False)
        t.scale_factor = 0.5
        t[:] = numpy.arange(24).reshape(2, 3, 4) + 24 * i
        file.createVariable('u', 'f4', ('time',))[:] = [i, -i]
        time = file.createVariable('time', 'i4', ('time',))
        time.units = 'days since 2000-01-01'
        time[:] = [2 * i, 2 * i + 1]
`

const SOURCES = ['0.nc', '1.nc', '2.nc', '3.nc']
const ALL = Array.from({ length: 96 }, (_, i) => i / 2)

describe.skipIf(env === undefined)('files of several formats are joined', () => {
  test.each(['zarr', 'af'])('in .%s, in chunks, and again', { timeout: 60_000 }, async (ending) => {
    const folder = await temporaryFolder()
    execFileSync('python3', ['-c', WRITE, folder], { env, stdio: 'inherit' })
    const args = ['import', ...SOURCES, `out.${ending}`, '--variables', 't', '--chunks', 'time=4,y=2']
    const first = await hyperslab(folder, args)
    expect([first.exitCode, first.stderr]).toEqual([0, ''])
    await using ds = await openDataset(join(folder, `out.${ending}`))
    expect(Object.keys(ds.variables)).toEqual(['t'])
    expect([...((await ds.get('t').values()) as Float32Array)]).toEqual(ALL)
    expect(ds.get('t').encoding).toMatchObject({ dtype: 'int16', chunks: [4, 2, 4], scale_factor: 0.5, _FillValue: -1 })
    const days = [...((await ds.get('time').values()) as BigInt64Array)].map((instant) => Number(instant / 86_400_000_000_000n))
    expect(days).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((day) => 10_957 + day))
    const again = await hyperslab(folder, args)
    if (ending === 'af') expect([again.exitCode, again.stderr]).toEqual([1, expect.stringMatching(/AlreadyExists|exist/)])
    else expect([again.exitCode, again.stdout]).toEqual([0, expect.stringContaining('complete already')])
  })
})
