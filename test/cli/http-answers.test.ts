import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createReadServer, listening } from '../../src/cli/http-answers.ts'
import { openPlace } from '../../src/cli/open-place.ts'
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

test('readers that take nothing hold a bounded number of answers, and are cut off', { timeout: 120_000 }, async () => {
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

test('what is served to others follows neither links nor references out of its place, unless that is asked for', async () => {
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
