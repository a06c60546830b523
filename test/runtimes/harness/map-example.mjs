// The map of examples/map in a browser, built as a user builds it: that what it draws are the values of the
// difference, at their places.
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { checker, equal } from '../check.mjs'
import { scratch } from './app.mjs'
import { execute } from './processes.mjs'
import { serveRanges } from './ranges.mjs'
import { fileOf, root } from './tools.mjs'

const FILES = ['build.mjs', 'index.html', 'map.mjs', 'package.json']
const [LAT, LON] = [360, 720]
/** The ends of the colours, their middle, and what lies below the layer. */
const [LESS, MORE, SAME, NOTHING] = [
  [33, 102, 172],
  [178, 24, 43],
  [247, 247, 247],
  [187, 187, 187],
]
/** So low that the map shows all of the world at zoom 0.2: it has no smaller one that fills the window. */
const WINDOW = { width: 640, height: 600 }
const MIDDLE = [WINDOW.width / 2, WINDOW.height / 2]

/** @returns what was checked, as `{ name, error? }` */
export async function runMapExample(browser, app) {
  const folder = scratch(app, `map-${browser.version}`)
  const built = join(folder, 'example')
  await build(built)
  await makeContainers(folder)
  const site = await serveRanges({ map: join(built, 'dist'), data: folder })
  const page = await browser.page()
  try {
    const { check, results } = checker(() => false)
    const hasWebGL = await page.evaluate(() => document.createElement('canvas').getContext('webgl2') !== null)
    await (hasWebGL ? checkMap : checkRefusal)({ check, site, page })
    return results
  } finally {
    site.close()
    page.close().catch(() => undefined)
  }
}

/** As `npm install` and `npm run build` do it, with the package that would be published. */
async function build(folder) {
  mkdirSync(folder)
  for (const file of FILES) cpSync(join(root, 'examples/map', file), join(folder, file))
  symlinkSync(fileOf('map', ''), join(folder, 'node_modules'))
  const { code, stderr } = await execute(process.execPath, ['build.mjs'], { cwd: folder, seconds: 40 })
  if (code !== 0 || stderr !== '') throw new Error(`the map is not built: ${stderr}`)
}

/**
 * Two arrays that are unlike everywhere, and their difference: at the first time more in the north-west, more
 * and less by turns in columns of the north-east, less in the south-west and missing in the south-east; at
 * the second time more everywhere.
 */
async function makeContainers(folder) {
  const { create } = await import(pathToFileURL(join(root, 'dist/index.js')))
  const difference = (time, row, column) => {
    if (time === 1) return 10
    if (row >= LAT / 2) return column < LON / 2 || column % 2 === 0 ? 10 : -10
    return column < LON / 2 ? -10 : Number.NaN
  }
  /** Longitudes begin at `west`: -180, or 0 with the eastern half first. */
  const write = async (name, value, west = -180) => {
    const container = await create(join(folder, name))
    const define = async (dim, units, length, first, step) => {
      const axis = container.createArray(dim, { dtype: 'float64', shape: [length], dimensionNames: [dim] })
      axis.attrs.set('units', units)
      await axis.set(
        null,
        Float64Array.from({ length }, (_, i) => first + (i + 0.5) * step),
      )
    }
    await define('lat', 'degrees_north', LAT, -90, 180 / LAT)
    await define('lon', 'degrees_east', LON, west, 360 / LON)
    const columnOf = (i) => (i + ((west + 180) * LON) / 360) % LON
    const dimensionNames = ['time', 'lat', 'lon']
    const tas = container.createArray('tas', { dtype: 'float32', shape: [2, LAT, LON], chunks: [1, 90, 180], dimensionNames })
    tas.attrs.set('units', 'K')
    const of = (i) => value(Math.floor(i / LON / LAT), Math.floor(i / LON) % LAT, columnOf(i % LON))
    await tas.set(
      null,
      Float32Array.from({ length: tas.size }, (_, i) => of(i)),
    )
    await container.compact()
    await container.close()
  }
  const usual = (row) => 250 + row / 10
  const mean = (_, row) => usual(row)
  const unusual = (time, row, column) => usual(row) + difference(time, row, column)
  await write('a.af', unusual)
  await write('b.af', mean)
  await write('a-360.af', unusual, 0)
  await write('b-360.af', mean, 0)
}

