import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { between } from '../../src/dataset/between.ts'
import type { RawVariable } from '../../src/dataset/cf/decode.ts'
import { cos, type DataArray } from '../../src/dataset/data-array.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import type { DatasetFile } from '../../src/dataset/dataset-file.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import { slice } from '../../src/grid/slice.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-python-'))
})
afterAll(() => rm(folder, { recursive: true }))

const time = [new Date('1998-01-16T12:00Z'), new Date('1998-02-16'), new Date('1998-03-16T12:00Z')]
const memory = new Dataset(
  { tas: { dims: ['time', 'lat', 'lon'], data: { data: new Float32Array(36), shape: [3, 3, 4] } } },
  {
    coords: {
      time,
      lat: { dims: ['lat'], data: [60, 0, -60], attrs: { units: 'degrees_north' } },
      lon: { dims: ['lon'], data: [0, 90, 180, 270], attrs: { units: 'degrees_east' } },
    },
  },
)

/** A dataset as one that was opened from a file. */
const opened = (place: DatasetFile['opened'], decode = true): Promise<Dataset> => {
  const all = [...Object.values(memory.variables), ...Object.values(memory.coords)]
  const variables = all.map(
    ({ name, array, dims, attrs }): RawVariable => ({ name, array, dims, attrs: new Map(Object.entries(attrs)) }),
  )
  return Dataset.from({ variables, ...(place && { opened: place }) }, { decode })
}

const lastLine = async (array: DataArray): Promise<string> => (await array.toPython()).trimEnd().split('\n').at(-1)!

test('a chain is code, from the file on', async () => {
  const ds = await opened({ format: 'netcdf', path: 'C:\\data\\"a".nc' })
  const tas = ds.get('tas')
  expect(
    await tas
      .sel({ time: '1998-01' })
      .mean({ axis: ['lat', 'lon'] })
      .toPython(),
  ).toBe(
    [
      'import xarray as xr',
      '',
      'ds = xr.open_dataset("C:\\\\data\\\\\\"a\\".nc")',
      'array = ds["tas"].sel(time="1998-01").mean(dim=["lat", "lon"])',
      '',
    ].join('\n'),
  )
  const cases: [DataArray, string][] = [
    [tas.sel({ lat: between(-10, 70) }), 'ds["tas"].sel(lat=slice(70, -10))'],
    [tas.sel({ time: time[0]! }), 'ds["tas"].sel(time=np.datetime64("1998-01-16T12:00", "ns"))'],
    [tas.sel({ lon: 359 }, { method: 'nearest' }), 'ds["tas"].sel(lon=0, method="nearest")'],
    [tas.sel({ lon: 10 }, { method: 'pad' }), 'ds["tas"].sel(lon=10, method="pad")'],
    // Latitudes descend here: of a label that is there both take the same.
    [tas.sel({ lat: 10 }, { method: 'pad' }), 'ds["tas"].sel(lat=0, method="pad")'],
    [tas.sel({ lat: 10 }, { method: 'backfill' }), 'ds["tas"].sel(lat=60, method="backfill")'],
    [tas.sel({ lon: [90, -90] }), 'ds["tas"].sel(lon=[90, 270])'],
    [tas.isel({ lon: slice(null, null, -1), lat: -1 }), 'ds["tas"].isel(lat=2, lon=slice(3, None, -1))'],
    [tas.resample({ time: 'MS' }).max(), 'ds["tas"].resample(time="MS").max()'],
    [
      tas.rolling({ time: 2 }, { center: true, minPeriods: 1 }).sum(),
      'ds["tas"].rolling(time=2, center=True, min_periods=1).sum()',
    ],
    [tas.sub(tas.groupBy('time.month').mean()), '(ds["tas"].groupby("time.month") - ds["tas"].groupby("time.month").mean())'],
    [tas.weighted(cos(ds.get('lat'))).mean({ axis: 'lat' }), 'ds["tas"].weighted(np.cos(np.deg2rad(ds["lat"]))).mean(dim="lat")'],
    [tas.where(tas.gt(271).and(tas.le(280.5).not())), 'ds["tas"].where(((ds["tas"] > 271) & (~(ds["tas"] <= 280.5))))'],
    [ds.get('time').ge(time[0]!), '(ds["time"] >= np.datetime64("1998-01-16T12:00", "ns"))'],
    [ds.get('time').ne(0n), '(ds["time"] != np.datetime64("1970-01-01T00:00", "ns"))'],
    [tas.lt(2 ** 62), '(ds["tas"] < 4611686018427387904)'],
    [tas.abs().sqrt(), 'np.sqrt(abs(ds["tas"]))'],
    [ds.rename({ tas: 'class' }).get('class').mul(-0.5), '(ds.rename({"tas": "class"})["class"] * -0.5)'],
  ]
  for (const [array, expression] of cases) expect(await lastLine(array)).toBe(`array = ${expression}`)
  const other = (await opened({ format: 'zarr', path: 'b.zarr', group: 'x' }, false)).get('tas')
  expect((await tas.add(other).toPython()).split('\n').slice(2)).toEqual([
    'ds = xr.open_dataset("C:\\\\data\\\\\\"a\\".nc")',
    'ds2 = xr.open_dataset("b.zarr", engine="zarr", group="x", decode_cf=False)',
    'array = (ds["tas"] + ds2["tas"])',
    '',
  ])
})

