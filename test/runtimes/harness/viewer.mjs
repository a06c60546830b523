// The viewer in a browser, as the package ships it, against values that were read without the package.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readVariables } from '../../../demo/expected.mjs'
import { pythonEnvironment } from '../../../scripts/python.mjs'
import { checker, equal, near } from '../check.mjs'
import { scratch } from './app.mjs'
import { execute } from './processes.mjs'
import { serveRanges } from './ranges.mjs'
import { root } from './tools.mjs'
import { bigValue, FINEST, levelValue, makeContainers, NETCDF, WIDE, writeBigNetcdf, writeNested } from './viewer-data.mjs'
import { viewOf } from './viewer-page.mjs'

const ZARR = join(root, 'test/fixtures/zarr/era5.zarr')
const ARRAYS = ['tas', 'lon', 'lon_bnds', 'lat', 'lat_bnds', 'time', 'time_bnds']
/** Ends of viridis. */
const [DARKEST, LIGHTEST] = [
  [68, 1, 84],
  [253, 231, 37],
]
/** Packages that run code of xarray, in the versions of the tests. */
const PYTHON = ['numpy==2.4.6', 'xarray==2026.9.0', 'pandas==3.1.1', 'scipy==1.17.1', 'cftime==1.6.6.1']

/** @returns what was checked, as `{ name, error? }` */
export async function runViewer(browser, app) {
  const folder = scratch(app, `viewer-${browser.version}`)
  const dist = join(app.folder, 'node_modules/hyperslab/dist')
  await makeContainers(folder, dist)
  const site = await serveRanges({ dist, data: folder })
  const page = await browser.page()
  const view = viewOf(page, site.origin)
  const seen = []
  page.on('pageerror', (error) => seen.push(error.message))
  try {
    const { check, results } = checker(() => false)
    await checkPictures({ check, site, browser, folder, view })
    await checkMoves({ check, browser, view })
    await checkLevels({ check, site, folder, dist, view })
    await checkQuestions({ check, site, folder, view })
    await checkHandingOn({ check, browser, app, folder, view })
    await checkCosts({ check, site, folder, dist, view })
    await check('the page fails nowhere', () => equal(seen, []))
    return results
  } finally {
    site.close()
    // Not awaited: a page that hangs does not close either.
    page.close().catch(() => undefined)
  }
}

const expected = readVariables(NETCDF)
const { values, shape } = expected.get('tas')
const [, ROWS, COLUMNS] = shape
const digits = (value) => String(Number(value.toPrecision(7)))
const degrees = (value, [more, less]) => {
  const turned = more === 'E' && value > 180 ? value - 360 : value
  return `${Number(Math.abs(turned).toFixed(3))}°${turned === 0 || (more === 'E' && turned === 180) ? '' : turned > 0 ? more : less}`
}
const placeOf = (row, column) =>
  `${degrees(expected.get('lat').values[row], 'NS')}, ${degrees(expected.get('lon').values[column], 'EW')}`
const tasAt = (month, row, column) => values[(month * ROWS + row) * COLUMNS + column]
const readout = (month, row, column) => `${digits(tasAt(month, row, column))} K · ${placeOf(row, column)}`

