// Serves ranges of objects over HTTP on loopback, from a thread of its own, and counts requests and sent
// bytes.
import { createServer } from 'node:http'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/**
 * Starts a server.
 * @param objects their bytes by path
 * @returns `{ origin, setLatency, take, close }`. `setLatency(ms)` delays every further request; `take()`
 *   returns the requests and body bytes since its last call
 */
export async function serve(objects) {
  const shared = new Float64Array(new SharedArrayBuffer(3 * 8))
  const worker = new Worker(new URL(import.meta.url), { workerData: { objects, shared } })
  const port = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  return {
    origin: `http://127.0.0.1:${port}`,
    setLatency: (ms) => {
      shared[2] = ms
    },
    take: () => {
      const [requests, bytes] = shared
      shared.fill(0, 0, 2)
      return { requests, bytes }
    },
    close: () => worker.terminate(),
  }
}

/** Returns the status, headers and body for a request. */
function answer(objects, { method, url, headers }) {
  const bytes = objects.get(new URL(url, 'http://any').pathname)
  if (bytes === undefined) return { status: 404, headers: { 'content-length': 0 } }
  const common = { etag: `"${bytes.length}"`, 'accept-ranges': 'bytes' }
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? []
  if (first === undefined)
    return { status: 200, headers: { ...common, 'content-length': bytes.length }, body: method === 'HEAD' ? undefined : bytes }
  const start = first === '' ? Math.max(0, bytes.length - Number(last)) : Number(first)
  const end = first === '' || last === '' ? bytes.length : Math.min(Number(last) + 1, bytes.length)
  if (start >= end) return { status: 416, headers: { 'content-range': `bytes */${bytes.length}`, 'content-length': 0 } }
  const range = { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}`, 'content-length': end - start }
  return { status: 206, headers: { ...common, ...range }, body: bytes.subarray(start, end) }
}

if (!isMainThread) {
  const { objects, shared } = workerData
  const server = createServer((request, response) => {
    const { status, headers, body } = answer(objects, request)
    shared[0]++
    shared[1] += body?.length ?? 0
    setTimeout(() => response.writeHead(status, headers).end(body), shared[2])
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
}
