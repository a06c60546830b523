import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openGeotiff } from '../../../src/runtime/geotiff.ts'
import { MemoryStore, slice } from '../../../src/runtime/index.ts'
import { random } from '../../af/rkyv/support.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { RoundServer } from '../../support/round-server.ts'
import { BigTiffWriter, imageTags } from './tiff-file.ts'

const SIDE = 16
const WINDOWS = byBudget({ quick: 20, full: 60, soak: 2000 })
const SEED = seedOf('windows of large TIFFs', 20_261_127)
const DEFLATE = 8

/** Samples of a tile: no two tiles that are near each other are equal. */
const sampleOf = (tile: number, i: number): number => (tile * 37 + (tile >> 8) * 11 + i * 3) & 255

/** Returns a file of square tiles whose tables lie in its head or at its end. */
function tiledFile({ across, tableAtEnd, isStored }: { across: number; tableAtEnd: boolean; isStored(tile: number): boolean }) {
  const tiles = across * across
  const shape = [across * SIDE, across * SIDE] as const
  const offsets = new Float64Array(tiles)
  const counts = new Float64Array(tiles)
  const packed: [number, Uint8Array][] = []
  for (let tile = 0; tile < tiles; tile++)
    if (isStored(tile)) packed.push([tile, deflateSync(Uint8Array.from({ length: SIDE * SIDE }, (_, i) => sampleOf(tile, i)))])
  const dataBytes = packed.reduce((sum, [, bytes]) => sum + bytes.length, 0)
  const headBytes = 1024
  const tableAt = tableAtEnd ? headBytes + dataBytes : headBytes
  let at = tableAtEnd ? headBytes : headBytes + 16 * tiles
  const file = new BigTiffWriter(headBytes + dataBytes + 16 * tiles)
  for (const [tile, bytes] of packed) {
    file.bytes.set(bytes, at)
    offsets[tile] = at
    counts[tile] = bytes.length
    at += bytes.length
  }
  file.directory(16, [
    ...imageTags(shape, SIDE, DEFLATE),
    { tag: 324, type: 16, values: offsets, at: tableAt },
    { tag: 325, type: 16, values: counts, at: tableAt + 8 * tiles },
  ])
  file.numbers(tableAt, 16, offsets)
  file.numbers(tableAt + 8 * tiles, 16, counts)
  const element = (y: number, x: number): number => {
    const tile = Math.floor(y / SIDE) * across + Math.floor(x / SIDE)
    return isStored(tile) ? sampleOf(tile, (y % SIDE) * SIDE + (x % SIDE)) : 0
  }
  return { bytes: file.bytes, shape, element }
}

/** Returns the elements of a window as the definition of the file has them. */
const expected = (element: (y: number, x: number) => number, [y, x, height, width]: readonly number[]): number[] =>
  Array.from({ length: height! * width! }, (_, i) => element(y! + Math.floor(i / width!), x! + (i % width!)))

/** Returns an element of each tile, and random windows of up to four tiles a side. */
function windowsOf(across: number, next: (limit: number) => number): number[][] {
  const length = across * SIDE
  return Array.from({ length: WINDOWS }, () => {
    const [y, x] = [next(length), next(length)]
    return [y, x, 1 + next(Math.min(64, length - y)), 1 + next(Math.min(64, length - x))]
  })
}

const FILES = {
  dense: tiledFile({ across: 30, tableAtEnd: false, isStored: () => true }),
  end: tiledFile({ across: 30, tableAtEnd: true, isStored: () => true }),
  // Rows of tiles near the middle are stored, and one tile of a thousand.
  sparse: tiledFile({
    across: 1000,
    tableAtEnd: true,
    isStored: (tile) => tile % 997 === 0 || (tile >= 500_000 && tile < 502_000 && tile % 3 > 0),
  }),
}
type Name = keyof typeof FILES

describe.each(['dense', 'sparse'] as const)('a %s file', (name) => {
  test('has the elements of its tiles in all windows', async () => {
    const { bytes, shape, element } = FILES[name]
    const store = new MemoryStore()
    await store.put('a.tif', bytes)
    await using file = await openGeotiff({ store, path: 'a.tif' })
    const { array } = file.image(0)
    expect(array.shape).toEqual(shape)
    const across = shape[0] / SIDE
    const windows = windowsOf(across, random(SEED))
    // Tiles at the borders of the parts in which tables are read, and the last ones.
    for (const tile of [255, 256, 257, 511, 512, across * across - 1])
      windows.push([Math.floor(tile / across) * SIDE, (tile % across) * SIDE, SIDE, SIDE])
    if (name === 'sparse') windows.push([500 * SIDE - 8, 0, 40, 700])
    for (const window of windows) {
      const [y, x, height, width] = window as [number, number, number, number]
      const { data } = await array.get([slice(y, y + height), slice(x, x + width)])
      expect([...(data as Uint8Array)], window.join()).toEqual(expected(element, window))
    }
  })
})

describe('over HTTP', () => {
  let folder: string
  let server: RoundServer
  const urls = {} as Record<Name, string>
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-geotiff-'))
    server = await RoundServer.start()
    for (const name of Object.keys(FILES) as Name[]) {
      const path = join(folder, `${name}.tif`)
      await writeFile(path, FILES[name].bytes)
      urls[name] = server.serve(`${name}.tif`, path)
    }
  })
  afterAll(async () => {
    await server.stop()
    await rm(folder, { recursive: true })
  })
  beforeEach(() => {
    server.etag = () => '"1"'
    server.take()
  })

  // A window of four tiles; the tables of the dense file lie in the bytes that opening reads.
  test.each([
    ['dense', [SIDE * 10 - 4, SIDE * 10 - 4, 8, 8], 1],
    ['end', [SIDE * 10 - 4, SIDE * 10 - 4, 8, 8], 2],
    ['sparse', [SIDE * 501 - 4, SIDE * 300 - 4, 8, 8], 2],
  ] as const)('opening the %s file takes one request, and a window few rounds', async (name, window, most) => {
    await using file = await openGeotiff(urls[name])
    const opening = server.take()
    expect([opening.rounds, opening.requests]).toEqual([1, 1])
    expect(opening.bytes).toBeLessThanOrEqual(32 * 1024)
    const [y, x, height, width] = window
    const { data } = await file.image(0).array.get([slice(y, y + height), slice(x, x + width)])
    expect([...(data as Uint8Array)]).toEqual(expected(FILES[name].element, window))
    const reading = server.take()
    expect(reading.rounds).toBeLessThanOrEqual(most)
    expect(reading.bytes).toBeLessThanOrEqual(64 * 1024)
    // No byte is requested twice.
    const ranges = [...opening.log, ...reading.log].flat().map(({ range }) => /(\d+)-(\d+)/.exec(range!)!.slice(1).map(Number))
    const sorted = (ranges as [number, number][]).sort((a, b) => a[0] - b[0])
    for (const [i, [start]] of sorted.entries()) if (i > 0) expect(start).toBeGreaterThan(sorted[i - 1]![1])
  })

  test('a file that was replaced after it was opened is noticed', async () => {
    await using file = await openGeotiff(urls.end)
    server.etag = () => '"2"'
    await expect(file.image(0).array.get([slice(8), slice(8)])).rejects.toMatchObject({ tag: 'ConflictError' })
  })
})
