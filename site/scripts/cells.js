// Adds a button to programs of the page that read the data of the site. It runs them in a worker against the
// built package.
const DATA = 'https://data.example/'
const place = (path) => new URL(path, import.meta.url).href

/**
 * Environment of a cell's program: data of the site under their address, and `console.log` and `draw`, which
 * report to the page.
 */
const PRELUDE = `
const fetched = globalThis.fetch
const asked = { requests: 0, bytes: 0 }
globalThis.fetch = async (url, init = {}) => {
  const response = await fetched(String(url).replace('${DATA}', '${place('./data/')}'), init)
  asked.requests++
  if (response.ok && init.method !== 'HEAD') asked.bytes += Number(response.headers.get('content-length') ?? 0)
  return response
}
console.log = (...values) => postMessage({ line: values.join(' ') })
globalThis.draw = (values, [rows, columns]) => postMessage({ picture: { values: Float64Array.from(values), rows, columns } })
`

/** Removes the types of parameters, the only TypeScript that cells may contain, so that browsers run them. */
const withoutTypes = (program) => program.replace(/(\w+): [A-Z]\w*(?=[,)])/g, '$1')

/** Returns the text of a worker: imports first, as in modules; later failures are reported. */
function workerText(program) {
  const imports = []
  const body = program.replace(/^import (.*) from 'hyperslab(\/\w+)?'$/gm, (_, names, entry = '/index') => {
    imports.push(`import ${names} from '${place(`./hyperslab${entry}.js`)}'`)
    return ''
  })
  return `${imports.join('\n')}\n${PRELUDE}\ntry {\n${body}\npostMessage({ asked })\n} catch (error) { postMessage({ error: String(error) }) }`
}

/** Colours from dark blue over green to light yellow, with increasing lightness. */
const COLOURS = [
  [32, 31, 90],
  [34, 110, 140],
  [70, 170, 110],
  [250, 230, 110],
]

/** Draws rows from south to north, dark for low values; NaN stays transparent. */
function paint({ values, rows, columns }) {
  const canvas = document.createElement('canvas')
  Object.assign(canvas, { width: columns, height: rows })
  canvas.setAttribute('role', 'img')
  canvas.setAttribute('aria-label', `${rows} by ${columns} values`)
  const pixels = new ImageData(columns, rows)
  const there = values.filter((value) => !Number.isNaN(value))
  const [low, high] = [there.reduce((a, b) => Math.min(a, b)), there.reduce((a, b) => Math.max(a, b))]
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i])) continue
    const share = high > low ? (values[i] - low) / (high - low) : 0.5
    const at = Math.min(COLOURS.length - 2, Math.floor(share * (COLOURS.length - 1)))
    const part = share * (COLOURS.length - 1) - at
    const pixel = 4 * ((rows - 1 - Math.floor(i / columns)) * columns + (i % columns))
    for (let c = 0; c < 3; c++) pixels.data[pixel + c] = COLOURS[at][c] * (1 - part) + COLOURS[at + 1][c] * part
    pixels.data[pixel + 3] = 255
  }
  canvas.getContext('2d').putImageData(pixels, 0, 0)
  return canvas
}

const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ' ')

/** Runs a program, and shows its output, its drawings and its requests below it. */
function run(program, output) {
  output.replaceChildren('…')
  output.dataset.state = 'running'
  const lines = []
  const pictures = []
  const url = URL.createObjectURL(new Blob([workerText(program)], { type: 'text/javascript' }))
  const worker = new Worker(url, { type: 'module' })
  const end = (state, last) => {
    worker.terminate()
    URL.revokeObjectURL(url)
    const text = document.createElement('pre')
    text.textContent = lines.join('\n')
    const note = document.createElement('p')
    note.textContent = last
    output.replaceChildren(...pictures, ...(lines.length > 0 ? [text] : []), note)
    output.dataset.state = state
  }
  worker.onerror = (event) => {
    event.preventDefault()
    end('failed', event.message ?? 'the program could not be loaded')
  }
  worker.onmessage = ({ data: { line, picture, error, asked } }) => {
    if (line !== undefined) lines.push(line)
    else if (picture !== undefined) pictures.push(paint(picture))
    else if (error !== undefined) end('failed', error)
    else end('done', `${asked.requests} requests, ${grouped(asked.bytes)} bytes.`)
  }
}

for (const block of document.querySelectorAll('.expressive-code')) {
  const shown = Array.from(block.querySelectorAll('.ec-line'), (line) => line.textContent.replace(/\n$/, '')).join('\n')
  const program = block.querySelector('pre[data-language="ts"]') ? withoutTypes(shown) : shown
  // `env` exists only in a Cloudflare Worker.
  if (!program.includes(DATA) || program.includes('env.')) continue
  const [button, output] = [document.createElement('button'), document.createElement('output')]
  Object.assign(button, { type: 'button', textContent: 'Run', className: 'run' })
  output.className = 'cell'
  button.onclick = () => run(program, output)
  block.after(button, output)
  // Programs that draw run at once, so that the first page shows their pictures.
  if (program.includes('draw(')) run(program, output)
}
