import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  utf8,
  type WriterAttribute,
  type WriterFile,
  type WriterType,
  type WriterVariable,
  writeNetcdf,
} from './netcdf-writer.ts'

const text = (name: string, value: string): WriterAttribute => ({ name, type: 'char', value })
const number = (name: string, type: WriterType, ...value: number[]): WriterAttribute => ({ name, type, value })

const range = (count: number, of: (i: number) => number): number[] => Array.from({ length: count }, (_, i) => of(i))

const variable = (
  name: string,
  type: WriterType,
  dimensions: readonly string[],
  values: readonly number[],
  ...attributes: WriterAttribute[]
): WriterVariable => ({ name, type, dimensions, values, attributes })

const lat = (values: readonly number[]) => variable('lat', 'float', ['lat'], values, text('units', 'degrees_north'))
const lon = (values: readonly number[]) => variable('lon', 'float', ['lon'], values, text('units', 'degrees_east'))

/** Monthly means of a calendar: the day in the middle of each month of two years. */
const calendar = (name: string, lengths: readonly number[]): WriterFile => {
  const starts = lengths.map((_, month) => lengths.slice(0, month).reduce((a, b) => a + b, 0))
  const year = lengths.reduce((a, b) => a + b, 0)
  const days = range(24, (i) => year * Math.floor(i / 12) + starts[i % 12]! + lengths[i % 12]! / 2)
  return {
    dimensions: [['time', 24]],
    variables: [
      variable('time', 'double', ['time'], days, text('units', 'days since 1999-01-01'), text('calendar', name)),
      variable(
        'tas',
        'float',
        ['time'],
        range(24, (i) => 280 + (i % 12) + (i >= 12 ? 2 : 0)),
        text('units', 'K'),
      ),
    ],
  }
}

const stations = ['Potsdam', 'Zugspitze', 'Helgoland']

/** Grids that go wrong where they are taken for what they seem to be; all are classic NetCDF. */
export const GRIDS: Readonly<Record<string, WriterFile>> = {
  'longitudes-0-360.nc': {
    dimensions: [['lat', 2], ['lon', 8]], // biome-ignore format: one line
    variables: [
      lat([-30, 30]),
      lon(range(8, (i) => 45 * i)),
      variable(
        'tas',
        'float',
        ['lat', 'lon'],
        range(16, (i) => 280 + i),
      ),
    ],
  },
  'latitudes-down.nc': {
    dimensions: [['lat', 5]],
    variables: [lat([60, 30, 0, -30, -60]), variable('tas', 'float', ['lat'], [270, 285, 300, 290, 275])],
  },
  'packed.nc': {
    dimensions: [['x', 4]],
    variables: [
      variable(
        'tas',
        'short',
        ['x'],
        [-32768, 0, 100, -100],
        number('scale_factor', 'float', 0.5),
        number('add_offset', 'float', 280),
        number('_FillValue', 'short', -32768),
        text('units', 'K'),
      ),
    ],
  },
  'noleap.nc': calendar('noleap', [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]),
  '360_day.nc': calendar(
    '360_day',
    range(12, () => 30),
  ),
  'unsigned.nc': {
    dimensions: [['x', 4]],
    variables: [
      variable(
        'cloud',
        'byte',
        ['x'],
        [0, 100, -56, -1],
        text('_Unsigned', 'true'),
        number('_FillValue', 'byte', -1),
        number('scale_factor', 'float', 0.5),
      ),
    ],
  },
  'two-missing.nc': {
    dimensions: [['x', 5]],
    variables: [
      variable(
        'pr',
        'float',
        ['x'],
        [1, 1e20, 2, -999, 3],
        number('_FillValue', 'float', 1e20),
        number('missing_value', 'float', -999),
      ),
    ],
  },
  'other-names.nc': {
    dimensions: [['y', 2], ['x', 3]], // biome-ignore format: one line
    variables: [
      variable('lat', 'double', ['y'], [50, 52.5], text('units', 'degrees_north')),
      variable('lon', 'double', ['x'], [10, 12.5, 15], text('units', 'degrees_east')),
      variable(
        'tas',
        'float',
        ['y', 'x'],
        range(6, (i) => 280 + i),
        text('coordinates', 'lat lon'),
      ),
    ],
  },
  'characters.nc': {
    dimensions: [['station', 3], ['name_strlen', 9]], // biome-ignore format: one line
    variables: [
      variable(
        'station',
        'char',
        ['station', 'name_strlen'],
        stations.flatMap((name) => utf8(name.padEnd(9, '\0'))),
      ),
      variable('tas', 'float', ['station'], [283, 271, 282]),
    ],
  },
  'swath.nc': {
    dimensions: [['line', 6], ['pixel', 5]], // biome-ignore format: one line
    variables: [
      variable(
        'lat',
        'double',
        ['line', 'pixel'],
        range(30, (i) => 50 + 0.5 * Math.floor(i / 5) + 0.1 * (i % 5)),
        text('units', 'degrees_north'),
      ),
      variable(
        'lon',
        'double',
        ['line', 'pixel'],
        range(30, (i) => 178 + 0.8 * (i % 5) - 0.1 * Math.floor(i / 5)),
        text('units', 'degrees_east'),
      ),
      variable(
        'tas',
        'float',
        ['line', 'pixel'],
        range(30, (i) => 270 + i),
        text('coordinates', 'lat lon'),
      ),
    ],
  },
  'bounds.nc': {
    dimensions: [['time', 2], ['nv', 2]], // biome-ignore format: one line
    variables: [
      variable('time', 'double', ['time'], [15, 45], text('units', 'days since 1998-01-01'), text('bounds', 'time_bnds')),
      variable('time_bnds', 'double', ['time', 'nv'], [0, 31, 31, 59]),
      variable('height', 'float', [], [2], text('units', 'm')),
      variable('tas', 'float', ['time'], [271, 275], text('coordinates', 'height')),
    ],
  },
}

/** Writes them into a folder. */
export async function writeGrids(folder: string): Promise<void> {
  for (const [name, file] of Object.entries(GRIDS)) await writeFile(join(folder, name), writeNetcdf(file))
}
