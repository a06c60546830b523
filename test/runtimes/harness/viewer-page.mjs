// Actions of a user in the viewer, and the content of its page.

/** Places of the canvas in the middle of a map of the whole globe, and of its parts. */
const canvasBox = () => {
  const canvas = document.getElementById('canvas')
  canvas.scrollIntoView({ block: 'center' })
  const { left, top, width, height } = canvas.getBoundingClientRect()
  return { left, top, width, height }
}

/** @param origin of the site, which has the package at /dist */
export function viewOf(page, origin) {
  const text = (id) => page.evaluate((id) => document.getElementById(id).textContent, id)
  const value = (id) => page.evaluate((id) => document.getElementById(id).value, id)
  const query = (name) => page.evaluate((name) => new URLSearchParams(location.search).get(name), name)
  const until = async (what, holds) => {
    for (let i = 0; !(await holds()); i++) {
      if (i === 600) {
        const shown = await Promise.all(
          ['readout', 'subtitle', 'open-error', 'view-error', 'limits-error', 'profile-error'].map(text),
        )
        throw new Error(
          `${what}: not within 30 s; shown are ${JSON.stringify(shown)} at ${await page.evaluate(() => location.search)}`,
        )
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const isShown = () =>
    page.evaluate(
      () => document.documentElement.dataset.state === 'shown' && document.getElementById('canvas').ariaBusy !== 'true',
    )
  const address = (search) =>
    `${origin}/dist/viewer/index.html${search === '' ? '' : `?${search.replace(/=(\/[^&?]*)\?([^&]*)/, (_, path, rest) => `=${encodeURIComponent(`${path}?${rest}`)}`)}`}`
  /** Moves the pointer to a share of the picture, from its top and from its left. */
  const pointShare = async (down, across, act = 'move') => {
    const { left, top, width, height } = await page.evaluate(canvasBox)
    const [x, y] = [left + across * width, top + down * height]
    if (act === 'click') await page.mouse.click(x, y)
    else {
      // A pointer that is there already moves nowhere, and tells nothing.
      await page.mouse.move(0, 0)
      await page.mouse.move(x, y)
    }
  }
  /** Shares of a map of the whole globe in plate carrée. */
  const shareOf = (lat, lon) => [(90 - lat) / 180, (((lon + 180) % 360) + 0.5) / 360]
  const reads = (expected) => until(expected, async () => (await text('readout')) === expected)
  const pixel = ([down, across]) =>
    page.evaluate(
      ([down, across]) => {
        const canvas = document.getElementById('canvas')
        const [x, y] = [Math.floor(across * canvas.width), Math.floor(down * canvas.height)]
        return [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3)
      },
      [down, across],
    )
  /** Sets a control as a user does, and waits for the picture that it makes. */
  async function change(id, value, wait = true) {
    await page.evaluate(
      ([id, value]) => {
        const control = document.getElementById(id)
        control.value = value
        control.dispatchEvent(new Event('change'))
      },
      [id, value],
    )
    if (wait) await until('a picture', isShown)
  }
  return {
    page,
    text,
    value,
    query,
    until,
    reads,
    address,
    pointShare,
    async open(search) {
      await page.goto(address(search))
      await until('a picture', isShown)
    },
    /** Waits until the address says something, and that is drawn. */
    shows: ([name, value]) => until(`${name}=${value}`, async () => (await query(name)) === value && (await isShown())),
    colourAt: (lat, lon) => pixel(shareOf(lat, lon)),
    /** The colour of viridis at a share of the limits, by its definition at eleven places. */
    tableColour: (share) => {
      const stops = '440154 482475 414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 bddf26 fde725'.split(' ')
      const at = (Math.min(255, Math.floor(share * 256)) / 255) * 10
      const below = Math.min(9, Math.floor(at))
      const part = (i, c) => Number.parseInt(stops[i].slice(2 * c, 2 * c + 2), 16)
      return [0, 1, 2].map((c) => Math.round(part(below, c) + (part(below + 1, c) - part(below, c)) * (at - below)))
    },
    /** Points at a place until `expected` is read out: again where the page has moved meanwhile. */
    point: (lat, lon, expected) =>
      until(expected ?? 'a value', async () => {
        await pointShare(...shareOf(lat, lon))
        await new Promise((resolve) => setTimeout(resolve, 40))
        const found = await text('readout')
        return expected === undefined ? found.includes(' · ') : found === expected
      }),
    click: (lat, lon) => pointShare(...shareOf(lat, lon), 'click'),
    /** The colours around a place. */
    hatching: (down, across) =>
      page
        .evaluate(
          ([down, across]) => {
            const canvas = document.getElementById('canvas')
            const [x, y] = [Math.floor(across * canvas.width), Math.floor(down * canvas.height)]
            return [...new Uint32Array(canvas.getContext('2d').getImageData(x, y, 16, 16).data.buffer)]
          },
          [down, across],
        )
        .then((pixels) => new Set(pixels)),
    /** The whole picture, for comparing. */
    picture: () => page.evaluate(() => document.getElementById('canvas').toDataURL()),
    slide: (position) =>
      page.evaluate((position) => {
        const input = document.querySelector('#sliders input')
        input.value = position
        input.dispatchEvent(new Event('input'))
      }, position),
    select: change,
    type: change,
    async toggle(id) {
      await page.click(`#${id}`)
      await until('a picture', isShown)
    },
    /** Returns the file that the browser saves after a click on a button. */
    async saved(button) {
      const found = await page.evaluate(async (button) => {
        const { click } = HTMLAnchorElement.prototype
        const taken = new Promise((resolve) => {
          HTMLAnchorElement.prototype.click = function () {
            resolve([this.download, this.href])
          }
        })
        document.querySelector(button).click()
        const [name, href] = await taken
        HTMLAnchorElement.prototype.click = click
        const bytes = new Uint8Array(await (await fetch(href)).arrayBuffer())
        return { name, bytes: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')) }
      }, button)
      return { name: found.name, bytes: Buffer.from(found.bytes, 'base64') }
    },
  }
}