async function checkPictures({ check, site, browser, folder, view }) {
  const { page, text } = view
  const asked = (path) => site.asked.filter((request) => request.path.startsWith(path))

  await check('a container is opened by ?url=, its variables are listed with what they mean', async () => {
    await view.open('url=/data/climate.af')
    const listed = () =>
      [...document.querySelectorAll('#arrays button')].map(({ dataset, textContent }) => [dataset.name, textContent])
    const arrays = await page.evaluate(listed)
    equal(arrays.map(([name]) => name).sort(), [...ARRAYS].sort())
    equal(
      arrays.find(([name]) => name === 'tas')[1],
      'tasNear-Surface Air Temperature [K]time 12 × lat 96 × lon 192chunks 1 × 96 × 192',
    )
    const details = await text('details')
    for (const part of ['time 12 × lat 96 × lon 192', '1 × 96 × 192 each', 'unitsK', 'cell_methods'])
      if (!details.includes(part)) throw new Error(`'${part}' is not among: ${details}`)
  })
  await check('it tells of every request', async () => {
    const requests = asked('/data/')
    equal((await text('cost')).startsWith(`Read so far: ${requests.length} requests, `), true)
    // Whether there is a sidecar, the end of the file, whether it is still the same, coordinates and the
    // first month.
    equal([requests.length <= 5, new Set(requests.map(({ path }) => path)).size], [true, 2])
  })
  await check('the picture has the colours of the values, north is up, and Greenwich in the middle', async () => {
    // By statistics of all chunks, of which one was read.
    const [low, high] = [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))]
    const scaled = (value) => (value - low) / (high - low)
    for (const [row, column] of [
      [10, 3],
      [48, 100],
      [90, 150],
      [3, 96],
    ]) {
      const colour = await view.colourAt(expected.get('lat').values[row], expected.get('lon').values[column])
      equal(colour, await view.tableColour(scaled(tasAt(0, row, column))))
      await view.point(expected.get('lat').values[row], expected.get('lon').values[column], readout(0, row, column))
    }
    const label = await page.evaluate(() => document.getElementById('canvas').ariaLabel)
    if (!label.includes(`${digits(low)} K to ${digits(high)} K`)) throw new Error(label)
  })
  await check('arrow keys move the cell, also from the slider to another month', async () => {
    await view.point(expected.get('lat').values[60], expected.get('lon').values[17], readout(0, 60, 17))
    await page.focus('#canvas')
    for (const key of ['ArrowRight', 'ArrowUp']) await page.keyboard.press(key)
    await view.reads(readout(0, 61, 18))
    equal(await text('announce'), readout(0, 61, 18))
    await page.focus('#sliders input')
    for (let month = 1; month <= 6; month++) await page.keyboard.press('ArrowRight')
    await view.shows(['at.time', '6'])
    await view.reads(readout(6, 61, 18))
    equal(await text('subtitle'), 'time 2005-07-16 12:00')
  })
  await check('colours stay what they are while sliding, or follow what is shown', async () => {
    const limits = async () =>
      /colours from (.*?) to ([^,]*)/.exec(await page.evaluate(() => document.getElementById('canvas').ariaLabel)).slice(1)
    const before = await limits()
    await view.select('limits', 'shown')
    const july = values.subarray(6 * ROWS * COLUMNS, 7 * ROWS * COLUMNS)
    equal(await limits(), [`${digits(Math.min(...july))} K`, `${digits(Math.max(...july))} K`])
    await view.select('limits', 'percentiles')
    const sorted = Float64Array.from(july).sort()
    equal(
      await limits(),
      [0.02, 0.98].map((share) => `${digits(sorted[Math.round(share * (sorted.length - 1))])} K`),
    )
    await view.select('limits', 'all')
    equal(await limits(), before)
    const [row, column] = [48, 100]
    await view.select('limits', 'own')
    await view.type('low', String(tasAt(6, row, column)))
    await view.type('high', String(tasAt(6, row, column) + 1))
    equal(await view.colourAt(expected.get('lat').values[row], expected.get('lon').values[column]), DARKEST)
    await view.type('low', String(tasAt(6, row, column) - 1))
    await view.type('high', String(tasAt(6, row, column) - 0.5))
    equal(await view.colourAt(expected.get('lat').values[row], expected.get('lon').values[column]), LIGHTEST)
  })
  await check('limits that a scale cannot have are refused beside them', async () => {
    await view.type('low', '-1')
    await view.toggle('log')
    await view.until('an error', async () => (await text('limits-error')).startsWith('A logarithmic scale needs limits above 0'))
    await view.toggle('log')
    await view.type('low', '500')
    await view.until('an error', async () =>
      (await text('limits-error')).startsWith('The lower limit, 500, is above the upper one'),
    )
    await view.select('limits', 'all')
    equal(await text('limits-error'), '')
  })
  await check('what is overtaken by the slider is given up, and blocks are read once', async () => {
    await view.open('url=/data/climate.af')
    const before = asked('/data/climate.af').length
    const after = () => asked('/data/climate.af').slice(before)
    const release = site.hold(0)
    try {
      await view.slide(5)
      await view.until('a request', () => after().length > 0)
      const overtaken = after()
      await view.slide(11)
      await view.until('overtaken requests given up', () => overtaken.every(({ end }) => end === 'given up'))
    } finally {
      release()
    }
    await view.shows(['at.time', '11'])
    await view.point(expected.get('lat').values[59], expected.get('lon').values[18], readout(11, 59, 18))
    equal(after().at(-1).end, 'answered')
  })
  await check('of a plane that is too large every n-th row and column is drawn, missing values are hatched', async () => {
    await view.open('url=/data/wide.af')
    equal((await text('subtitle')).includes(`every ${WIDE.steps.join(' × ')}th cell`), true)
    await view.pointShare(0.3, 0.2)
    await view.until('a cell', async () => /^\d+ · dim_0 /.test(await text('readout')))
    const [value, y, x] = (await text('readout')).match(/\d+(?=,| ·|$)/g).map(Number)
    equal(value, y * WIDE.shape[1] + x)
    equal([y % WIDE.steps[0], Math.abs(y - 0.3 * WIDE.shape[0]) < 4, Math.abs(x - 0.2 * WIDE.shape[1]) < 4], [0, true, true])
    await view.pointShare(0.9, 0.9)
    await view.until('a missing value', async () => (await text('readout')).startsWith('no value · dim_0'))
    equal((await view.hatching(0.7, 0.7)).size, 2)
  })
  await check('packed values are unpacked, and rows fall from the north', async () => {
    await view.open('url=/data/packed.af')
    await view.pointShare(0.25, 0.25)
    await view.reads('272 K · 20°N, x 0')
    await view.pointShare(0.25, 0.75)
    await view.reads('no value · 20°N, x 1')
    await view.pointShare(0.75, 0.75)
    await view.reads('271 K · 10°N, x 1')
  })
  await check('degrees of a rotated pole are no places of the globe, but their north is up', async () => {
    await view.open('url=/data/rotated.af')
    equal(await page.evaluate(() => document.querySelector('.of-maps').hidden), true)
    await view.pointShare(0.1, 0.1)
    await view.reads('6 · rlat 1 degrees, rlon -1 degrees')
  })
  await check('where a picture cannot be read none is shown, and the error stands beside it', async () => {
    await view.slide(1)
    await view.until('an error', async () => (await text('view-error')).includes('9007199254740993'))
    const blank = () => {
      const canvas = document.getElementById('canvas')
      return canvas
        .getContext('2d')
        .getImageData(0, 0, canvas.width, canvas.height)
        .data.every((part) => part === 0)
    }
    equal(await page.evaluate(blank), true)
    await view.slide(0)
    await view.pointShare(0.9, 0.9)
    await view.until('a cell', async () => (await text('readout')).startsWith('2 · '))
    equal(await text('view-error'), '')
  })
  await check('a NetCDF file of this machine is opened, times are dates', async () => {
    const requests = asked('/data/').length
    await browser.upload(page, '#file', NETCDF)
    await view.shows(['variable', 'tas'])
    await view.point(expected.get('lat').values[41], expected.get('lon').values[23], readout(0, 41, 23))
    equal(await page.evaluate(() => document.querySelector('#sliders output').value), '2005-01-16 12:00')
    equal([asked('/data/').length, await text('cost')], [requests, ''])
  })
  await check('a file is opened where it is dropped', async () => {
    await view.open('url=/data/packed.af')
    const bytes = readFileSync(NETCDF).toString('base64')
    await page.evaluate(async (bytes) => {
      const blob = await (await fetch(`data:application/x-netcdf;base64,${bytes}`)).blob()
      const transfer = new DataTransfer()
      transfer.items.add(new File([blob], 'dropped.nc'))
      document.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }))
    }, bytes)
    await view.shows(['variable', 'tas'])
    await view.point(expected.get('lat').values[30], expected.get('lon').values[40], readout(0, 30, 40))
  })
  await check('a folder of Zarr that is dropped is opened, and another folder is refused', async () => {
    await view.open('url=/data/packed.af')
    const files = readdirSync(ZARR, { recursive: true }).filter((name) => statSync(join(ZARR, name)).isFile())
    await page.evaluate(dropFolder, ['era5.zarr', files.map((name) => [name, readFileSync(join(ZARR, name)).toString('base64')])])
    await view.shows(['variable', 'geopotential'])
    equal((await text('subtitle')).startsWith('time 2020-01-01 · level 500 hPa'), true)
    await page.evaluate(dropFolder, ['other', [['notes.txt', '']]])
    await view.until('an error', async () => (await text('open-error')).includes('the folder other has none of zarr.json'))
  })
  await check('a variable of one dimension, chosen with the keyboard, is a line', async () => {
    await view.open('url=/data/climate.af')
    await page.focus('[data-name=lat]')
    await page.keyboard.press('Enter')
    await view.until('a line', () => page.evaluate(() => document.querySelector('#line canvas') !== null))
    const [south, north] = [0, 95].map((row) => digits(expected.get('lat').values[row]))
    const label = await page.evaluate(() => document.getElementById('line').ariaLabel)
    equal(label, `latitude along lat, ${south} degrees_north to ${north} degrees_north`)
    equal(await page.evaluate(() => document.getElementById('figure').hidden), true)
    const [x, y] = await page.evaluate(() => {
      const { left, top, width, height } = document.querySelector('#line .u-over').getBoundingClientRect()
      return [left + width / 2, top + height / 2]
    })
    await page.mouse.move(x, y)
    await view.until('a reading', async () => {
      const [, value, place, side] =
        /^(\S+) degrees_north · ([\d.]+)°([NS])$/.exec(
          await page.evaluate(() => document.querySelector('#line .reading').textContent),
        ) ?? []
      return value !== undefined && Math.abs(Number(value) - (side === 'N' ? 1 : -1) * Number(place)) < 0.001 && Number(place) < 2
    })
  })
  await check('names and attributes of a file are text, never HTML', async () => {
    await view.open('url=/data/hostile.af')
    const found = await page.evaluate(() => [
      document.querySelectorAll('main img, main script').length,
      window.wasHere,
      document.getElementById('title').textContent,
    ])
    equal(found[0], 0)
    equal(found[1], undefined)
    equal(found[2].startsWith('<img'), true)
  })
  await check('a missing file and a bad one say so', async () => {
    await page.goto(view.address('url=/data/missing.af'))
    await view.until('an error', async () => /^NotFoundError: .*missing\.af/.test(await text('open-error')))
    await browser.upload(page, '#file', join(folder, 'bad.af'))
    await view.until('an error', async () => /^FormatError: .*bad\.af/.test(await text('open-error')))
  })
  await check('examples that ship with it open with a click', async () => {
    await page.goto(view.address(''))
    await page.click('[data-example="temperature.af"]')
    await view.shows(['variable', 'tas'])
    await page.goto(view.address(''))
    await page.click('[data-example="anomaly.af"]')
    await view.shows(['projection', 'equal-earth'])
    equal((await text('title')).startsWith('Difference of near-surface air temperature'), true)
  })
}

