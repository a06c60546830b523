import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openPlace } from '../../src/cli/commands/place.ts'
import { createReadServer, listening } from '../../src/cli/commands/server.ts'
import { createZarr } from '../../src/runtime/zarr.ts'

const HOST = '127.0.0.1'
const CHUNK_BYTES = 16 * 2 ** 20
const CHUNK = new Uint8Array(CHUNK_BYTES)

async function served(graceMs: number) {
  let [made, held, most] = [0, 0, 0]
  const failures: string[] = []
  const server = createReadServer(
    async ({ path, signal }) => {
      if (path === '/fails') throw new Error('/home/user/secret.zarr/c/0 is damaged')
      made++
      most = Math.max(most, ++held)
      signal.addEventListener('abort', () => held--)
      return { status: 200, body: path === '/small' ? CHUNK.subarray(0, 10) : CHUNK }
    },
    { host: HOST, cors: '*', onFailure: (text) => failures.push(text), graceMs },
  )
  await listening(server, 0, HOST)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const ask = (path: string): Socket => {
    const socket = connect(port, HOST)
    socket.on('error', () => undefined)
    socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    onTestFinished(() => void socket.destroy())
    return socket
  }
  return { ask, origin: `http://${HOST}:${port}`, failures, server, counts: () => ({ made, most }) }
}

test('readers that receive nothing hold a bounded number of answers, and are disconnected', { timeout: 120_000 }, async () => {
  const { ask, counts, origin } = await served(200)
  const sockets = Array.from({ length: 64 }, () => ask('/chunk').pause())
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)))
  // Waits in turn behind readers that are cut off, and is answered.
  expect((await (await fetch(`${origin}/small`)).arrayBuffer()).byteLength).toBe(10)
  expect(counts().most).toBeLessThanOrEqual(16)
  for (const socket of sockets) socket.destroy()
  await Promise.all(closed)
})

test('a reader that keeps up gets all of a large answer', { timeout: 60_000 }, async () => {
  const { origin } = await served(10_000)
  const bodies = await Promise.all(
    Array.from({ length: 24 }, async () => (await (await fetch(`${origin}/chunk`)).arrayBuffer()).byteLength),
  )
  expect(new Set(bodies)).toEqual(new Set([CHUNK_BYTES]))
})

