// The example page in a browser, as from a clone, against values that were read without the package.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readVariables } from '../../../demo/expected.mjs'
import { checker, equal } from '../check.mjs'
import { scratch } from './app.mjs'
import { execute } from './processes.mjs'
import { serveRanges } from './ranges.mjs'
import { root } from './tools.mjs'

const NETCDF = join(root, 'demo/data/tas_rectilinear_grid_2D.nc')
const [DARKEST, LIGHTEST] = [
  [44, 17, 95, 255],
  [249, 231, 85, 255],
]
const ARRAYS = ['lon', 'lon_bnds', 'lat', 'lat_bnds', 'time', 'time_bnds', 'tas']
/** Of the second container: two out of three rows and every other column are left out, and one quarter holds no values. */
const WIDE = { shape: [1700, 900], steps: [3, 2], missing: { row: 850, column: 450 } }

/** @returns what was checked, as `{ name, error? }` */
export async function runExample(browser, app) {
  const folder = scratch(app, `example-${browser.version}`)
  await makeContainers(folder)
  const site = await serveRanges({ examples: join(root, 'examples'), dist: join(root, 'dist'), data: folder })
  const page = await browser.page()
  try {
    const { check, results } = checker(() => false)
    await checkPage({ check, site, browser, folder, view: viewOf(page, `${site.origin}/examples/page/`) })
    return results
  } finally {
    site.close()
    // Not awaited: a page that hangs does not close either.
    page.close().catch(() => undefined)
  }
}

async function makeContainers(folder) {
  const { code, stderr } = await execute(process.execPath, [
    join(root, 'dist/cli.js'),
    'import',
    NETCDF,
    join(folder, 'climate.af'),
  ])
  if (code !== 0) throw new Error(stderr)
  const { create, slice } = await import(pathToFileURL(join(root, 'dist/index.js')))
  const wide = await create(join(folder, 'wide.af'))
  const array = wide.define('wide', { dtype: 'int32', shape: WIDE.shape, chunkShape: [100, 900], fillValue: -1 })
  await array.set(
    null,
    Int32Array.from({ length: array.size }, (_, i) => i),
  )
  await array.set([slice(WIDE.missing.row, null), slice(WIDE.missing.column, null)], -1)
  await wide.compact()
  await wide.close()
  const packed = await create(join(folder, 'packed.af'))
  const t = packed.define('t', { dtype: 'int16', shape: [2, 2], dimensionNames: ['y', 'x'], fillValue: -1 })
  t.attrs.set('scale_factor', 0.5).set('add_offset', 270).set('units', 'K')
  await t.set(null, [0, 2, 4, -1])
  const north = packed.define('north', { dtype: 'float32', shape: [2], dimensionNames: ['y'] })
  north.attrs.set('units', 'degrees_north')
  await north.set(null, [10, 20])
  await packed.flush()
  await packed.close()
  writeFileSync(join(folder, 'bad.af'), 'no container '.repeat(100))
}