/** Runs in the page: drops a folder, as browsers that hand over folders do. */
async function dropFolder([name, files]) {
  const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle(name, { create: true })
  for (const [path, data] of files) {
    const parts = path.split('/')
    let inside = folder
    for (const part of parts.slice(0, -1)) inside = await inside.getDirectoryHandle(part, { create: true })
    const writable = await (await inside.getFileHandle(parts.at(-1), { create: true })).createWritable()
    await writable.write(Uint8Array.from(atob(data), (character) => character.charCodeAt(0)))
    await writable.close()
  }
  DataTransferItem.prototype.getAsFileSystemHandle = async () => folder
  const transfer = new DataTransfer()
  transfer.items.add(new File(['x'], name))
  document.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }))
}

/** Counts the requests for data. */
const dataRequests = ({ asked }) => asked.filter(({ path }) => path.startsWith('/data/')).length

async function checkMoves({ check, browser, view }) {
  const { page, text } = view
  const zoomOf = async () => Number((await view.query('zoom')) ?? 1)
  /** The picture under the pointer, once it is still. */
  const under = async (share, press) => {
    await view.pointShare(...share)
    await view.until('a cell', async () => / K · /.test(await text('readout')))
    await press?.()
    return text('readout')
  }
  await check('the wheel zooms where the pointer is: with Ctrl, or what is zoomed already', async () => {
    await view.open('url=/data/climate.af')
    const share = [0.3, 0.6]
    const before = await under(share)
    await browser.wheel(page, -200)
    equal(await zoomOf(), 1)
    await page.keyboard.down('Control')
    await browser.wheel(page, -300)
    await page.keyboard.up('Control')
    await view.until('a zoom', async () => (await zoomOf()) > 2)
    equal(await under(share), before)
    const once = await zoomOf()
    await browser.wheel(page, -300)
    await view.until('a zoom', async () => (await zoomOf()) > once)
    equal(await under(share), before)
    await browser.wheel(page, 5000)
    await view.shows(['zoom', null])
  })
  await check('what is zoomed is dragged with the mouse, and that is no click', async () => {
    await view.open('url=/data/climate.af&zoom=4')
    const [from, to] = [
      [0.4, 0.4],
      [0.6, 0.7],
    ]
    const before = await under(from)
    await page.mouse.down()
    await view.pointShare(...[0, 1].map((side) => (from[side] + to[side]) / 2))
    await view.pointShare(...to)
    await page.mouse.up()
    await view.until('a move', async () => (await view.query('x')) !== null)
    equal(await under(to), before)
    equal([await view.query('cell'), await page.evaluate(() => document.getElementById('profiles').hidden)], [null, true])
  })
}

