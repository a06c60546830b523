// Containers for the example to answer from: real data, as the command imports it and the other way round,
// and more than a Worker can hold.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVariables } from '../../../demo/expected.mjs'
import { create, DiskArray } from '../../../dist/index.js'
import { root } from './tools.mjs'

const NETCDF = join(root, 'demo/data/tas_rectilinear_grid_2D.nc')

/** Shape, coordinates and values of `tas`, read without the package. */
export function demoGrid() {
  const variables = readVariables(NETCDF)
  const [tas, lat, lon, time] = ['tas', 'lat', 'lon', 'time'].map((name) => variables.get(name))
  return {
    shape: tas.shape,
    lat: lat.values,
    lon: lon.values,
    time: time.values,
    at: (t, y, x) => tas.values[indexIn(tas.shape, t, y, x)],
  }
}

const indexIn = ([, rows, columns], t, y, x) => (t * rows + y) * columns + x

export function importDemo(folder) {
  const path = join(folder, 'climate.af')
  execFileSync(process.execPath, [join(root, 'dist/cli.js'), 'import', NETCDF, path], { stdio: 'pipe' })
  return readFileSync(path)
}

/**
 * The same data from north to south and from 180 degrees west to 180 east, in chunks that end nowhere near
 * the seams, packed as int16.
 */
export function flipped(grid) {
  const [, rows, columns] = grid.shape
  const half = columns / 2
  return {
    shape: grid.shape,
    lat: [...grid.lat].reverse(),
    lon: Array.from({ length: columns }, (_, x) => (x < half ? grid.lon[x + half] - 360 : grid.lon[x - half])),
    time: grid.time,
    // One cell without data.
    at: (t, y, x) =>
      t === 3 && y === 5 && x === 0 ? null : packed(grid.at(t, rows - 1 - y, (x + half) % columns)) * SCALE + OFFSET,
  }
}

const [SCALE, OFFSET, FILL] = [0.01, 250, -32768]
const packed = (value) => Math.round((value - OFFSET) / SCALE)

export async function writeFlipped(folder, { shape, lat, lon, time, at }) {
  const options = { dtype: 'int16', shape, chunks: [5, 7, 11], dimensionNames: ['time', 'lat', 'lon'], fillValue: FILL }
  const pack = (value) => (value === null ? FILL : packed(value))
  return write(join(folder, 'flipped.af'), { lat, lon, time }, 4096, async (file) => {
    const array = file.createArray('tas', options)
    array.attrs.set('scale_factor', SCALE)
    array.attrs.set('add_offset', OFFSET)
    const values = Int16Array.from({ length: shape[0] * shape[1] * shape[2] })
    for (let i = 0; i < values.length; i++) values[i] = pack(at(...placeOf(shape, i)))
    await array.set(null, values)
    file.createArray('soil', { dtype: 'float32', shape: [2, shape[1], shape[2]], dimensionNames: ['depth', 'lat', 'lon'] })
    const land = file.createArray('land', { dtype: 'uint8', shape: shape.slice(1), dimensionNames: ['lat', 'lon'] })
    await land.set(null, 7)
  })
}

const placeOf = ([, rows, columns], i) => [Math.floor(i / (rows * columns)), Math.floor(i / columns) % rows, i % columns]

/** 249 MB decoded. Every chunk is a block of its own and holds all times of its cells. */
export const LARGE = {
  shape: [240, 360, 720],
  chunkShape: [240, 30, 60],
  lat: Array.from({ length: 360 }, (_, y) => -89.75 + y / 2),
  lon: Array.from({ length: 720 }, (_, x) => 0.25 + x / 2),
  time: Array.from({ length: 240 }, (_, t) => t),
  at: (t, y, x) => t * 2 + y + Math.floor(x / 60),
}

export async function writeLarge(folder) {
  const { shape, chunkShape, lat, lon, time, at } = LARGE
  const readBlock = ([t, y, x], { data, offset, stride }) => {
    for (let i = t.start; i < t.stop; i++)
      for (let j = y.start; j < y.stop; j++) {
        const row = offset + (i - t.start) * stride[0] + (j - y.start) * stride[1]
        for (let k = x.start; k < x.stop; k++) data[row + (k - x.start) * stride[2]] = at(i, j, k)
      }
  }
  const source = new DiskArray({ dtype: 'float32', shape, chunks: chunkShape, readBlock })
  return write(join(folder, 'large.af'), { lat, lon, time }, 2 ** 20, async (file) => {
    const array = file.createArray('tas', { dtype: 'float32', shape, chunks: chunkShape, dimensionNames: ['time', 'lat', 'lon'] })
    await array.copyFrom(source)
  })
}

/** Coordinates come last: there they share a block. */
async function write(path, coordinates, blockBytes, fill) {
  const file = await create(path, { blockBytes })
  await fill(file)
  for (const [name, values] of Object.entries(coordinates)) {
    const array = file.createArray(name, { dtype: 'float64', shape: [values.length], dimensionNames: [name] })
    await array.set(null, Float64Array.from(values))
  }
  file.array('time').attrs.set('units', 'days since 1850-01-01')
  await file.flush()
  await file.compact()
  await file.close()
  return readFileSync(path)
}