test('what was done stays as it was when arguments are changed afterwards', async () => {
  const tas = (await opened({ format: 'netcdf', path: 'a.nc' })).get('tas')
  const [axis, labels] = [['lat'], { lat: [60, 0] }]
  const array = tas.sel(labels).mean({ axis })
  axis.push('lon')
  labels.lat.pop()
  expect(await lastLine(array)).toBe('array = ds["tas"].sel(lat=[60, 0]).mean(dim=["lat"])')
})

test('what xarray has no equivalent of is refused, and named', async () => {
  const ds = await opened({ format: 'netcdf', path: 'a.nc' })
  const tas = ds.get('tas')
  const refused: [DataArray, RegExp][] = [
    [tas.sel({ lon: between(-100, 30) }).mean(), /sel through the end of lon, which begins anew after 360/],
    [tas.selPoints([{ lat: 0, lon: 90 }]), /selPoints/],
    [tas.coarsen({ lat: 3 }).mean({ skipMissing: false }), /coarsen with `skipMissing: false`/],
    [tas.groupBy('time.month').labels, /labels/],
    [tas.map((value) => value - 1), /map/],
    [tas.where((value) => value > 1), /where with a function/],
    [ds.assign({ x: { dims: ['lat'], data: [1, 2, 3] } }).get('x'), /assign/],
    [memory.get('tas').add(1), /made of values in memory/],
    [(await opened({ format: 'container', path: 'a.af' })).get('tas'), /a file of the format 'container'/],
  ]
  for (const [array, message] of refused)
    await expect(array.toPython()).rejects.toMatchObject({ tag: 'UnsupportedError', message: expect.stringMatching(message) })
})

test('files that are opened are told by their place', async () => {
  const path = join(folder, 'a.nc')
  const { writeFile } = await import('node:fs/promises')
  const variables = [{ name: 't', type: 'short' as const, dimensions: ['x'], values: [1, 2] }]
  await writeFile(path, writeNetcdf({ dimensions: [['x', 2]], variables }))
  await using ds = await openDataset(path)
  expect(await ds.get('t').toPython()).toContain(`ds = xr.open_dataset(${JSON.stringify(path)})\n`)
  const container = join(folder, 'a.af')
  await ds.write(container)
  await using other = await openDataset(container)
  await expect(other.get('t').toPython()).rejects.toThrow(/'container'/)
})
