import { spawn } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { NETCDF, temporaryFolder } from './support.ts'

const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/**
 * Serves both ends of a file, as opening requests them, and leaves all other requests without an answer;
 * `asked` resolves with the first of them.
 */
async function serveHeader(): Promise<{ url: string; asked: Promise<void> }> {
  let tell: () => void
  const asked = new Promise<void>((resolve) => {
    tell = resolve
  })
  const content = await readFile(NETCDF)
  const server = createServer(({ method, headers }, response) => {
    const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? []
    if (method === 'HEAD') return void response.writeHead(200, { 'content-length': content.length, etag: '"1"' }).end()
    const tail = Number(/^bytes=-(\d+)$/.exec(headers.range ?? '')?.[1] ?? 0)
    if (start !== '0' && tail === 0) return tell()
    const first = tail === 0 ? 0 : content.length - tail
    const part = tail === 0 ? content.subarray(0, Number(end) + 1) : content.subarray(first)
    const range = `bytes ${first}-${first + part.length - 1}/${content.length}`
    response.writeHead(206, { 'content-range': range, 'content-length': part.length, etag: '"1"' }).end(part)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.nc`, asked }
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)(
  'an import that is ended by %s while it waits for an answer ends, and leaves no files',
  { timeout: 20_000 },
  async (signal, exitCode) => {
    const folder = await temporaryFolder()
    const { url, asked } = await serveHeader()
    const child = spawn(process.execPath, [COMMAND, 'import', url, 'x.af'], { cwd: folder, stdio: 'ignore' })
    const ended = new Promise((resolve) => child.once('close', resolve))
    await asked
    expect((await readdir(folder)).some((name) => name.includes('.hyperslab-import-'))).toBe(true)
    child.kill(signal)
    // Not only when the store has lost its patience, after a minute.
    expect(await ended).toBe(exitCode)
    expect(await readdir(folder)).toEqual([])
  },
)
