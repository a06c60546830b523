import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDataset } from '../../src/runtime/dataset.ts'
import { openTree } from '../../src/runtime/index.ts'

const BYTES = new TextEncoder().encode('CDF\x05 and more bytes of a file whose rest never comes'.padEnd(400))

/** Answers by the first part of the path. All other objects, such as metadata of Zarr, do not exist. */
function answer({ url = '', method }: IncomingMessage, response: ServerResponse): void {
  const [, mode = '', ...rest] = url.split('/')
  const isPlace = /^x(\.nc|\.h5)?$/.test(rest.join('/'))
  const { length } = BYTES
  if (!isPlace) response.writeHead(404).end()
  else if (/^\d+$/.test(mode)) response.writeHead(Number(mode)).end('no')
  else if (method === 'HEAD') response.writeHead(200, { 'content-length': length, 'accept-ranges': 'bytes' }).end()
  else if (mode === 'cut') {
    response.writeHead(206, { 'content-range': `bytes 0-${length - 1}/${length}`, 'content-length': length })
    response.write(BYTES.subarray(0, 3))
    setTimeout(() => response.destroy(), 5)
  } else response.writeHead(206, { 'content-range': `bytes 0-99/${length}` }).end(BYTES.subarray(0, 5))
}

let server: Server
let origin: string
beforeAll(async () => {
  server = createServer(answer)
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

describe.each(['x', 'x.nc', 'x.h5'])('a place %s', (name) => {
  const opened = (mode: string, options: object = {}) =>
    [openTree, openDataset].map((open) => () => open(`${origin}/${mode}/${name}`, options))

  test.each(['400', '401', '403', '405', '416', '429', '500', '503', 'cut', 'short'])(
    'is not said to be missing if the server answers %s',
    async (mode) => {
      for (const opening of opened(mode)) {
        const failure = await opening().catch((error: unknown) => error)
        expect(failure).toMatchObject({ tag: 'StoreError', details: { file: `${origin}/${mode}/${name}` } })
        expect(String(failure)).toMatch(/^\d+$/.test(mode) ? `answered ${mode}` : /bytes|206/)
      }
    },
    60_000,
  )

  test.each(['404', '410'])('is missing if the server answers %s', async (mode) => {
    for (const opening of opened(mode)) await expect(opening()).rejects.toMatchObject({ tag: 'NotFoundError' })
  })

  test('is missing if the server answers a status that `notFound` names', async () => {
    for (const opening of opened('403', { notFound: [403, 404] }))
      await expect(opening()).rejects.toMatchObject({ tag: 'NotFoundError' })
  })
})
