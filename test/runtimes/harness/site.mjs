// Serves the application to browsers, under the headers that a page is tried with, and takes their reports.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'

const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm', '.html': 'text/html' }

/** Everything comes from the site itself; nothing is inline and no code comes from strings. */
const policy = (script) => `default-src 'none'; script-src ${script}; worker-src 'self'; connect-src 'self'`

/** By the first part of a path. The same files are served under each. */
const HEADERS = {
  plain: {},
  strict: { 'Content-Security-Policy': policy("'self' 'wasm-unsafe-eval'") },
  isolated: { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' },
  forbidden: { 'Content-Security-Policy': policy("'self'") },
}
HEADERS['strict-isolated'] = { ...HEADERS.strict, ...HEADERS.isolated }

/** @returns `{ origin, report, close }`; `report(id)` is what the page with that id sends */
export async function serve(folder) {
  const waiting = new Map()
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://site')
    const [, first, ...rest] = pathname.split('/')
    if (first === 'report') {
      let body = ''
      for await (const part of request) body += part
      waiting.get(rest[0])?.(JSON.parse(body))
      response.end()
    } else await send(response, first, rest.join('/'), folder)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    report: (id) => new Promise((resolve) => waiting.set(id, resolve)),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function send(response, variant, path, folder) {
  const headers = HEADERS[variant]
  const found = path.startsWith('page/') ? Buffer.from(page(variant, path.slice('page/'.length))) : await read(folder, path)
  if (headers === undefined || found === undefined) {
    response.writeHead(404).end()
    return
  }
  const type = path.startsWith('page/') ? 'text/html' : TYPES[extname(path)]
  response.writeHead(200, { ...headers, 'Content-Type': type ?? 'application/octet-stream', 'Cache-Control': 'no-store' })
  response.end(withAddresses(path, found, variant))
}

/** A page that does nothing but run a script. */
const page = (variant, script) =>
  `<!doctype html><meta charset="utf-8"><title>runtimes</title><script type="module" src="/${variant}/${script}"></script>`

/**
 * Browsers do not know where packages are. An import map would have to be inline, which the strict policy
 * forbids, and is not for workers.
 */
function withAddresses(path, found, variant) {
  if (!path.startsWith('programs/')) return found
  const dist = `/${variant}/node_modules/hyperslab/dist`
  return found.toString().replace(/from 'hyperslab(?:\/(\w+))?'/g, (_, entry = 'index') => `from '${dist}/${entry}.js'`)
}

async function read(folder, path) {
  try {
    return await readFile(join(folder, normalize(`/${path}`)))
  } catch {
    return undefined
  }
}
