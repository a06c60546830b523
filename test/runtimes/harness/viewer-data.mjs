// Files that the viewer is tried with.
import { writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { execute } from './processes.mjs'
import { root } from './tools.mjs'

export const NETCDF = join(root, 'demo/data/tas_rectilinear_grid_2D.nc')
/** Shape of the container `wide.af`. A quarter holds no values, and some rows and columns are missing. */
export const WIDE = { shape: [1700, 1600], steps: [2, 1], missing: { row: 850, column: 800 } }

/** @param dist the package that writes them */
export async function makeContainers(folder, dist) {
  const { code, stderr } = await execute(process.execPath, [join(dist, 'cli.js'), 'import', NETCDF, join(folder, 'climate.af')])
  if (code !== 0) throw new Error(stderr)
  const { create, slice } = await import(pathToFileURL(join(dist, 'index.js')))
  const write = async (name, define, options) => {
    const file = await create(join(folder, name), options)
    await define(file)
    await file.compact()
    await file.close()
  }
  await write('wide.af', async (file) => {
    const array = file.createArray('wide', { dtype: 'int32', shape: WIDE.shape, chunks: [100, 1600], fillValue: -1 })
    await array.set(
      null,
      Int32Array.from({ length: array.size }, (_, i) => i),
    )
    await array.set([slice(WIDE.missing.row, null), slice(WIDE.missing.column, null)], -1)
  })
  await write('packed.af', async (file) => {
    const t = file.createArray('t', { dtype: 'int16', shape: [2, 2], dimensionNames: ['y', 'x'], fillValue: -1 })
    t.attrs.set('scale_factor', 0.5).set('add_offset', 270).set('units', 'K').set('coordinates', 'north')
    await t.set(null, [0, 2, 4, -1])
    const north = file.createArray('north', { dtype: 'float32', shape: [2], dimensionNames: ['y'] })
    north.attrs.set('units', 'degrees_north')
    await north.set(null, [10, 20])
  })
  await write('hostile.af', async (file) => {
    const html = '<img src=x onerror="window.wasHere = true">'
    const array = file.createArray(html, { dtype: 'float32', shape: [2, 3], dimensionNames: ['<b>y', html] })
    array.attrs.set('long_name', html).set('units', html).set('note', `<script>window.wasHere = true</script>`)
    await array.set(null, [1, 2, 3, 4, 5, 6])
  })
  // Values that rise to the north, where rows begin, and, without a circle of them, to the east.
  await write('world.af', async (file) => {
    const [rows, columns] = [90, 180]
    const define = (name, values, dims, units) => {
      const shape = dims.length === 1 ? [values.length] : [rows, columns]
      const array = file.createArray(name, { dtype: 'float32', shape, dimensionNames: dims, fillValue: -999 })
      array.attrs.set('units', units)
      return array.set(null, Float32Array.from(values))
    }
    const lat = Array.from({ length: rows }, (_, i) => 89 - 2 * i)
    const lon = Array.from({ length: columns }, (_, i) => 1 + 2 * i)
    await define('lat', lat, ['lat'], 'degrees_north')
    await define('lon', lon, ['lon'], 'degrees_east')
    const values = lat.flatMap((y) => lon.map(() => y + 100))
    await define('down', values, ['lat', 'lon'], 'K')
    const isGap = (i) => Math.hypot(lat[Math.floor(i / columns)] - 20, lon[i % columns] - 90) < 40
    await define(
      'gaps',
      values.map((value, i) => (isGap(i) ? -999 : value + lon[i % columns] / 4)),
      ['lat', 'lon'],
      'K',
    )
  })
  await write('rotated.af', async (file) => {
    for (const [name, dim] of [
      ['grid_latitude', 'rlat'],
      ['grid_longitude', 'rlon'],
    ]) {
      const axis = file.createArray(dim, { dtype: 'float32', shape: [3], dimensionNames: [dim] })
      axis.attrs.set('standard_name', name).set('units', 'degrees')
      await axis.set(null, [-1, 0, 1])
    }
    const array = file.createArray('t', {
      dtype: 'int64',
      shape: [2, 3, 3],
      chunks: [1, 3, 3],
      dimensionNames: ['z', 'rlat', 'rlon'],
    })
    await array.set(
      null,
      BigInt64Array.from({ length: 18 }, (_, i) => (i === 17 ? 2n ** 53n + 1n : BigInt(i))),
    )
  })
  await write('pair.af', async (file) => {
    const define = async (name, units, values, dims = ['y', 'x']) => {
      const shape = dims.length === 3 ? [2, 2, 3] : [2, 3]
      const array = file.createArray(name, { dtype: 'float32', shape, dimensionNames: dims })
      array.attrs.set('units', units)
      await array.set(null, values)
    }
    await define('a', 'K', [1, 2, 3, 4, 5, 6])
    await define('b', 'K', [10, 20, 30, -40, 50, 63])
    await define('m', 'm', [1, 2, 3, 4, 5, 6])
    await define('deep', 'K', [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6], ['z', 'y', 'x'])
  })
  // Blocks of one chunk, each of which takes a read.
  const fill = async (file) => {
    const shape = [240, 64, 64]
    const array = file.createArray('t', { dtype: 'float32', shape, chunks: [1, 64, 64], dimensionNames: ['time', 'y', 'x'] })
    await array.set(
      null,
      Float32Array.from({ length: array.size }, (_, i) => (i * 2654435761) % 1000),
    )
  }
  await write('days.af', fill, { codec: 'none', blockBytes: 1 })
  writeFileSync(join(folder, 'bad.af'), 'no container '.repeat(100))
}

/** Cells of the finest level of `nested.zarr`, whose values follow from their place. */
export const FINEST = { rows: 1024, columns: 2048 }
/** The value of a cell so many times as large: the mean of what is in it. */
export const levelValue = (row, column, times) => (row * times + (times - 1) / 2) * 4096 + column * times + (times - 1) / 2

/** A store of Zarr of groups: a pyramid of the globe, an image in levels, and a group of a group. */
export async function writeNested(path, dist) {
  const { createZarr, openZarr } = await import(pathToFileURL(join(dist, 'zarr.js')))
  const { Dataset } = await import(pathToFileURL(join(dist, 'dataset.js')))
  await (await createZarr(path)).createGroup('stations')
  const { rows, columns } = FINEST
  const data = Float32Array.from({ length: rows * columns }, (_, i) => levelValue(Math.floor(i / columns), i % columns, 1))
  const axis = (count, place, units) => ({ data: Array.from({ length: count }, (_, i) => place(i + 0.5)), attrs: { units } })
  const height = { dims: ['lat', 'lon'], data: { data, shape: [rows, columns] }, attrs: { units: 'm', long_name: 'Height' } }
  const coords = {
    lat: { dims: ['lat'], ...axis(rows, (i) => 90 - (i * 180) / rows, 'degrees_north') },
    lon: { dims: ['lon'], ...axis(columns, (i) => (i * 360) / columns, 'degrees_east') },
  }
  await new Dataset({ height }, { coords }).write(join(path, 'map'), {
    format: 'zarr',
    levels: 4,
    chunks: { lat: 128, lon: 256 },
  })
  const image = { dims: ['y', 'x'], data: { data, shape: [rows, columns] } }
  await new Dataset({ image }).write(join(path, 'image'), { format: 'zarr', levels: 3, chunks: { y: 128, x: 256 } })
  const t = { dims: ['y', 'x'], data: { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] } }
  await new Dataset({ t }).write(join(path, 'stations/today'), { format: 'zarr' })
  await (await openZarr(path, { kind: 'group', mode: 'r+' })).consolidate()
}

