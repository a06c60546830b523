// Opens the built site in Chromium: runs every cell and the chunking calculator, and searches. Missing
// programs are skipped, but fail in CI.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { provideBrowser, startBrowser } from '../test/runtimes/harness/browsers.mjs'
import { Missing, within } from '../test/runtimes/harness/processes.mjs'
import { serveRanges } from '../test/runtimes/harness/ranges.mjs'
import { install } from '../test/runtimes/harness/tools.mjs'

const dist = fileURLToPath(new URL('dist', import.meta.url))
/** Time limit per page, on a busy machine. */
const PAGE_SECONDS = 60

/** Searches for each question of docs/questions.md, and the pages that answer it. */
const SEARCHES = [
  [
    ['requester pays', 'S3 credentials', 'read private bucket'],
    ['questions', 'places'],
  ],
  [
    ['keep cache between visits', 'offline cache', 'persistent cache'],
    ['questions', 'places'],
  ],
  [['progress bar', 'show progress', 'loading percentage'], ['questions']],
  [['cancel a read', 'abort request', 'stop loading'], ['questions']],
  [
    ['choose chunks', 'best chunk size', 'how to chunk'],
    ['questions', 'chunking'],
  ],
  [
    ['custom fetch', 'authorization header', 'signed url', 'login token'],
    ['questions', 'places'],
  ],
  [['Observable Plot', 'deck.gl', 'draw a map'], ['questions']],
  [
    ['join files', 'concatenate daily files', 'open_mfdataset'],
    ['questions', 'datasets'],
  ],
  [['2D array rows', 'Float32Array lat lon', 'array as matrix'], ['questions']],
  [
    ['roll longitude', 'longitude 0 to 360', 'dateline', 'sorted longitudes'],
    ['questions', 'grids'],
  ],
  [
    ['complex numbers', 'complex64', 'imaginary part'],
    ['questions', 'formats'],
  ],
  [['time zone', 'UTC', 'local time'], ['questions']],
  [
    ['publish to R2', 'upload Zarr cloudflare', 'publish from command line'],
    ['questions', 'guide'],
  ],
  [
    ['browser support', 'Safari', 'minimum Chrome version'],
    ['questions', 'runtimes'],
  ],
  [
    ['bundle size', 'how big', 'kilobytes of package'],
    ['questions', 'speed'],
  ],
]

function assert(condition, message) {
  if (!condition) throw new Error(message)
}

/**
 * Runs all cells of a page that do not start by themselves; each has to print what its comments say. Their
 * requests are tested in Node.
 */
async function checkCells(page) {
  const cells = await page.evaluate(async () => {
    for (const button of document.querySelectorAll('button.run'))
      if (button.nextElementSibling.dataset.state === undefined) button.click()
    const outputs = [...document.querySelectorAll('output.cell')]
    while (outputs.some(({ dataset }) => dataset.state === 'running')) await new Promise((resolve) => setTimeout(resolve, 50))
    return outputs.map((output) => {
      const block = output.previousElementSibling.previousElementSibling
      const program = Array.from(block.querySelectorAll('.ec-line'), (line) => line.textContent).join('\n')
      const canvas = output.querySelector('canvas')
      const pixels = canvas?.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
      return {
        program,
        state: output.dataset.state,
        printed: output.querySelector('pre')?.textContent ?? '',
        cost: output.querySelector('p').textContent,
        colours: pixels && new Set(new Uint32Array(pixels.buffer)).size,
      }
    })
  })
  for (const { program, state, printed, cost, colours } of cells) {
    assert(state === 'done', `${program}\n${cost}`)
    const lines = [...program.matchAll(/console\.log\(.*\) \/\/ (.*)/g)].map(([, line]) => line.trimEnd())
    assert(printed === lines.join('\n'), `${program}\nprinted in the page: ${printed}`)
    if (program.includes('draw(')) assert(colours > 100, `${program}\ndraws ${colours} colours`)
  }
  return cells.length
}

