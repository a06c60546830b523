// Reads and means of TIFF files on disk, against geotiff.js, GDAL behind rasterio, and tifffile: 16-bit
// elevations in tiles of 256 x 256 with predictor 2. Each read opens the file anew, in all of them, since
// GDAL and geotiff.js keep decoded tiles.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openGeotiff } from '../../dist/geotiff.js'
import { slice } from '../../dist/index.js'
import { climate, inFolder, random, sized } from '../measure.mjs'
import { loadPeer } from '../peers.mjs'
import { startPython } from '../python.mjs'
import { print, sideBySide } from '../side-by-side.mjs'

const SIZE = sized(2048, 512)
const WINDOW = sized(512, 128)
/** Required speeds relative to geotiff.js and to GDAL, of the whole image and of a window. */
const GOALS = {
  lzw: { all: { 'geotiff.js': 8, GDAL: 0.4 }, window: { 'geotiff.js': 6 } },
  deflate: { all: { 'geotiff.js': 2.5 }, window: { 'geotiff.js': 2 } },
  zstd: { all: { 'geotiff.js': 2.5 }, window: { 'geotiff.js': 1.5 } },
}

const next = random(5)
const windows = Array.from({ length: 64 }, () => {
  const [row, column] = [next(), next()].map((share) => Math.floor(share * (SIZE - WINDOW)))
  return { row, column }
})

await inFolder(async (folder) => {
  const peer = await loadPeer('geotiff')
  const python = await startPython(['numpy==2.4.6', 'rasterio==1.4.4', 'tifffile==2026.3.3', 'imagecodecs==2026.3.6'])
  if (!python) return
  const raw = join(folder, 'raw')
  writeFileSync(
    raw,
    Int16Array.from(climate(SIZE * SIZE, 3), (kelvin) => (kelvin - 250) * 100),
  )
  const timed = (name) => ({ timed: async (count) => (await python.ask({ run: name, count })).ms })
  for (const [compression, goals] of Object.entries(GOALS)) {
    const path = join(folder, `${compression}.tif`)
    await python.ask({ make: 'tiff_write', name: 'write', args: { path, source: raw, size: SIZE, compression } })
    await python.ask({ run: 'write', count: 1 })
    await python.ask({ make: 'tiff_all', name: 'tifffile', args: { path } })
    for (const [what, length, wanted] of [
      ['all', SIZE, [{ row: 0, column: 0 }]],
      ['window', WINDOW, windows],
    ]) {
      const places = wanted.map(({ row, column }) => [
        [row, row + length],
        [column, column + length],
      ])
      await python.ask({ make: 'tiff_window', name: 'GDAL', args: { path, windows: places } })
      const ways = {
        ours: async (round) => {
          const [rows, columns] = places[round % places.length]
          const file = await openGeotiff(path)
          await file.image(0).array.get([slice(...rows), slice(...columns)])
          await file.close()
        },
        GDAL: timed('GDAL'),
      }
      if (what === 'all') ways.tifffile = timed('tifffile')
      if (peer)
        ways['geotiff.js'] = async (round) => {
          const [[top, bottom], [left, right]] = places[round % places.length]
          const handle = await peer.fromFile(path)
          const image = await handle.getImage()
          await image.readRasters({ window: [left, top, right, bottom] })
          await handle.close()
        }
      const compared = await sideBySide(ways, { rounds: what === 'all' ? 9 : 15 })
      print('geotiff', `${compression}, ${what}`, 2 * length * length, compared, goals[what])
    }
    const file = await openGeotiff(path)
    const level = file.image(0).levels()[1].array
    const compared = await sideBySide({ 'the mean': () => level.mean(), reading: () => level.get() }, { rounds: 15 })
    print('geotiff', `${compression}, mean of a level`, (SIZE * SIZE) / 2, compared, { reading: 1.2 })
    await file.close()
  }
  python.close()
})
