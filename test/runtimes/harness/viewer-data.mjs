// Files that the viewer is tried with.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { execute } from './processes.mjs'
import { root } from './tools.mjs'

export const NETCDF = join(root, 'demo/data/tas_rectilinear_grid_2D.nc')
/** Of the container `wide.af`: a quarter holds no values, and of rows and columns some are left out. */
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
    const array = file.define('wide', { dtype: 'int32', shape: WIDE.shape, chunkShape: [100, 1600], fillValue: -1 })
    await array.set(
      null,
      Int32Array.from({ length: array.size }, (_, i) => i),
    )
    await array.set([slice(WIDE.missing.row, null), slice(WIDE.missing.column, null)], -1)
  })
  await write('packed.af', async (file) => {
    const t = file.define('t', { dtype: 'int16', shape: [2, 2], dimensionNames: ['y', 'x'], fillValue: -1 })
    t.attrs.set('scale_factor', 0.5).set('add_offset', 270).set('units', 'K').set('coordinates', 'north')
    await t.set(null, [0, 2, 4, -1])
    const north = file.define('north', { dtype: 'float32', shape: [2], dimensionNames: ['y'] })
    north.attrs.set('units', 'degrees_north')
    await north.set(null, [10, 20])
  })
  await write('hostile.af', async (file) => {
    const html = '<img src=x onerror="window.wasHere = true">'
    const array = file.define(html, { dtype: 'float32', shape: [2, 3], dimensionNames: ['<b>y', html] })
    array.attrs.set('long_name', html).set('units', html).set('note', `<script>window.wasHere = true</script>`)
    await array.set(null, [1, 2, 3, 4, 5, 6])
  })
  // Values that rise to the north, where rows begin, and, without a circle of them, to the east.
  await write('world.af', async (file) => {
    const [rows, columns] = [90, 180]
    const define = (name, values, dims, units) => {
      const shape = dims.length === 1 ? [values.length] : [rows, columns]
      const array = file.define(name, { dtype: 'float32', shape, dimensionNames: dims, fillValue: -999 })
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
  // Blocks of one chunk, each of which takes a read.
  const fill = async (file) => {
    const shape = [240, 64, 64]
    const array = file.define('t', { dtype: 'float32', shape, chunkShape: [1, 64, 64], dimensionNames: ['time', 'y', 'x'] })
    await array.set(
      null,
      Float32Array.from({ length: array.size }, (_, i) => (i * 2654435761) % 1000),
    )
  }
  await write('days.af', fill, { codec: 'none', blockBytes: 1 })
  writeFileSync(join(folder, 'bad.af'), 'no container '.repeat(100))
}