async function checkCalculator(page) {
  const answer = () => page.evaluate(() => document.querySelector('#calculator').elements.answer.value)
  await page.waitForFunction(() => document.querySelector('#calculator').elements.answer.value !== '')
  assert((await answer()).startsWith('609 requests, 3.55 GiB'), `the calculator begins with ${await answer()}`)
  await page.fill('#calculator [name=chunks]', '14610, 10, 10')
  assert((await answer()).startsWith('1 request, '), `the calculator answers ${await answer()}`)
  await page.fill('#calculator [name=chunks]', '14610')
  assert(/chunk/.test(await answer()), `the calculator takes chunks of another rank: ${await answer()}`)
}

async function checkSearch(page) {
  // Created when the browser is idle, which it is once the dialog is drawn.
  await page.waitForSelector('dialog input', { state: 'attached' })
  await page.keyboard.press('Control+k')
  await page.fill('dialog input', 'climatology')
  await page.waitForSelector('dialog .pagefind-ui__result-link')
}

/** Checks that a page with the answer is among the first three results of each search. */
async function checkAnswers(page) {
  const searches = SEARCHES.flatMap(([words]) => words)
  const found = await page.evaluate(async (searches) => {
    const pagefind = await import(`${globalThis.location.origin}/pagefind/pagefind.js`)
    const first = async (words) => {
      const { results } = await pagefind.search(words)
      return Promise.all(results.slice(0, 3).map(async (result) => (await result.data()).url))
    }
    return Promise.all(searches.map(async (words) => [words, await first(words)]))
  }, searches)
  const results = new Map(found)
  for (const [wordings, pages] of SEARCHES)
    for (const words of wordings)
      assert(
        results.get(words).some((url) => pages.some((name) => url === `/${name}/`)),
        `the search for '${words}' finds ${results.get(words).join(', ') || 'nothing'}; ${pages.join(' or ')} has the answer`,
      )
  return searches.length
}

async function check() {
  await install('chromium')
  await provideBrowser('chromium', { ci: /^(1|true)$/i.test(process.env.CI ?? '') })
  const names = readdirSync(dist)
  const server = await serveRanges(Object.fromEntries(['', ...names].map((name) => [name, join(dist, name)])))
  const browser = await startBrowser('chromium')
  const faults = []
  /** Opens a page while `work` inspects it. */
  const visit = async (path, work) => {
    const page = await browser.page()
    page.on('pageerror', (error) => faults.push(`${path}: ${error.message}`))
    page.on('response', (response) => {
      if (response.status() >= 400 && !response.url().includes('/data/'))
        faults.push(`${path}: ${response.url()} is ${response.status()}`)
    })
    page.on('request', (request) => {
      if (!request.url().startsWith(server.origin) && !/^(blob|data):/.test(request.url()))
        faults.push(`${path} asks for ${request.url()}`)
    })
    const result = await within(
      PAGE_SECONDS,
      path,
      page.goto(`${server.origin}${path}`).then(() => work(page)),
    )
    await page.close()
    return result
  }
  try {
    const first = await visit('/', checkCells)
    const guide = await visit('/guide/', checkCells)
    await visit('/chunking/', checkCalculator)
    await visit('/viewer/', checkSearch)
    const searches = await visit('/questions/', checkAnswers)
    assert(faults.length === 0, faults.join('\n'))
    assert(first === 1 && guide === 12, `${first} cells on the first page, ${guide} in the guide`)
    console.log(`${first + guide} cells, the calculator and ${searches} searches work in Chromium ${browser.version}`)
  } finally {
    browser.close()
    server.close()
  }
}

try {
  await check()
} catch (error) {
  if (!(error instanceof Missing) || /^(1|true)$/i.test(process.env.CI ?? '')) throw error
  console.warn(`SKIPPED: the cells of the site: ${error.message}`)
}
// The browser's connection would keep the process alive.
process.exit()