/** Sends requests in one piece, and reads nothing. */
function pipeline(server: Server, paths: readonly string[]): Socket {
  const socket = connect((server.address() as AddressInfo).port, HOST).pause()
  socket.on('error', () => undefined)
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`).join(''))
  onTestFinished(() => void socket.destroy())
  return socket
}

test('a connection with more waiting requests than the limit is closed', { timeout: 60_000 }, async () => {
  const { server, counts, origin } = await served(10_000)
  const requests = Array.from({ length: 40 }, () => '/chunk')
  const socket = pipeline(server, requests).resume()
  await new Promise((resolve) => socket.once('close', resolve))
  expect(counts().made).toBeLessThanOrEqual(1)
  expect((await fetch(`${origin}/small`)).status).toBe(200)
})

test('requests of one connection are answered in order, one at a time, and wait outside the queue', {
  timeout: 60_000,
}, async () => {
  const { server, counts, origin } = await served(10_000)
  const sockets = Array.from({ length: 4 }, () => pipeline(server, ['/chunk', '/small', '/chunk', '/small', '/small']))
  // The four connections hold four slots, so that twelve are left for others.
  expect((await fetch(`${origin}/small`)).status).toBe(200)
  expect(counts().made).toBe(5)
  const received = await Promise.all(
    sockets.map(async (socket) => {
      let [bytes, text] = [0, '']
      for await (const part of socket.resume() as AsyncIterable<Buffer>) {
        bytes += part.length
        text = `${text}${part.toString('latin1')}`.slice(-400)
        if (bytes > 2 * CHUNK_BYTES && text.split('HTTP/1.1 200 OK').length === 3) break
      }
      return bytes
    }),
  )
  for (const bytes of received) expect(bytes).toBeGreaterThan(2 * CHUNK_BYTES + 30)
  expect(counts().made).toBe(1 + 4 * 5)
})

test('connections that are lost with requests in line leave their slots to others', { timeout: 60_000 }, async () => {
  const { server, counts, origin } = await served(10_000)
  for (let i = 0; i < 20; i++) {
    const { made } = counts()
    const socket = pipeline(server, ['/chunk', '/chunk', '/chunk'])
    while (counts().made === made) await new Promise((resolve) => setTimeout(resolve, 5))
    socket.destroy()
  }
  expect((await fetch(`${origin}/small`)).status).toBe(200)
})

test('a reader that keeps up with a second answer of its connection is not cut off', { timeout: 60_000 }, async () => {
  const { server } = await served(300)
  const socket = pipeline(server, ['/small', '/chunk'])
  let bytes = 0
  // About 4 MiB in each period of 300 ms.
  for await (const part of socket.resume() as AsyncIterable<Buffer>) {
    bytes += part.length
    await new Promise((resolve) => setTimeout(resolve, 5))
    if (bytes > CHUNK_BYTES) break
  }
  expect(bytes).toBeGreaterThan(CHUNK_BYTES)
})

test('connections are bounded', async () => {
  const { server } = await served(400)
  expect([server.maxConnections, server.headersTimeout]).toEqual([256, 10_000])
})

test('an answer of 500 names no path, and the one who runs the server is told', async () => {
  const { origin, failures } = await served(400)
  const answer = await fetch(`${origin}/fails`)
  expect([answer.status, await answer.text()]).toEqual([500, 'this cannot be read; the server tells why where it runs\n'])
  expect(failures).toEqual(['/fails: /home/user/secret.zarr/c/0 is damaged'])
})

test('a served place follows neither links nor references out of it, unless an option allows them', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'hyperslab-served-')))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'inside'))
  await writeFile(join(folder, 'secret'), 'secret')
  const group = await createZarr(join(folder, 'inside/x.zarr'))
  await (await group.createArray('a', { dtype: 'uint8', shape: [6], codec: 'none' })).set(null, 1)
  await group.close()
  await rm(join(folder, 'inside/x.zarr/a/c/0'))
  await symlink(join(folder, 'secret'), join(folder, 'inside/x.zarr/a/c/0'))
  const text = async (name: string, isConfined: boolean) => {
    await using place = await openPlace(join(folder, 'inside', name), {}, {}, isConfined)
    return String.fromCharCode(...((await (await place.array('a')).array.toTensor()).data as Uint8Array))
  }
  await expect(text('x.zarr', true)).rejects.toMatchObject({ tag: 'UnsupportedError' })
  expect(await text('x.zarr', false)).toBe('secret')
  const array = {
    zarr_format: 2,
    shape: [6],
    chunks: [6],
    dtype: '|u1',
    compressor: null,
    fill_value: 0,
    order: 'C',
    filters: null,
  }
  for (const target of [
    '../secret',
    join(folder, 'secret'),
    `file://${folder}/secret`,
    'https://example.org/x',
    'beside/../../secret',
  ]) {
    const refs = { '.zgroup': '{"zarr_format":2}', 'a/.zarray': JSON.stringify(array), 'a/0': [target, 0, 6] }
    await writeFile(join(folder, 'inside/refs.json'), JSON.stringify({ version: 1, refs }))
    await expect(text('refs.json', true), target).rejects.toMatchObject({ tag: 'UnsupportedError' })
  }
  await writeFile(join(folder, 'inside/own'), 'inside')
  const refs = { '.zgroup': '{"zarr_format":2}', 'a/.zarray': JSON.stringify(array), 'a/0': ['own', 0, 6] }
  await writeFile(join(folder, 'inside/refs.json'), JSON.stringify({ version: 1, refs }))
  expect(await text('refs.json', true)).toBe('inside')
})
