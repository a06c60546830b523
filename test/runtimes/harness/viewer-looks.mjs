// Compares the viewer in eight states, and checks that it is accessible. Fonts differ between machines, and
// so do sizes between browsers. So the check compares colours at fixed places of the canvas, and the boxes of
// the page. HYPERSLAB_LOOKS=write replaces the expected colours, and HYPERSLAB_SHOTS=<folder> writes
// screenshots to look at.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { checker, equal } from '../check.mjs'
import { scratch } from './app.mjs'
import { serveRanges } from './ranges.mjs'
import { root } from './tools.mjs'
import { makeContainers, writeNested } from './viewer-data.mjs'
import { viewOf } from './viewer-page.mjs'

const REFERENCE = join(root, 'test/runtimes/viewer-looks.json')
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const DESKTOP = { width: 1280, height: 900 }
const PHONE = { width: 390, height: 844 }
/**
 * Columns and rows of places at which colours are compared: no multiples of what divides cells, at whose
 * edges browsers may differ.
 */
const PLACES = [34, 18]
/**
 * Parts of a colour that may differ, of 255, and places of which more may: edges of cells and of what is
 * hatched.
 */
const [NEAR, FEW] = [12, 40]

/** Each with what is seen in it. */
const STATES = {
  map: { search: 'url=/dist/viewer/examples/temperature.af&at.time=6&cell=75,8', charts: 3 },
  dark: { search: 'url=/dist/viewer/examples/anomaly.af&projection=equal-earth', dark: true },
  phone: { search: 'url=/dist/viewer/examples/temperature.af&cell=75,8', size: PHONE, charts: 3 },
  packed: { search: 'url=/data/packed.af' },
  descending: { search: 'url=/data/world.af&variable=down' },
  missing: { search: 'url=/data/world.af&variable=gaps' },
  line: { search: 'url=/dist/viewer/examples/temperature.af&variable=lat', line: true },
  error: { search: 'url=/data/missing.af', error: 'open-error' },
}

/** @returns what was checked, as `{ name, error? }` */
export async function runLooks(browser, app) {
  const folder = scratch(app, `looks-${browser.version}`)
  const dist = join(app.folder, 'node_modules/hyperslab/dist')
  await makeContainers(folder, dist)
  await writeNested(join(folder, 'nested.zarr'), dist)
  const site = await serveRanges({ dist, data: folder })
  const page = await browser.page({ touch: true })
  const { check, results } = checker(() => false)
  const view = viewOf(page, site.origin)
  const resize = (size) => (page.setViewportSize ?? page.setViewport).call(page, size)
  const reference = existsSync(REFERENCE) ? JSON.parse(readFileSync(REFERENCE, 'utf8')) : {}
  try {
    for (const [name, state] of Object.entries(STATES)) {
      await check(`${name}: it looks as it did, fits the window, and axe finds nothing`, async () => {
        await resize(state.size ?? DESKTOP)
        await show(view, state)
        await shoot(page, name)
        await checkBoxes(page, state)
        if (state.error === undefined && state.line === undefined) {
          const colours = await page.evaluate(coloursOf, PLACES)
          if (process.env.HYPERSLAB_LOOKS === 'write') reference[name] = colours.join(' ')
          else compare(colours, reference[name])
        }
        equal(await findings(page), [])
      })
    }
    await check('axe finds nothing where code is shown and limits are wrong', async () => {
      await resize(DESKTOP)
      await view.open('url=/dist/viewer/examples/temperature.af&log=true&limits=own&low=-1')
      await page.click('#code summary')
      await view.until('code', async () => (await view.value('javascript')) !== '')
      await page.evaluate(() => document.querySelector('#variables summary').click())
      equal(await findings(page), [])
    })
    await check('axe finds nothing where groups and levels are chosen, and what is computed is refused', async () => {
      await resize(DESKTOP)
      await view.open('url=/data/nested.zarr&group=map')
      await view.until('groups', () => page.evaluate(() => !document.getElementById('groups').hidden))
      await shoot(page, 'levels')
      equal(await findings(page), [])
      await view.open('url=/dist/viewer/examples/temperature.af&by=season&at.season=1')
      await shoot(page, 'seasons')
      equal(await findings(page), [])
      await view.open('url=/data/pair.af&variable=a&less=m')
      await view.until('an error', async () => (await view.text('compute-error')) !== '')
      await shoot(page, 'refused')
      equal(await findings(page), [])
    })
    await check('everything is reached with the keyboard, in the order it is seen', async () => {
      await view.open('url=/dist/viewer/examples/temperature.af')
      await page.evaluate(() => document.activeElement.blur())
      const reached = []
      for (let i = 0; i < 40 && reached.at(-1) !== 'code'; i++) {
        await page.keyboard.press('Tab')
        reached.push(
          await page.evaluate(() => {
            const { id, dataset, type, parentElement } = document.activeElement
            return id || dataset.name || (parentElement.id === 'code' ? 'code' : type)
          }),
        )
      }
      const wanted = [
        'url',
        'file',
        'theme',
        'tas',
        'at-time',
        'canvas',
        'colours',
        'limits',
        'projection',
        'mean',
        'png',
        'code',
      ]
      equal(
        reached.filter((each) => wanted.includes(each)),
        wanted,
      )
    })
    await check('a tap tells the value and shows profiles', async () => {
      await resize(PHONE)
      await view.open('url=/data/world.af&variable=down')
      const [x, y] = await page.evaluate(() => {
        document.getElementById('canvas').scrollIntoView({ block: 'center' })
        const { left, top, width, height } = document.getElementById('canvas').getBoundingClientRect()
        return [left + width * 0.75, top + height * 0.25]
      })
      await page.touchscreen.tap(x, y)
      await view.until('profiles', () => page.evaluate(() => document.querySelectorAll('#charts figure').length === 2))
      // Around 45° north and 90° east.
      const [, value, lat, lon] = /^([\d.]+) K · ([\d.]+)°N, ([\d.]+)°E$/.exec(await view.text('readout'))
      equal([Math.abs(lat - 45) < 4, Math.abs(lon - 90) < 4, Number(value)], [true, true, Number(lat) + 100])
    })
    await check('what is zoomed is dragged by touch, and that is no tap', async () => {
      await resize(PHONE)
      await view.open('url=/data/world.af&variable=down&zoom=4')
      const [x, y] = await page.evaluate(() => {
        document.getElementById('canvas').scrollIntoView({ block: 'center' })
        const { left, top, width, height } = document.getElementById('canvas').getBoundingClientRect()
        return [left + width / 2, top + height / 2]
      })
      await browser.swipe(page, [x, y], [x - 60, y + 30])
      await view.until('a move', async () => Number(await view.query('x')) > 0 && Number(await view.query('y')) > 0)
      equal(await view.query('cell'), null)
    })
    await check('whoever wants little motion sees frames change slowly', async () => {
      await browser.still(async (page) => {
        const still = viewOf(page, site.origin)
        await still.open('url=/dist/viewer/examples/temperature.af')
        equal(await page.evaluate(() => matchMedia('(prefers-reduced-motion: reduce)').matches), true)
        // Records the requested duration of frames, which does not depend on the speed of the machine.
        await page.evaluate(() => {
          window.waits = []
          const { setTimeout } = window
          window.setTimeout = (run, ms, ...rest) => {
            window.waits.push(ms)
            return setTimeout(run, ms, ...rest)
          }
        })
        await page.click('#sliders .play')
        await still.shows(['at.time', '1'])
        const waits = await page.evaluate(() => window.waits)
        if (!waits.some((ms) => ms > 300 && ms <= 1000)) throw new Error(`waits are ${waits}`)
      })
    })
    if (process.env.HYPERSLAB_LOOKS === 'write') writeFileSync(REFERENCE, `${JSON.stringify(reference, null, 2)}\n`)
    return results
  } finally {
    site.close()
    page.close().catch(() => undefined)
  }
}

