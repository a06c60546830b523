import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { pythonEnvironment } from '../../../scripts/python.mjs'
import type { ArrayNode } from '../../../src/array/nodes.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { openTree } from '../../../src/runtime/index.ts'
import { HDF5_PACKAGES } from '../../support/hdf5-filters.ts'
import { RoundServer } from '../../support/round-server.ts'
import { RudeServer } from '../../support/rude-server.ts'
import { FORMATS } from './support.ts'

const { env, failure } = pythonEnvironment(HDF5_PACKAGES)
if (failure !== undefined) console.warn(`SKIPPED: counting rounds needs netCDF4 and h5py: ${failure}`)

/** Most round trips of a file: to open and list it, to read a first map after that, and a second one. */
interface Rounds {
  readonly file: string
  readonly variable: string
  readonly open: number
  readonly first: number
  readonly both: number
  readonly second: number
}

const MADE: readonly Rounds[] = [
  { file: 'netcdf.nc', variable: 'v19', open: 1, first: 2, both: 3, second: 1 },
  { file: 'attributes.nc', variable: 'v19', open: 1, first: 2, both: 3, second: 1 },
  { file: 'default.h5', variable: 'v00', open: 1, first: 2, both: 3, second: 1 },
  // A block with the attributes of one array lies before the end that is requested with the head.
  { file: 'latest.h5', variable: 'v19', open: 2, first: 4, both: 5, second: 1 },
  { file: 'fixed.h5', variable: 'v19', open: 1, first: 3, both: 4, second: 1 },
  { file: 'btree2.h5', variable: 'v19', open: 1, first: 3, both: 4, second: 1 },
  { file: 'paged.h5', variable: 'v19', open: 2, first: 2, both: 4, second: 1 },
]

/** Files of the folder beside the project. The first is below 1 MiB, so that one request fetches the rest. */
const FOUND: readonly Rounds[] = [
  { file: join(FORMATS, 'hdf5/made_20_variables.nc'), variable: 'var19', open: 2, first: 0, both: 2, second: 0 },
  { file: join(FORMATS, '../nc4uvt.nc'), variable: 'T', open: 3, first: 1, both: 4, second: 1 },
]

const SMALL = FOUND[0]!.file
const LARGE = FOUND[1]!.file

describe('round trips over HTTP', () => {
  let server: RoundServer
  let folder: string
  beforeAll(async () => {
    server = await RoundServer.start()
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-hdf5-rounds-'))
    if (env === undefined) return
    execFileSync('python3', [fileURLToPath(new URL('rounds.py', import.meta.url)), folder], { env, stdio: 'inherit' })
  }, 300_000)
  afterAll(async () => {
    vi.unstubAllGlobals()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(() => {
    server.take()
  })

  /** Opens a file, lists it and reads two maps; checks the rounds of each step. */
  async function check({
    file,
    variable,
    ...most
  }: Rounds): Promise<{ maps: ArrayLike<unknown>[]; node: ArrayNode; requests: number }> {
    await using tree = await openTree(server.serve(file.replace(/^.*\//, ''), file))
    const { root } = tree
    if (root.kind === 'array') throw new Error('a file is a group')
    const nodes = await Promise.all((await root.arrays()).map((name) => root.array(name)))
    expect(nodes.length).toBeGreaterThan(6)
    for (const { attrs, array, name } of nodes) {
      expect(array.dimensionNames?.length).toBe(array.shape.length)
      if (array.shape.length > 2) expect(attrs?.get('units'), name).toBeTypeOf('string')
    }
    const opened = server.take()
    const node = nodes.find(({ name }) => name === variable)!
    const { array } = node
    const axis = array.shape.length - 3
    const map = async (at: number) => {
      const { data } = (await array.get(array.shape.map((_, i) => (i < axis ? 0 : i === axis ? at : null)))) as {
        data: ArrayLike<unknown>
      }
      return { data, ...server.take() }
    }
    const [first, second] = [await map(0), await map(1)]
    const actual = { open: opened.rounds, first: first.rounds, both: opened.rounds + first.rounds, second: second.rounds }
    const shown = JSON.stringify([opened.log, first.log, second.log])
    for (const [step, rounds] of Object.entries(actual))
      expect(rounds, `${step}: ${shown}`).toBeLessThanOrEqual(most[step as keyof typeof most])
    expect(opened.bytes).toBeLessThan(2 ** 20)
    return { maps: [first.data, second.data], node, requests: opened.requests + first.requests + second.requests }
  }

  test.for(FOUND)('$file opens in $open, and reads a map in $first', async (row) => {
    const { requests } = await check(row)
    if (row.file === SMALL) expect(requests).toBe(2)
  })

  test.skipIf(env === undefined).for(MADE)('$file opens in $open, and reads a map in $first', async (row) => {
    const { maps, node } = await check({ ...row, file: join(folder, row.file) })
    const number = Number(node.name.slice(1))
    expect(maps.map((map) => [map[0], map[1], map.length])).toEqual([0, 1].map((at) => [number, at, 46 * 90]))
  })

  test('opening starts anew if the two ends have different versions', async () => {
    let requests = 0
    server.etag = () => (requests++ === 0 ? '"old"' : '"new"')
    await using file = await openHdf5(server.serve('a.nc', LARGE))
    expect(file.path).toBe('')
    expect(server.take().log.map((round) => round.length)).toEqual([2, 2])
    server.etag = () => `"${requests++}"`
    await expect(openHdf5(server.serve('a.nc', LARGE))).rejects.toMatchObject({ tag: 'ConflictError' })
    expect(server.take().log.map((round) => round.length)).toEqual([2, 2, 2, 2])
    server.etag = () => '"1"'
  })

  test('a first request of another size is an option', async () => {
    await using _ = await openHdf5(server.serve('a.nc', LARGE), { headBytes: 4096 })
    expect(
      server
        .take()
        .log[0]!.map(({ range }) => range)
        .sort(),
    ).toEqual(['bytes=-65536', 'bytes=0-4095'])
    await expect(openHdf5(server.serve('a.nc', LARGE), { headBytes: 0 })).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test('pages of other origins request no suffix, which would need a preflight request', async () => {
    vi.stubGlobal('document', {})
    vi.stubGlobal('origin', 'https://example.org')
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (X11; Linux x86_64)' })
    try {
      await using _ = await openHdf5(server.serve('a.nc', LARGE))
      expect(server.take().log[0]).toEqual([{ method: 'GET', range: 'bytes=0-131071' }])
    } finally {
      vi.unstubAllGlobals()
    }
  })
})

test('the second request is cancelled if the server ignores ranges', async () => {
  const rude = await RudeServer.start()
  try {
    const url = rude.put('a.nc', await readFile(LARGE))
    const isSuffix = (range: string | undefined): boolean => range?.startsWith('bytes=-') === true
    rude.manners = ({ range }) => ({ ignoreRange: true, mute: isSuffix(range) })
    await using file = await openHdf5(url)
    expect((await file.arrays()).length).toBeGreaterThan(6)
    expect(rude.seen.filter(({ range }) => isSuffix(range)).length).toBe(1)
    await rude.idle()
  } finally {
    await rude.stop()
  }
})
