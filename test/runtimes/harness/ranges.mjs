// Serves folders as they are, answering ranges, and counts what is asked for.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'

const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.html': 'text/html', '.css': 'text/css' }

/**
 * @param folders by the first part of the path
 * @returns `{ origin, asked, hold, close }`; `asked` has `{ method, path, end }` of each request, which a
 *   query `slow=<ms>` delays. `end` is how it ended, `answered` or `given up`. `hold(count)` answers that
 *   many more requests for `/data` and keeps the others waiting until the function that it returns is called
 */
export async function serveRanges(folders) {
  const asked = []
  let gate
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://site')
    const entry = { method: request.method, path: pathname, end: undefined }
    asked.push(entry)
    response.on('close', () => {
      entry.end = response.writableFinished ? 'answered' : 'given up'
    })
    await new Promise((resolve) => setTimeout(resolve, Number(searchParams.get('slow') ?? 0)))
    if (gate !== undefined && pathname.startsWith('/data/') && gate.left-- <= 0) await gate.opened
    answer(request, response, await find(folders, pathname))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    asked,
    hold: (count) => {
      let open
      gate = { left: count, opened: new Promise((resolve) => (open = resolve)) }
      return () => {
        gate = undefined
        open()
      }
    },
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function find(folders, pathname) {
  const [, first, ...rest] = normalize(pathname).split('/')
  if (folders[first] === undefined) return undefined
  const path = join(folders[first], ...rest, pathname.endsWith('/') ? 'index.html' : '')
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() ? { path, size: found.size, type: TYPES[extname(path)] ?? 'application/octet-stream' } : undefined
}

function answer({ method, headers }, response, found) {
  if (found === undefined) {
    response.writeHead(404).end()
    return
  }
  const { path, size, type } = found
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? []
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from ?? 0)
  const end = from === '' || !to ? size : Math.min(size, Number(to) + 1)
  const ranged = from !== undefined && { 'Content-Range': `bytes ${start}-${end - 1}/${size}` }
  const fields = { 'Content-Type': type, 'Content-Length': end - start, 'Accept-Ranges': 'bytes', ETag: `"${size}"`, ...ranged }
  response.writeHead(ranged ? 206 : 200, { ...fields, 'Cache-Control': 'no-store' })
  if (method === 'HEAD' || start >= end) response.end()
  else createReadStream(path, { start, end: end - 1 }).pipe(response)
}