async function checkLevels({ check, site, folder, dist, view }) {
  const { page, text } = view
  await writeNested(join(folder, 'nested.zarr'), dist)
  const chunks = (since) => site.asked.slice(since).filter(({ path }) => /\/c\/\d+\/\d+$/.test(path))
  const isStill = () => page.evaluate(() => document.documentElement.dataset.state === 'shown')
  /**
   * The row and the column that are read out of a map, by its degrees, of cells so many times as large as the
   * finest.
   */
  const onMap = async (times) => {
    const [, value, lat, ns, lon, ew] = /^([\d.]+) m · ([\d.]+)°([NS]), ([\d.]+)°([EW])$/.exec(await text('readout')) ?? []
    const row = Math.round(((90 - (ns === 'N' ? lat : -lat)) / 180) * (FINEST.rows / times) - 0.5)
    const column = Math.round(((ew === 'E' ? Number(lon) : 360 - lon) / 360) * (FINEST.columns / times) - 0.5)
    return { value: Number(value), row, column }
  }

  await check('of groups the first with arrays is shown, and of its pyramid a level whose cells are seen', async () => {
    await view.open('url=/data/nested.zarr')
    const groups = () => page.evaluate(() => [...document.querySelectorAll('#group option')].map(({ value }) => value))
    await view.until('groups', async () => (await groups()).length > 0)
    equal(await groups(), ['image', 'map', 'stations/today'])
    equal(await text('subtitle'), 'level 2 (0 to 2), 256 × 512 cells')
    await view.pointShare(0.25, 0.75)
    await view.until('a cell', async () => /^\d/.test(await text('readout')))
    const [value, row, column] = (await text('readout')).match(/[\d.]+/g).map(Number)
    // Coordinates of images are places in the finest level.
    equal(value, Number(digits(levelValue(row, column, 1))))
    equal([Math.abs(row - 256) < 16, Math.abs(column - 1536) < 16, row % 4], [true, true, 1.5])
  })
  await check('another group is chosen, whose level has its own coordinates', async () => {
    const before = site.asked.length
    await view.select('group', 'map')
    await view.shows(['group', 'map'])
    equal(await text('subtitle'), 'level 2 (0 to 3), 256 × 512 cells')
    await view.pointShare(0.25, 0.75)
    await view.until('a cell', async () => / m · /.test(await text('readout')))
    const { value, row, column } = await onMap(4)
    equal(value, Number(digits(levelValue(row, column, 4))))
    // Metadata were read with those of the store, and of finer levels nothing is.
    const paths = site.asked.slice(before).map(({ path }) => path.replace('/data/nested.zarr/map/', ''))
    equal(
      paths.filter((path) => path.includes('/') === false || /^[01]\//.test(path) || path.endsWith('zarr.json')),
      [],
    )
    equal(chunks(before).filter(({ path }) => path.includes('/height/')).length, 4)
  })
  await check('zoomed in, the finest level is read where it is seen', async () => {
    await page.click('#zoom-in')
    await view.shows(['zoom', '2'])
    equal(await text('subtitle'), 'level 1 (0 to 3), 512 × 1024 cells')
    const before = site.asked.length
    await view.open('url=/data/nested.zarr&group=map&x=90&y=45&zoom=8')
    equal(await text('subtitle'), 'level 0 (0 to 3), 1024 × 2048 cells')
    await view.pointShare(0.3, 0.6)
    await view.until('a cell', async () => / m · /.test(await text('readout')))
    const { value, row, column } = await onMap(1)
    equal(value, Number(digits(levelValue(row, column, 1))))
    // The viewer reads only the visible ones of 64 chunks, and those beside them.
    const finest = chunks(before).filter(({ path }) => path.includes('/0/height/'))
    equal([finest.length > 0, finest.length <= 12], [true, true])
    // A small move finds its data in memory. A larger one reads more.
    const reads = () => chunks(before).length
    const now = reads()
    await page.focus('#canvas')
    await page.keyboard.down('Shift')
    await page.keyboard.press('ArrowRight')
    await view.until('a move', async () => Number(await view.query('x')) > 90 && (await isStill()))
    equal(reads(), now)
    for (let i = 0; i < 8; i++) await page.keyboard.press('ArrowRight')
    await page.keyboard.up('Shift')
    await view.until('a move', async () => Number(await view.query('x')) > 110 && (await isStill()))
    equal(reads() > now, true)
    for (const zoom of ['4', '2', null]) {
      await page.click('#zoom-out')
      await view.shows(['zoom', zoom])
    }
    equal(await text('subtitle'), 'level 2 (0 to 3), 256 × 512 cells')
  })
  await check('the code of a level opens that level of that group', async () => {
    await page.click('#code summary')
    await view.until('code', async () => (await view.value('javascript')).includes('{"group":"map","level":2}'))
    const program = join(folder, 'level.mjs')
    writeFileSync(program, await view.value('javascript'))
    const { code, stdout, stderr } = await execute(process.execPath, [program], { cwd: folder })
    equal([code, stderr, stdout.startsWith('[ 256, 512 ] ')], [0, '', true])
  })
  await check('a group below others is opened by a link, and one that is not there says so', async () => {
    await view.open('url=/data/nested.zarr&group=stations/today')
    await view.pointShare(0.25, 0.75)
    await view.reads('2 · y 0, x 1')
    await page.goto(view.address('url=/data/nested.zarr&group=nowhere'))
    await view.until('an error', async () => /^UnknownArrayError: .*nowhere/.test(await text('open-error')))
  })
  await check('zoomed in, a plane that is too large is read as it is', async () => {
    await view.open('url=/data/wide.af&zoom=4')
    equal(await text('subtitle'), '')
    for (const share of [0.3, 0.31, 0.32]) {
      await view.pointShare(share, 0.4)
      const cell = async () =>
        (await text('readout'))
          .match(/^(\d+) · dim_0 (\d+), dim_1 (\d+)$/)
          ?.slice(1)
          .map(Number)
      const isThere = (y) => Math.abs(y - WIDE.shape[0] * (0.375 + share / 4)) < 4
      await view.until(`a cell at ${share}`, async () => isThere((await cell())?.[1]))
      const [value, y, x] = await cell()
      equal(value, y * WIDE.shape[1] + x)
    }
    await page.click('#zoom-out')
    await page.click('#zoom-out')
    await view.shows(['zoom', null])
    equal((await text('subtitle')).includes('every'), true)
  })
}

async function checkQuestions({ check, site, folder, view }) {
  const { page, text } = view
  const [lat, lon] = [expected.get('lat').values[59], expected.get('lon').values[18]]
  const charts = () => page.evaluate(() => [...document.querySelectorAll('#charts figure')].map(({ dataset }) => dataset.dim))

  await check('a click shows profiles beside the map, with what the series costs', async () => {
    await view.open('url=/data/climate.af')
    const before = dataRequests(site)
    await view.click(lat, lon)
    await view.until('three charts', async () => (await charts()).length === 3)
    equal(await charts(), ['time', 'lon', 'lat'])
    equal(await text('profile-place'), placeOf(59, 18))
    const [, reads] = /^The series along time takes (\d+) reads? for 48 bytes of values\.$/.exec(await text('profile-cost')) ?? []
    equal([dataRequests(site) - before <= Number(reads), Number(reads) > 0], [true, true])
    equal(await view.query('cell'), '59,18')
  })
  await check('a series is read once while months are gone through', async () => {
    const before = dataRequests(site)
    await page.click('#sliders .slider button:nth-of-type(2)')
    await view.shows(['at.time', '1'])
    await view.until('three charts', async () => (await charts()).length === 3)
    // The month itself is read with the others of its block, or alone.
    equal(dataRequests(site) - before <= 1, true)
    await page.focus('#canvas')
    await page.keyboard.press('Escape')
    await view.until('no profiles', () => page.evaluate(() => document.getElementById('profiles').hidden))
  })
  await check('months are played, and stay where they are paused', async () => {
    await page.click('#sliders .play')
    await view.until('another month', async () => Number(await view.query('at.time')) >= 3)
    await page.click('#sliders .play')
    const at = await view.query('at.time')
    await new Promise((resolve) => setTimeout(resolve, 600))
    equal(await view.query('at.time'), at)
    equal(await page.evaluate(() => document.querySelector('#sliders .play').textContent), 'Play')
  })
  await check('the difference of two months is drawn around 0', async () => {
    await view.open('url=/data/climate.af')
    await page.click('#subtract')
    await view.shows(['minus', '0'])
    await view.slide(6)
    await view.shows(['at.time', '6'])
    await view.point(lat, lon, undefined)
    const value = Number((await text('readout')).split(' ')[0])
    if (Math.abs(value - (tasAt(6, 59, 18) - tasAt(0, 59, 18))) > 1e-4) throw new Error(`it is ${value}`)
    equal(await text('subtitle'), 'time 2005-07-16 12:00 less 2005-01-16 12:00')
    const [, low, high] = /colours from (\S+) K to (\S+) K/.exec(
      await page.evaluate(() => document.getElementById('canvas').ariaLabel),
    )
    equal(Number(low), -Number(high))
    await page.click('#subtract-none')
    await view.point(lat, lon, readout(6, 59, 18))
  })
  await check('the mean along time is computed', async () => {
    await view.select('mean', 'time')
    await view.shows(['mean', 'time'])
    let sum = 0
    for (let month = 0; month < 12; month++) sum += tasAt(month, 59, 18)
    await view.point(lat, lon, undefined)
    near(Number((await text('readout')).split(' ')[0]), Number(digits(sum / 12)))
    equal(await text('subtitle'), 'mean along time')
  })
  const meanOf = (months, row, column) => months.reduce((sum, month) => sum + tasAt(month, row, column), 0) / months.length
  const readsNear = async (expected) => {
    await view.point(lat, lon, undefined)
    const found = Number((await text('readout')).split(' ')[0])
    if (!(Math.abs(found - expected) < 1e-3)) throw new Error(`${found} is not ${expected}`)
  }
  await check('means of each season are computed once, and gone through', async () => {
    await view.open('url=/data/climate.af')
    await view.select('by', 'season')
    await view.shows(['by', 'season'])
    equal(await text('subtitle'), 'mean of each season: DJF')
    await readsNear(meanOf([11, 0, 1], 59, 18))
    const reads = () => site.asked.filter(({ path }) => path.startsWith('/data/')).length
    const before = reads()
    await view.slide(1)
    await view.shows(['at.season', '1'])
    equal(await page.evaluate(() => document.querySelector('#sliders output').value), 'JJA')
    await readsNear(meanOf([5, 6, 7], 59, 18))
    await page.click('#subtract')
    await view.shows(['minus', '1'])
    await view.slide(0)
    await view.shows(['at.season', null])
    equal(await text('subtitle'), 'mean of each season: DJF less JJA')
    await readsNear(meanOf([11, 0, 1], 59, 18) - meanOf([5, 6, 7], 59, 18))
    equal(reads(), before)
    await view.click(lat, lon)
    await view.until('three charts', async () => (await charts()).length === 3)
    equal(await charts(), ['season', 'lon', 'lat'])
    await page.focus('#canvas')
    await page.keyboard.press('Escape')
  })
  await check('a link opens means of months, and the mean of these', async () => {
    await view.open('url=/data/climate.af&by=month&at.month=6')
    equal(await text('subtitle'), 'mean of each month: July')
    await view.point(lat, lon, readout(6, 59, 18))
    await view.select('mean', 'month')
    await view.shows(['mean', 'month'])
    await readsNear(meanOf([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 59, 18))
    await view.select('mean', '')
    await view.select('by', '')
    await view.shows(['by', null])
    await view.point(lat, lon, readout(0, 59, 18))
  })
  await check('means of seasons are stopped before they are there', async () => {
    await view.open('url=/data/climate.af')
    const release = site.hold(0)
    try {
      await view.select('by', 'season', false)
      await view.until('progress', () => page.evaluate(() => !document.getElementById('progress').hidden))
      await page.click('#abort')
      await view.until('times', async () => (await view.query('by')) === null)
    } finally {
      release()
    }
    await view.shows(['by', null])
    await view.point(lat, lon, readout(0, 59, 18))
  })
  await check(
    'the difference of two variables is drawn around 0, and refused beside the control where there is none',
    async () => {
      await view.open('url=/data/pair.af&variable=a')
      await view.select('less', 'b')
      await view.shows(['less', 'b'])
      await view.pointShare(0.25, 0.9)
      await view.reads('-27 K · y 0, x 2')
      const label = await page.evaluate(() => document.getElementById('canvas').ariaLabel)
      if (!label.startsWith('a less b [K], ') || !label.includes('colours from -57 K to 57 K')) throw new Error(label)
      for (const [name, told] of [
        ['m', 'a is in K and m in m: their difference means nothing'],
        ['deep', 'deep has the dimension z, and a has not'],
      ]) {
        await view.select('less', name, false)
        await view.until('an error', async () => (await text('compute-error')).includes(told))
        equal([await view.value('less'), await view.query('less')], ['b', 'b'])
      }
      await view.select('less', '')
      await view.shows(['less', null])
      equal(await text('compute-error'), '')
      await view.open('url=/data/pair.af&variable=a&less=deep')
      equal([(await text('compute-error')).includes('deep has the dimension z'), await view.query('less')], [true, null])
      await view.open('url=/data/pair.af&variable=deep&less=b&at.z=1')
      await page.click('#code summary')
      await view.until('code', async () => (await view.value('javascript')) !== '')
      const program = join(folder, 'less.mjs')
      writeFileSync(program, await view.value('javascript'))
      const { stdout, stderr } = await execute(process.execPath, [program], { cwd: folder })
      equal([stdout.includes('-9, -18, -27, 44, -45, -57'), stderr], [true, ''])
    },
  )
  await check('a mean that takes long tells how far it is, and can be stopped', async () => {
    await view.open('url=/data/days.af')
    const release = site.hold(0)
    try {
      await view.select('mean', 'time', false)
      await view.until('progress', () => page.evaluate(() => !document.getElementById('progress').hidden))
      await page.click('#abort')
    } finally {
      release()
    }
    await view.until('a month', async () => (await view.query('mean')) === null && (await text('subtitle')).startsWith('time'))
    equal(await page.evaluate(() => document.getElementById('progress').hidden), true)
  })
  await check('a long series is read when it is asked for', async () => {
    await view.open('url=/data/days.af')
    await page.focus('#canvas')
    await page.keyboard.press('ArrowRight')
    const before = dataRequests(site)
    await page.keyboard.press('Enter')
    await view.until('the cost', async () => /takes \d+ reads/.test(await text('profile-cost')))
    const [, reads] = /takes (\d+) reads/.exec(await text('profile-cost'))
    if (Number(reads) <= 64) throw new Error(`${reads} reads are few`)
    equal([dataRequests(site), await charts()], [before, ['x', 'y']])
    await page.click('#read-series')
    await view.until('the series', async () => (await charts()).length === 3)
  })
}

async function checkCosts({ check, site, folder, dist, view }) {
  const { page, text } = view
  await writeBigNetcdf(join(folder, 'big.nc'))
  /** Modules that the page has found out about only when another one had come. */
  const late = () =>
    page.evaluate(() => {
      const known = [...document.querySelectorAll('script[src], link[rel=modulepreload]')].map(({ src, href }) => src ?? href)
      const loaded = performance.getEntriesByType('resource').map(({ name }) => name)
      return loaded.filter((name) => name.endsWith('.js') && !known.includes(name))
    })

  await check('the first map of a file of 104 MB takes five requests, and no module that is not preloaded', async () => {
    const before = site.asked.length
    await view.open('url=/data/big.nc?slow=20')
    await view.pointShare(0.25, 0.75)
    const near = () => text('readout').then((found) => /^([\d.]+) K · ([\d.]+)°N, ([\d.]+)°E$/.exec(found)?.slice(1).map(Number))
    await view.until('a value', async () => (await near()) !== undefined)
    const [value, lat, lon] = await near()
    equal([Math.abs(lat - 45) < 1, Math.abs(lon - 90) < 1], [true, true])
    equal(value, Number(digits(bigValue(0, (90 - lat) * 4, lon * 4))))
    const requests = site.asked.slice(before).filter(({ path }) => path === '/data/big.nc')
    // The head, three coordinates and the first day.
    equal(requests.map(({ method }) => method).sort(), ['GET', 'GET', 'GET', 'GET', 'GET'])
    equal(await late(), [])
  })
  await check('the first map of a container of as much takes five requests, and no other module', async () => {
    const cli = join(dist, 'cli.js')
    const { code, stderr } = await execute(process.execPath, [cli, 'import', join(folder, 'big.nc'), join(folder, 'big.af')])
    equal([code, stderr], [0, ''])
    const before = site.asked.length
    await view.open('url=/data/big.af?slow=20')
    await view.pointShare(0.25, 0.75)
    await view.until('a value', async () => / K · /.test(await text('readout')))
    const [value, lat, lon] = (await text('readout')).match(/[\d.]+/g).map(Number)
    equal(value, Number(digits(bigValue(0, (90 - lat) * 4, lon * 4))))
    const requests = site.asked.slice(before).filter(({ path }) => path.startsWith('/data/'))
    // The sidecar that is not there, the end of the file, whether it is still the same, coordinates, and the
    // first day.
    equal(requests.map(({ path, method }) => `${method} ${path}`).sort(), [
      'GET /data/big.1.af',
      'GET /data/big.af',
      'GET /data/big.af',
      'GET /data/big.af',
      'HEAD /data/big.af',
    ])
    equal(await late(), [])
  })
  await check('a mean tells how many of its requests were answered, and asks for no more when it is stopped', async () => {
    await view.open('url=/data/big.af')
    const before = site.asked.length
    const release = site.hold(2)
    try {
      await view.select('mean', 'time', false)
      const share = () => page.evaluate(() => document.querySelector('#progress:not([hidden]) progress')?.position)
      await view.until('some answers', async () => (await share()) > 0 && (await share()) < 1)
      await page.click('#abort')
      await view.until('an end', async () => (await view.query('mean')) === null)
    } finally {
      release()
    }
    await view.shows(['mean', null])
    equal(await page.evaluate(() => document.getElementById('progress').hidden), true)
    // The aborted mean made at most 8 of some 30 requests, perhaps one for the first day included.
    equal(site.asked.slice(before).filter(({ path }) => path === '/data/big.af').length <= 8, true)
  })
  // Prints the times for a look. A busy machine takes longer.
  for (const name of ['big.nc', 'big.af']) {
    await page.goto(view.address(`url=/data/${name}?slow=20`))
    await view.shows(['variable', 't2m'])
    const ms = await page.evaluate(() => performance.getEntriesByName('first picture')[0]?.startTime)
    console.log(`first map of ${name}, 104 MB, at 20 ms a request: ${ms?.toFixed(0)} ms after the page began`)
  }
  console.log(`frames of 1440 × 720 cells that were read: ${(await framesASecond(view)).toFixed(0)} a second, of 60 at most`)
  // Only Chromium reports the memory that a page has allocated.
  if (page.context === undefined) return
  await check('frames that were read are drawn without reading or allocating, and memory stays flat', async () => {
    const profiler = await page.context().newCDPSession(page)
    const slides = (count) =>
      page.evaluate(async (count) => {
        const input = document.querySelector('#sliders input')
        const canvas = document.getElementById('canvas')
        const { left, top, width, height } = canvas.getBoundingClientRect()
        for (let i = 0; i < count; i++) {
          input.value = i % 2
          input.dispatchEvent(new Event('input'))
          const at = { clientX: left + ((i * 37) % width), clientY: top + ((i * 11) % height), bubbles: true }
          canvas.dispatchEvent(new PointerEvent('pointermove', at))
          await new Promise((resolve) => setTimeout(resolve))
        }
      }, count)
    const used = async () => {
      await profiler.send('HeapProfiler.collectGarbage')
      return (await profiler.send('Runtime.getHeapUsage')).usedSize
    }
    await slides(4)
    await view.shows(['at.time', '1'])
    const [before, requests] = [await used(), site.asked.length]
    const all = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true }
    await profiler.send('HeapProfiler.startSampling', { samplingInterval: 1024, ...all })
    await slides(200)
    const { profile } = await profiler.send('HeapProfiler.stopSampling')
    const sum = ({ selfSize, children }) => children.reduce((total, child) => total + sum(child), selfSize)
    const perFrame = sum(profile.head) / 200
    // A picture has half a million pixels: a closure or an array each would take tens of megabytes.
    if (perFrame > 100_000) throw new Error(`${perFrame} bytes are allocated for a frame`)
    await slides(800)
    const grown = (await used()) - before
    if (grown > 1_000_000) throw new Error(`the heap has grown by ${grown} bytes in 1000 frames`)
    equal(site.asked.length, requests)
  })
}

/** Slides to another frame and points to another cell each time that the browser is about to draw. */
async function framesASecond({ page, slide, shows }) {
  await slide(1)
  await shows(['at.time', '1'])
  return page.evaluate(async () => {
    const input = document.querySelector('#sliders input')
    const canvas = document.getElementById('canvas')
    const { left, top, width, height } = canvas.getBoundingClientRect()
    const drawing = () => new Promise((resolve) => requestAnimationFrame(resolve))
    let drawn = 0
    const observer = new MutationObserver((changes) => (drawn += changes.length))
    await drawing()
    // Each picture has a description of its own.
    observer.observe(canvas, { attributeFilter: ['aria-label'] })
    const begun = performance.now()
    for (let i = 0; i < 180; i++) {
      input.value = i % 2
      input.dispatchEvent(new Event('input'))
      const at = { clientX: left + ((i * 37) % width), clientY: top + ((i * 11) % height), bubbles: true }
      canvas.dispatchEvent(new PointerEvent('pointermove', at))
      await drawing()
    }
    observer.disconnect()
    return (1000 * drawn) / (performance.now() - begun)
  })
}

async function checkHandingOn({ check, browser, app, folder, view }) {
  const { page, text } = view

  await check('a link opens the same picture', async () => {
    await view.open('url=/data/climate.af')
    await view.slide(4)
    await view.shows(['at.time', '4'])
    await view.select('colours', 'cividis')
    await view.select('projection', 'equal-earth')
    await page.click('#zoom-in')
    await view.shows(['zoom', '2'])
    await page.focus('#canvas')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    const link = await page.evaluate(() => location.href)
    const before = await view.picture()
    await page.goto(link)
    await view.shows(['zoom', '2'])
    await view.until('profiles', async () => (await text('profile-place')) !== '')
    equal(await view.picture(), before)
    equal(await page.evaluate(() => location.href), link)
  })
  await check('hyperslab view shows a file, under a policy that lets the page run nothing else', async () => {
    const command = join(app.folder, 'node_modules/hyperslab/dist/cli.js')
    const served = await serveView(command, NETCDF)
    try {
      await page.goto(served.address)
      await view.shows(['variable', 'tas'])
      await view.point(expected.get('lat').values[60], expected.get('lon').values[70], readout(0, 60, 70))
      await view.select('mean', 'time')
      await view.shows(['mean', 'time'])
    } finally {
      served.close()
    }
    await view.open('url=/data/climate.af')
  })
  await check('a picture with its colour bar is saved as PNG', async () => {
    const { name, bytes } = await view.saved('#png')
    equal([name, [...bytes.subarray(1, 4)].map((code) => String.fromCharCode(code)).join('')], ['tas.png', 'PNG'])
    if (bytes.length < 20_000) throw new Error(`it has ${bytes.length} bytes`)
  })
  await check('a profile is saved as CSV', async () => {
    await view.open('url=/data/climate.af&cell=59,18')
    await view.until('three charts', () => page.evaluate(() => document.querySelectorAll('#charts figure').length === 3))
    const { name, bytes } = await view.saved('#charts [data-dim=time] button')
    equal(name, 'Near-Surface Air Temperature-time.csv')
    const [header, first, ...rest] = bytes.toString().split('\n')
    equal([header, rest.length], ['time,Near-Surface Air Temperature (K)', 12])
    equal(first, `2005-01-16 12:00,${tasAt(0, 59, 18)}`)
  })
  await check('the code in JavaScript and in Python gives what is drawn', async () => {
    await page.goto(view.address(''))
    await browser.upload(page, '#file', NETCDF)
    await view.shows(['variable', 'tas'])
    await page.click('#subtract')
    await view.shows(['minus', '0'])
    await view.slide(3)
    await view.shows(['at.time', '3'])
    await page.click('#code summary')
    await view.until('code', async () => (await view.value('python')).includes('import xarray'))
    let sum = 0
    for (let i = 0; i < ROWS * COLUMNS; i++) sum += values[3 * ROWS * COLUMNS + i] - values[i]
    const cwd = dirname(NETCDF)
    const program = join(folder, 'code.mjs')
    writeFileSync(program, `${await view.value('javascript')}console.log(data.reduce((sum, value) => sum + value, 0))\n`)
    const node = await execute(process.execPath, [program], { cwd })
    const ran = node.stdout.trim().split('\n')
    equal([node.code, ran[0].startsWith('[ 96, 192 ]')], [0, true])
    if (!(Math.abs(Number(ran.at(-1)) - sum) < 1e-3 * Math.abs(sum))) throw new Error(`${ran.at(-1)} is not ${sum}`)
    const { env, failure } = pythonEnvironment(PYTHON)
    if (env === undefined) {
      if (process.env.CI === 'true') throw new Error(failure)
      console.warn(`SKIPPED: code in Python: ${failure}`)
      return
    }
    const script = join(folder, 'code.py')
    writeFileSync(script, `${await view.value('python')}\nprint(array.shape, float(array.astype("float64").sum()))\n`)
    const python = await execute('python3', [script], { cwd, env, seconds: 30 })
    const [, size, total] = /^(\(.*\)) (.*)$/.exec(python.stdout.trim()) ?? [undefined, python.stderr]
    equal(size, '(96, 192)')
    if (!(Math.abs(Number(total) - sum) < 1e-3 * Math.abs(sum))) throw new Error(`${total} is not ${sum}`)
  })
}

/** Starts `hyperslab view`. */
async function serveView(command, place) {
  const child = spawn(process.execPath, [command, 'view', place, '--no-open'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const address = await new Promise((resolve, reject) => {
    child.stdout.once('data', (piece) => resolve(piece.toString().trim()))
    child.once('exit', (code) => reject(new Error(`hyperslab view ended with ${code}`)))
  })
  return { address, close: () => child.kill() }
}