async function checkMap({ check, site, page }) {
  await (page.setViewportSize ?? page.setViewport).call(page, WINDOW)
  const text = (id) => page.evaluate((id) => document.getElementById(id).value, id)
  const drawn = () => text('cost').then((cost) => cost.replace(/\. Read.*/, ''))
  const open = (view, kind = '') => page.goto(`${site.origin}/map/?a=/data/a${kind}.af&b=/data/b${kind}.af&limit=10&${view}`)
  /** Reads pixels from a screenshot, because a canvas of WebGL cannot be read once it is shown. */
  const pixels = async (places) => {
    const png = Buffer.from(await page.screenshot()).toString('base64')
    return page.evaluate(
      async ([png, places]) => {
        const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob())
        const context = new OffscreenCanvas(image.width, image.height).getContext('2d')
        context.drawImage(image, 0, 0)
        return places.map(([x, y]) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3))
      },
      [png, places],
    )
  }
  /** Waits until colours, by place, are what is seen: the layer reads and draws as it can. */
  const shows = async (expected) => {
    const places = expected.map(([x, y]) => [x, y])
    let found
    for (let i = 0; i < 40; i++) {
      found = await pixels(places)
      if (expected.every(([, , colour], k) => colour.every((part, c) => Math.abs(part - found[k][c]) <= 3))) return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const seen = found.map((colour, k) => `${places[k]}: ${colour}, not ${expected[k][2]}`).join('; ')
    throw new Error(`${seen}; ${await text('cost')} ${await text('error')}`)
  }
  /** Quadrants of the map, north-west first, some pixels from its middle. */
  const quadrants = (...colours) => {
    const [x, y] = MIDDLE
    const at = [
      [x - 100, y - 100],
      [x + 100, y - 100],
      [x - 100, y + 100],
      [x + 100, y + 100],
    ]
    return colours.map((colour, i) => [...at[i], colour])
  }

  await check('the difference is drawn by a level of means, missing values are transparent', async () => {
    await open('zoom=0')
    // Stripes of one column each have no means.
    await shows(quadrants(MORE, SAME, LESS, NOTHING))
    equal(await text('error'), '')
  })
  await check('longitudes from 0 to 360 are drawn as the whole Earth', async () => {
    await open('zoom=0', '-360')
    await shows(quadrants(MORE, SAME, LESS, NOTHING))
    equal(await text('error'), '')
    await open('zoom=0')
    await shows(quadrants(MORE, SAME, LESS, NOTHING))
  })
  await check('of the level that is drawn each chunk is asked for once, of others none', async () => {
    equal(await drawn(), 'Chunks drawn: 0 of level 0, 16 of level 1, 0 of level 2')
  })
  await check('the slider draws another time', async () => {
    await page.evaluate(() => {
      const input = document.querySelector('#when input')
      input.value = 1
      input.dispatchEvent(new Event('input'))
    })
    await shows(quadrants(MORE, MORE, MORE, MORE))
  })
  await check('far in the finest level is drawn, and the chunks that are seen are read alone', async () => {
    // A column is 512 * 2^6 / 720 = 45.5 pixels wide; beside the middle two of them meet.
    await open('zoom=6&lon=90&lat=20')
    const [x, y] = MIDDLE
    await shows([
      [x + 20, y, MORE],
      [x - 20, y, LESS],
      [x + 65, y, LESS],
    ])
    equal(await drawn(), 'Chunks drawn: 2 of level 0, 0 of level 1, 0 of level 2')
  })
}

/** Firefox has no WebGL without a screen and a graphics card. */
async function checkRefusal({ check, site, page }) {
  await check('without WebGL the page says that it is needed', async () => {
    await page.goto(`${site.origin}/map/?a=/data/a.af&b=/data/b.af`)
    for (let i = 0; i < 100; i++) {
      if ((await page.evaluate(() => document.getElementById('error').value)).includes('WebGL2')) return
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error('the page does not say so')
  })
}
