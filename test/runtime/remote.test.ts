import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { create, open, slice } from '../../src/runtime/index.ts'
import { HttpStore } from '../../src/store/http/http.ts'
import { type Manners, RudeServer } from '../support/rude-server.ts'

const SHAPE = [40, 500]
const LAYERS = 2
/** The end of each layer, and that of the sidecar that is not there; then the base is confirmed. */
const OPENING = [...Array.from({ length: 1 + LAYERS + 1 }, () => 'GET bytes=-65536'), 'HEAD']

let rude: RudeServer
let files: Map<string, Uint8Array>
let values: Float64Array
beforeAll(async () => {
  rude = await RudeServer.start()
  const folder = await mkdtemp(join(tmpdir(), 'hyperslab-remote-'))
  const path = join(folder, 'x.af')
  const file = await create(path)
  const array = file.createArray('a', { dtype: 'float64', shape: SHAPE, chunks: [10, 100] })
  values = Float64Array.from({ length: 40 * 500 }, (_, i) => Math.sqrt(i))
  await array.set([], { data: values, shape: SHAPE })
  await file.compact()
  for (let layer = 1; layer <= LAYERS; layer++) {
    await array.set([layer], -layer)
    values.fill(-layer, layer * 500, (layer + 1) * 500)
    await file.flush()
  }
  expect(await file.array('a').mean()).toBeCloseTo(values.reduce((sum, value) => sum + value, 0) / values.length, 9)
  await file.close()
  const names = (await readdir(folder)).filter((name) => name.endsWith('.af'))
  expect(names.sort()).toEqual(['x.1.af', 'x.2.af', 'x.af'])
  files = new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)))
  await rm(folder, { recursive: true })
})
afterAll(() => rude.stop())
beforeEach(() => {
  rude.reset()
  for (const [name, bytes] of files) rude.put(name, bytes)
})

const wanted = (rows: number[], columns: number[]): Float64Array =>
  Float64Array.from(rows.flatMap((row) => columns.map((column) => values[row * 500 + column]!)))

test('opening and reading a container behind HTTP, with the requests it takes', async () => {
  await using file = await open(`${rude.origin}/x.af`)
  expect(file.layers().length).toBe(1 + LAYERS)
  expect(rude.log).toEqual(OPENING)
  const opened = rude.seen.length
  const block = await file.array('a', 'float64').get([slice(0, 3), slice(95, 105)])
  expect(block.data).toEqual(
    wanted(
      [0, 1, 2],
      Array.from({ length: 10 }, (_, i) => 95 + i),
    ),
  )
  // A block of each layer at most.
  expect(rude.seen.length - opened).toBeLessThanOrEqual(1 + LAYERS)
  expect((await file.array('a', 'float64').get([null])).data).toEqual(values)
})

test.each<[string, Manners]>([
  ['ignores Range', { ignoreRange: true }],
  ['refuses HEAD and suffix ranges', { head: 405, suffix: 'refused' }],
  ['has weak tags', { weakEtag: true }],
  ['misreads If-Match', { ifMatch: 'misread' }],
])('from a server that %s', async (_, manners) => {
  rude.manners = manners
  await using file = await open(`${rude.origin}/x.af`)
  expect((await file.array('a', 'float64').get([null])).data).toEqual(values)
})

test('the query goes with the requests for sidecars', async () => {
  await using file = await open(new URL(`${rude.origin}/x.af?sig=1%2F2&exp=3`))
  expect(file.layers().length).toBe(1 + LAYERS)
  expect(file.location).toBe(`${rude.origin}/x.af`)
  const paths = new Set(rude.seen.map(({ url }) => url))
  expect(paths).toEqual(new Set(['x.af', 'x.1.af', 'x.2.af', 'x.3.af'].map((name) => `/${name}?sig=1%2F2&exp=3`)))
})

test('a server that answers 403 for sidecars that are not there, with the option and without', async () => {
  rude.manners = { missing: 403 }
  const path = `${rude.origin}/x.af`
  await expect(open(path)).rejects.toMatchObject({ tag: 'StoreError', message: expect.stringContaining('notFound: [403') })
  await using file = await open({ store: new HttpStore({ notFound: [403, 404] }), path })
  expect((await file.array('a', 'float64').get([null])).data).toEqual(values)
})

test('a file that is replaced while it is open is noticed, and so is a missing file', async () => {
  await using file = await open(`${rude.origin}/x.af`)
  rude.put('x.af', files.get('x.af')!)
  await expect(file.array('a').get([null])).rejects.toMatchObject({ tag: 'ConflictError' })
  await expect(open(`${rude.origin}/none.af`)).rejects.toMatchObject({ tag: 'NotFoundError' })
})

test('a file cut off on the way to the server is told from a broken connection', async () => {
  rude.put('x.af', files.get('x.af')!.subarray(0, 500))
  await expect(open(`${rude.origin}/x.af`)).rejects.toMatchObject({ tag: 'FormatError' })
})
