// TIFF files whose tiles are JPEG or WebP, in a browser. Samples are compared with those of tifffile, which
// the oracle of these files has.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checker, equal } from '../check.mjs'
import { scratch } from './app.mjs'
import { serveRanges } from './ranges.mjs'
import { root } from './tools.mjs'

const FORMATS = join(root, '../shared/data/formats')
/** Greatest difference of a sample between decoders, and of the mean. */
const [SAMPLE, MEAN] = [2, 0.5]
const FILES = {
  'made_jpeg_gray.tif': 'JPEG of one sample',
  'made_jpeg_ycbcr.tif': 'JPEG of colours with fewer samples',
  'tiled-jpeg-ycbcr.tif': 'JPEG in strips, with tables',
  'goes.tif': 'JPEG with a mask and levels',
  'made_webp_lossless.tif': 'WebP of four samples',
}
/** Decoders of these browsers multiply samples by the fourth. */
const REFUSED = { Firefox: ['made_webp_lossless.tif'] }

/** Runs in the page: reads an image, and returns its samples at places of the file's order. */
async function readImage({ origin, name, places }) {
  const { openGeotiff } = await import(`${origin}/hyperslab/dist/geotiff.js`)
  const file = await openGeotiff(`${origin}/tiff/${name}`)
  try {
    const { array } = file.image(0)
    const { data, shape } = await array.toTensor()
    const [bands, pixels] = shape.length === 3 ? [shape[0], shape[1] * shape[2]] : [1, shape[0] * shape[1]]
    const at = places.map((place) => data[(place % bands) * pixels + Math.floor(place / bands)])
    return { length: data.length, sum: data.reduce((sum, each) => sum + each, 0), at }
  } catch (error) {
    return { error: `${error.name}: ${error.message}` }
  } finally {
    await file.close()
  }
}

/** @returns what was checked, as `{ name, error? }` */
export async function runPictures(browser, label, app) {
  const folder = scratch(app, `pictures-${browser.version}`)
  writeFileSync(join(folder, 'index.html'), '<!doctype html><title>pictures</title><link rel="icon" href="data:," />')
  const { files } = JSON.parse(readFileSync(join(FORMATS, 'oracle.json'), 'utf8'))
  const hyperslab = join(app.folder, 'node_modules/hyperslab')
  const site = await serveRanges({ hyperslab, page: folder, tiff: join(FORMATS, 'tiff') })
  const page = await browser.page()
  const { check, results } = checker(() => false)
  try {
    await page.goto(`${site.origin}/page/index.html`)
    for (const [name, what] of Object.entries(FILES))
      await check(`TIFF: ${what}`, async () => {
        const { elements, sum, at } = files[`tiff/${name}`].tifffile.pages[0].values
        const found = await page.evaluate(readImage, { origin: site.origin, name, places: at.map(([place]) => place) })
        if (REFUSED[label]?.includes(name)) {
          equal(
            [found.error?.startsWith('UnsupportedError: '), found.error?.includes('decodes webp of 4 samples incorrectly')],
            [true, true],
          )
          return
        }
        equal([found.error, found.length], [undefined, elements])
        const worst = Math.max(...at.map(([, value], i) => Math.abs(found.at[i] - value)))
        equal([worst <= SAMPLE, Math.abs(found.sum - sum) / elements <= MEAN], [true, true])
      })
    return results
  } finally {
    site.close()
    page.close().catch(() => undefined)
  }
}
