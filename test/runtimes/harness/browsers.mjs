// Chromium and Firefox from the system (Debian's packages, which CI installs), driven over their debugging
// protocols.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { end, execute, Missing, watch } from './processes.mjs'
import { load } from './tools.mjs'

/**
 * In CSS pixels: cells of maps have several of them, as Firefox tells places of the pointer in whole ones.
 */
const WINDOW = { width: 1280, height: 1600 }

const DRIVERS = {
  chromium: {
    label: 'Chromium',
    debian: 'chromium',
    paths: ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'],
    async start(executablePath) {
      const { default: playwright } = await load('chromium', 'playwright-core')
      // Root, and no network but ours.
      const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-dev-shm-usage']
      const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync']
      const server = await playwright.chromium.launchServer({
        executablePath,
        headless: true,
        args: [...args, ...quiet],
        timeout: 30_000,
      })
      const pid = watch(server.process().pid)
      const browser = await playwright.chromium.connect(server.wsEndpoint())
      const page = async ({ touch = false } = {}) => (await browser.newContext({ viewport: WINDOW, hasTouch: touch })).newPage()
      return {
        version: browser.version(),
        page,
        upload: (page, input, path) => page.setInputFiles(input, path),
        wheel: (page, deltaY) => page.mouse.wheel(0, deltaY),
        async swipe(page, from, to) {
          const session = await page.context().newCDPSession(page)
          const touch = (type, point) =>
            session.send('Input.dispatchTouchEvent', { type, touchPoints: point ? [{ x: point[0], y: point[1] }] : [] })
          await touch('touchStart', from)
          for (const share of [0.5, 1])
            await touch(
              'touchMove',
              [0, 1].map((i) => from[i] + share * (to[i] - from[i])),
            )
          await touch('touchEnd')
        },
        async still(visit) {
          const context = await browser.newContext({ viewport: WINDOW, reducedMotion: 'reduce' })
          try {
            await visit(await context.newPage())
          } finally {
            await context.close()
          }
        },
        pid,
      }
    },
  },
  firefox: {
    label: 'Firefox',
    debian: 'firefox-esr',
    paths: ['/usr/bin/firefox-esr', '/usr/bin/firefox'],
    async start(executablePath, profile) {
      const { default: puppeteer } = await load('firefox', 'puppeteer-core')
      const launch = (userDataDir, preferences = {}) =>
        puppeteer.launch({
          browser: 'firefox',
          executablePath,
          headless: true,
          defaultViewport: WINDOW,
          userDataDir,
          timeout: 30_000,
          extraPrefsFirefox: {
            'app.update.enabled': false,
            'datareporting.policy.dataSubmissionEnabled': false,
            ...preferences,
          },
        })
      const browser = await launch(profile)
      const pid = watch(browser.process().pid)
      const version = (await browser.version()).replace(/^\D*/, '')
      const upload = async (page, input, path) => (await page.$(input)).uploadFile(path)
      return {
        version,
        page: () => browser.newPage(),
        upload,
        wheel: (page, deltaY) => page.mouse.wheel({ deltaY }),
        async swipe({ touchscreen }, from, to) {
          const touch = await touchscreen.touchStart(...from)
          for (const share of [0.5, 1]) await touch.move(...[0, 1].map((i) => from[i] + share * (to[i] - from[i])))
          await touch.end()
        },
        // A page cannot be told to want it, a profile can.
        async still(visit) {
          const own = mkdtempSync(join(tmpdir(), 'hyperslab-browser-'))
          const calm = await launch(own, { 'ui.prefersReducedMotion': 1 })
          const calmPid = watch(calm.process().pid)
          try {
            await visit(await calm.newPage())
          } finally {
            end(calmPid)
            rmSync(own, { recursive: true, force: true, maxRetries: 10 })
          }
        },
        pid,
      }
    },
  },
}

export const browserLabel = (name) => DRIVERS[name].label

/** Installs the browser where that is expected of us: in CI, as root. @throws Missing */
export async function provideBrowser(name, { ci }) {
  const { debian } = DRIVERS[name]
  if (pathOf(name) !== undefined) return
  if (ci && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    const env = { DEBIAN_FRONTEND: 'noninteractive' }
    await execute('apt-get', ['update', '-qq'], { env, seconds: 120 })
    const { stderr } = await execute('apt-get', ['install', '-y', '-qq', '--no-install-recommends', debian], {
      env,
      seconds: 240,
    })
    if (pathOf(name) !== undefined) return
    throw new Missing(`apt-get install ${debian} failed: ${stderr.trim().slice(-300)}`)
  }
  throw new Missing(`there is no ${debian} here (apt-get install ${debian})`)
}

/**
 * @returns `{ version, page, upload, wheel, swipe, still, close }`; `page({ touch })` opens an empty page,
 *   maybe of a display that is touched, `upload(page, selector, path)` gives a file to an input, `wheel(page,
 *   by)` turns the wheel, `swipe(page, from, to)` moves a finger, `still(visit)` gives a page of a browser
 *   that wants little motion
 */
export async function startBrowser(name) {
  const profile = mkdtempSync(join(tmpdir(), 'hyperslab-browser-'))
  const forget = () => rmSync(profile, { recursive: true, force: true, maxRetries: 10 })
  try {
    const { pid, ...browser } = await DRIVERS[name].start(pathOf(name), profile)
    // The profile has no data to save, and a browser that hangs would not close properly.
    const close = () => {
      end(pid)
      forget()
    }
    return { ...browser, close }
  } catch (error) {
    forget()
    throw error
  }
}

const pathOf = (name) => DRIVERS[name].paths.find((path) => existsSync(path))
