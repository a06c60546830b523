import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openTree } from '../../../src/runtime/index.ts'
import { openNetcdf } from '../../../src/runtime/netcdf.ts'
import { type WriterAttribute, writeNetcdf } from '../../support/netcdf-writer.ts'
import { RoundServer } from '../../support/round-server.ts'

const X = 100_000

/** A file of 400 kB with a variable `v`. Its header has a long attribute before or behind that of `v`. */
function longHeader(bytes: number, where: 'before' | 'behind'): Uint8Array {
  const long: WriterAttribute[] = [{ name: 'long', type: 'byte', value: new Array(bytes).fill(1) }]
  const v = { name: 'v', type: 'int', dimensions: ['x'], values: Array.from({ length: X }, (_, i) => i) } as const
  const w = { name: 'w', type: 'short', dimensions: [], values: [7], attributes: long } as const
  const dimensions: [string, number][] = [['x', X]]
  return where === 'before'
    ? writeNetcdf({ attributes: long, dimensions, variables: [v] })
    : writeNetcdf({ dimensions, variables: [v, w] })
}

let server: RoundServer
let folder: string
beforeAll(async () => {
  server = await RoundServer.start()
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-netcdf-rounds-'))
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

const K = 1024
const whole = (method: string, from: number, to: number) => [{ method, range: `bytes=${from}-${to - 1}` }]

/** Ranges of the requests, one a round; `begin` stands for the offset of the first variable. */
test.each([
  ['a short header', 'file.bin', 100, 'before', [[0, 64 * K]]],
  ['a header whose first 64 KiB have an offset of data', 'file.bin', 150_000, 'behind', [[0, 64 * K], [64 * K, 'begin']]], // biome-ignore format: one line
  ['a header of 150 kB without one', 'file.bin', 150_000, 'before', [[0, 64 * K], [64 * K, 128 * K], [128 * K, 256 * K]]], // biome-ignore format: one line
] as const)('opening over HTTP requests what the header needs: %s', async (_, name, bytes, where, expected) => {
  const content = longHeader(bytes, where)
  const path = join(folder, name)
  await writeFile(path, content)
  const begin = content.length - 4 * X - (where === 'behind' ? 4 : 0)
  server.take()
  await using file = await openNetcdf(server.serve(name, path))
  const { log } = server.take()
  expect(log).toEqual(expected.map(([from, to]) => whole('GET', from, to === 'begin' ? begin : to)))
  expect((await file.variable('v').get([[X - 1]])).data).toEqual(Int32Array.of(X - 1))
  const last = begin + 4 * (X - 1)
  expect(server.take().log).toEqual([whole('GET', last, last + 4)])
})

test('a name of NetCDF requests 128 KiB, which a header of 100 kB needs no further request for', async () => {
  const path = join(folder, 'a.nc')
  await writeFile(path, longHeader(100_000, 'before'))
  server.take()
  await using tree = await openTree(server.serve('a.nc', path))
  expect(await (tree.root as { arrays(): Promise<string[]> }).arrays()).toEqual(['v'])
  expect(server.take().log).toEqual([whole('GET', 0, 128 * K)])
})

test.each(['signal', 'close'] as const)('a request that was sent ends with the %s', async (end) => {
  const path = join(folder, 'b.nc')
  await writeFile(path, longHeader(100, 'before'))
  const file = await openNetcdf(server.serve('b.nc', path))
  const before = server.ended
  server.holds = true
  onTestFinished(() => {
    server.holds = false
  })
  const controller = new AbortController()
  const reading = file.variable('v').get([[X - 1]], { signal: controller.signal })
  const reason = expect(reading).rejects.toThrow(end === 'signal' ? 'enough' : /was closed/)
  await expect.poll(() => server.waiting).toBeGreaterThan(0)
  if (end === 'signal') controller.abort(new Error('enough'))
  else await file.close()
  await reason
  await expect.poll(() => server.ended).toBe(before + 1)
  await file.close()
})