/** Cells of `big.nc`, whose values follow from their place. */
export const BIG = { times: 25, rows: 721, columns: 1440 }
export const bigValue = (time, row, column) => Math.fround(250 + time + row / 16 + (column % 64) / 1024)

/**
 * A classic NetCDF file of 104 MB: a quarter of a degree, of 25 days. Written by hand, as the package writes
 * none.
 */
export async function writeBigNetcdf(path) {
  const { times, rows, columns } = BIG
  const text = (value) => [int(value.length), Buffer.from(value), Buffer.alloc(-value.length & 3)]
  const int = (value) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(value)
    return bytes
  }
  const dims = { time: times, lat: rows, lon: columns }
  const variables = [
    ['time', [0], 'days since 2000-01-01', 6, times * 8],
    ['lat', [1], 'degrees_north', 5, rows * 4],
    ['lon', [2], 'degrees_east', 5, columns * 4],
    ['t2m', [0, 1, 2], 'K', 5, times * rows * columns * 4],
  ]
  const header = (begins) =>
    Buffer.concat(
      [
        Buffer.from('CDF\x01'),
        int(0),
        [int(10), int(3), Object.entries(dims).map(([name, length]) => [text(name), int(length)])],
        [int(0), int(0)],
        [int(11), int(variables.length)],
        variables.map(([name, axes, units, type, size], i) => [
          text(name),
          [int(axes.length), axes.map(int)],
          [int(12), int(1), text('units'), int(2), text(units)],
          [int(type), int(size), int(begins[i])],
        ]),
      ].flat(Infinity),
    )
  let at = header([0, 0, 0, 0]).length
  const begins = variables.map(([, , , , size]) => {
    at += size
    return at - size
  })
  const view = new DataView(new ArrayBuffer(begins[3] - begins[0]))
  for (let i = 0; i < times; i++) view.setFloat64(8 * i, i)
  for (let i = 0; i < rows; i++) view.setFloat32(begins[1] - begins[0] + 4 * i, 90 - i / 4)
  for (let i = 0; i < columns; i++) view.setFloat32(begins[2] - begins[0] + 4 * i, i / 4)
  const file = await open(path, 'w')
  await file.write(header(begins))
  await file.write(new Uint8Array(view.buffer))
  const frame = new DataView(new ArrayBuffer(rows * columns * 4))
  for (let time = 0; time < times; time++) {
    for (let i = 0; i < rows * columns; i++) frame.setFloat32(4 * i, bigValue(time, Math.floor(i / columns), i % columns))
    await file.write(new Uint8Array(frame.buffer))
  }
  await file.close()
}