/** What a user does with the page, and sees. */
function viewOf(page, address) {
  const text = (id) => page.evaluate((id) => document.getElementById(id).textContent, id)
  const until = async (what, holds) => {
    for (let i = 0; !(await holds()); i++) {
      if (i === 100) throw new Error(`${what}: not within 5 s; '${await text('readout')}', '${await text('error')}' are shown`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const reads = (expected) => until(expected, async () => (await text('readout')) === expected)
  return {
    page,
    text,
    until,
    reads,
    open: (url) => page.goto(`${address}?url=${encodeURIComponent(url)}`),
    shows: (title) =>
      until(title, async () => {
        const busy = await page.evaluate(() => document.getElementById('canvas').ariaBusy)
        return busy === 'false' && (await text('title')) === title
      }),
    pixel: (x, y) =>
      page.evaluate(([x, y]) => [...document.getElementById('canvas').getContext('2d').getImageData(x, y, 1, 1).data], [x, y]),
    /** Points at the middle of a pixel until `expected` is read out: again where the page has moved meanwhile. */
    point: (x, y, expected) =>
      until(expected, async () => {
        const [left, top] = await page.evaluate(
          ([x, y]) => {
            const canvas = document.getElementById('canvas')
            canvas.scrollIntoView({ block: 'center' })
            const frame = canvas.getBoundingClientRect()
            const border = canvas.clientLeft
            return [
              frame.left + border + ((x + 0.5) / canvas.width) * canvas.clientWidth,
              frame.top + border + ((y + 0.5) / canvas.height) * canvas.clientHeight,
            ]
          },
          [x, y],
        )
        await page.mouse.move(left, top)
        return (await text('readout')) === expected
      }),
  }
}

async function checkPage({ check, site, browser, folder, view }) {
  const { page, text } = view
  const expected = readVariables(NETCDF)
  const { values, shape } = expected.get('tas')
  const [, rows, columns] = shape
  const digits = (value) => String(Number(value.toPrecision(7)))
  /** What is read out of the pixel (x, y): the first row is drawn at the bottom, for latitude rises. */
  const readout = (month, x, y) => {
    const row = rows - 1 - y
    const [lat, lon] = [expected.get('lat').values[row], expected.get('lon').values[x]].map(digits)
    return `${digits(values[(month * rows + row) * columns + x])} K · lat ${lat} degrees_north · lon ${lon} degrees_east`
  }
  const asked = (path) => site.asked.filter((request) => request.path.startsWith(path))

  await check('a container is opened by ?url=, its arrays and their attributes are listed', async () => {
    await view.open('/data/climate.af')
    await view.shows('tas[0, :, :]')
    const listed = () =>
      [...document.querySelectorAll('#arrays button')].map(({ dataset, textContent }) => [dataset.name, textContent])
    const arrays = await page.evaluate(listed)
    equal(
      arrays.map(([name]) => name),
      ARRAYS,
    )
    equal(arrays.at(-1)[1], 'tasfloat32 12 × 96 × 192')
    const details = await text('details')
    for (const part of ['time 12, lat 96, lon 192', '1 × 96 × 192 each', 'unitsK', 'cell_methods'])
      if (!details.includes(part)) throw new Error(`'${part}' is not among: ${details}`)
  })
  await check('it tells of every request', async () => {
    const count = asked('/data/').length
    equal((await text('cost')).startsWith(`Read so far: ${count} requests, `), true)
    // The end of the file, whether there is a sidecar, and blocks: of the coordinates and the first month.
    equal([count <= 5, new Set(asked('/data/').map(({ path }) => path)).size], [true, 2])
  })
  await check('the picture has the colours, the readout values and coordinates', async () => {
    const month = values.subarray(0, rows * columns)
    for (const [colour, value] of [
      [DARKEST, Math.min(...month)],
      [LIGHTEST, Math.max(...month)],
    ]) {
      const at = month.indexOf(value)
      const [x, y] = [at % columns, rows - 1 - Math.floor(at / columns)]
      equal(await view.pixel(x, y), colour)
      await view.point(x, y, readout(0, x, y))
    }
    for (const [x, y] of [
      [0, 0],
      [191, 95],
      [17, 60],
    ])
      await view.point(x, y, readout(0, x, y))
    equal(
      [await text('low'), await text('high')],
      [Math.min(...month), Math.max(...month)].map((value) => `${digits(value)} K`),
    )
  })
  await check('arrow keys move the readout, also on the slider', async () => {
    await page.focus('#canvas')
    for (const key of ['ArrowRight', 'ArrowUp']) await page.keyboard.press(key)
    await view.reads(readout(0, 18, 59))
    await page.focus('#sliders input')
    for (let month = 1; month <= 6; month++) await page.keyboard.press('ArrowRight')
    await view.shows('tas[6, :, :]')
    await view.reads(readout(6, 18, 59))
  })
  await check('what is overtaken by the slider is given up, and blocks are read once', async () => {
    await view.open('/data/climate.af?slow=200')
    await view.shows('tas[0, :, :]')
    const before = asked('/data/climate.af').length
    await page.evaluate(async () => {
      const input = document.querySelector('#sliders input')
      for (let month = 1; month <= 11; month++) {
        input.value = month
        input.dispatchEvent(new Event('input'))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })
    await view.shows('tas[11, :, :]')
    await view.point(18, 59, readout(11, 18, 59))
    const after = asked('/data/climate.af').slice(before)
    equal([after.some(({ ended }) => !ended), after.at(-1).ended], [true, true])
  })
  await check('of a plane that is too large every n-th row and column is drawn, missing values are transparent', async () => {
    await view.open('/data/wide.af')
    await view.shows('wide[::3, ::2]')
    const size = await page.evaluate(() => [document.getElementById('canvas').width, document.getElementById('canvas').height])
    equal(size, [450, 567])
    await view.point(7, 5, `${5 * 3 * 900 + 14} · dim_0 15 · dim_1 14`)
    equal([(await view.pixel(449, 566))[3], (await view.pixel(0, 566))[3]], [0, 255])
    await view.point(449, 566, 'no value · dim_0 1698 · dim_1 898')
  })
  await check('packed values are unpacked, and north is up by a coordinate of another name', async () => {
    await view.open('/data/packed.af')
    await view.shows('t[:, :]')
    await view.point(0, 0, '272 K · y 20 degrees_north · x 0')
    await view.point(1, 0, 'no value · y 20 degrees_north · x 1')
    await view.point(1, 1, '271 K · y 10 degrees_north · x 1')
  })
  await check('a file of this machine is opened', async () => {
    const requests = asked('/data/').length
    await browser.upload(page, '#file', join(folder, 'climate.af'))
    await view.shows('tas[0, :, :]')
    await view.point(17, 60, readout(0, 17, 60))
    equal([asked('/data/').length, (await text('cost')).includes('requests')], [requests, false])
  })
  await check('a NetCDF file of this machine is opened, times are dates', async () => {
    // What is shown before is another array, and where the pointer was before it need not be told to be.
    await view.open('/data/packed.af')
    await view.shows('t[:, :]')
    await browser.upload(page, '#file', NETCDF)
    await view.shows('tas[0, :, :]')
    await view.point(23, 41, readout(0, 23, 41))
    equal(await page.evaluate(() => document.querySelector('#sliders output').value), '2005-01-16T12:00')
  })
  await check('an array of one axis, chosen with the keyboard', async () => {
    await page.focus('[data-name=lat]')
    await page.keyboard.press('Enter')
    await view.shows('lat[:]')
    equal(await view.pixel(0, 0), DARKEST)
    const lat = digits(expected.get('lat').values[95])
    await view.point(95, 0, `${lat} degrees_north · lat ${lat} degrees_north`)
  })
  await check('a missing file and a bad one say so', async () => {
    await view.open('/data/missing.af')
    await view.until('an error', async () => /^NotFoundError: .*missing\.af/.test(await text('error')))
    await browser.upload(page, '#file', join(folder, 'bad.af'))
    await view.until('an error', async () => /^FormatError: .*bad\.af/.test(await text('error')))
  })
}