/** Leaves a screenshot where these are wanted. */
async function shoot(page, name) {
  const folder = process.env.HYPERSLAB_SHOTS
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: name === 'phone' })
}

async function show(view, { search, dark = false, charts = 0, line = false, error }) {
  const { page, until, text } = view
  await page.goto(view.address(search))
  if (error !== undefined) await until('an error', async () => (await text(error)) !== '')
  else if (line) await until('a line', () => page.evaluate(() => document.querySelector('#line canvas') !== null))
  else await view.shows(['url', new URLSearchParams(search).get('url')])
  await until('charts', () => page.evaluate((charts) => document.querySelectorAll('#charts figure').length === charts, charts))
  if (dark && (await page.evaluate(() => document.documentElement.dataset.theme)) === 'light') await page.click('#theme')
  // Profiles beside the picture make it smaller, which it becomes with the next frame of the browser.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
}

/** Checks that no box extends beyond the window, parts do not overlap, and the picture is there. */
async function checkBoxes(page, { error, line }) {
  const found = await page.evaluate(() => {
    const boxOf = (selector) => {
      const { left, top, right, bottom, width } = document.querySelector(selector).getBoundingClientRect()
      return { left, top, right, bottom, width }
    }
    const parts = ['header', '#start', '#variables', '#view', '#profiles', 'footer'].filter((each) => boxOf(each).width > 0)
    const boxes = parts.map(boxOf)
    const covered = boxes.flatMap((a, i) =>
      boxes.flatMap((b, j) =>
        i < j && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1
          ? [`${parts[i]} and ${parts[j]}`]
          : [],
      ),
    )
    const { scrollWidth, clientWidth } = document.documentElement
    return { covered, wide: scrollWidth > clientWidth, canvas: boxOf('#canvas'), line: boxOf('#line'), window: clientWidth }
  })
  equal([found.covered, found.wide], [[], false])
  if (error !== undefined) return
  const picture = line ? found.line : found.canvas
  equal([picture.left >= 0, picture.right <= found.window, picture.width > 250], [true, true, true])
}

/**
 * Runs in the page: mean colours of 8 × 8 pixels, a period of the hatching, at the middles of a grid of
 * places.
 */
function coloursOf([columns, rows]) {
  const canvas = document.getElementById('canvas')
  const context = canvas.getContext('2d')
  return Array.from({ length: columns * rows }, (_, i) => {
    const x = Math.floor((((i % columns) + 0.5) / columns) * canvas.width) - 4
    const y = Math.floor(((Math.floor(i / columns) + 0.5) / rows) * canvas.height) - 4
    const { data } = context.getImageData(x, y, 8, 8)
    const mean = (part) => Math.round(data.reduce((sum, value, at) => (at % 4 === part ? sum + value : sum), 0) / 64)
    return [0, 1, 2].map((part) => mean(part).toString(16).padStart(2, '0')).join('')
  })
}

function compare(colours, before) {
  if (before === undefined) throw new Error('there is nothing to compare with: HYPERSLAB_LOOKS=write')
  const partsOf = (colour) => [0, 2, 4].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
  const expected = before.split(' ').map(partsOf)
  const others = colours.filter((colour, i) => partsOf(colour).some((part, c) => Math.abs(part - expected[i][c]) > NEAR))
  if (others.length > FEW) throw new Error(`${others.length} of ${colours.length} places have other colours`)
}

/** Returns the findings of axe: rules with the elements that break them. */
async function findings(page) {
  await page.evaluate(AXE)
  return page.evaluate(async () => {
    const { violations } = await window.axe.run()
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
  })
}
