import { expect, test } from 'vitest'
import { openGeotiff } from '../../../src/runtime/geotiff.ts'
import { slice } from '../../../src/runtime/index.ts'
import { random } from '../../af/rkyv/support.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { BigTiffWriter, imageTags } from './tiff-file.ts'

const SIDE = 16
const NONE = 1
const CASES = byBudget({ quick: 300, full: 3000, soak: 100_000 })

/** Returns a file of uncompressed tiles, of which the last ones extend beyond the image. */
function storedFile(height: number, width: number): Uint8Array {
  const [down, across] = [Math.ceil(height / SIDE), Math.ceil(width / SIDE)]
  const tiles = down * across
  const file = new BigTiffWriter(1024 + tiles * SIDE * SIDE + 16 * tiles)
  const tableAt = 1024 + tiles * SIDE * SIDE
  const offsets = Float64Array.from({ length: tiles }, (_, tile) => 1024 + tile * SIDE * SIDE)
  const counts = new Float64Array(tiles).fill(SIDE * SIDE)
  file.directory(16, [
    ...imageTags([height, width], SIDE, NONE),
    { tag: 324, type: 16, values: offsets, at: tableAt },
    { tag: 325, type: 16, values: counts, at: tableAt + 8 * tiles },
  ])
  file.numbers(tableAt, 16, offsets)
  file.numbers(tableAt + 8 * tiles, 16, counts)
  for (let tile = 0; tile < tiles; tile++)
    for (let i = 0; i < SIDE * SIDE; i++) {
      const [y, x] = [Math.floor(tile / across) * SIDE + Math.floor(i / SIDE), (tile % across) * SIDE + (i % SIDE)]
      // Samples beyond the image have a value of their own.
      file.bytes[offsets[tile]! + i] = y < height && x < width ? elementAt(y, x) : 255
    }
  return file.bytes
}

const elementAt = (y: number, x: number): number => (y * 41 + x * 3) % 251

test('lists, masks, slices and points read the same samples, in tiles that extend beyond the image', async () => {
  const next = random(seedOf('lists of stored tiles', 20_261_127))
  const [height, width] = [40, 50]
  await using file = await openGeotiff(storedFile(height, width))
  const { array } = file.image(0)
  const positions = (length: number): number[] => Array.from({ length: 1 + next(5) }, () => next(length))
  for (let i = 0; i < CASES; i++) {
    const [rows, columns] = [positions(height), positions(width)]
    const wanted = (y: readonly number[], x: readonly number[]): number[] => y.flatMap((row) => x.map((at) => elementAt(row, at)))
    const kind = next(4)
    if (kind === 0) expect([...(await array.get([rows, columns])).data]).toEqual(wanted(rows, columns))
    else if (kind === 1) {
      const [from, step] = [next(width), 1 + next(9)]
      const taken = Array.from({ length: Math.ceil((width - from) / step) }, (_, at) => from + at * step)
      expect([...(await array.get([rows, slice(from, null, step)])).data]).toEqual(wanted(rows, taken))
    } else if (kind === 2) {
      const mask = Array.from({ length: height }, (_, row) => rows.includes(row))
      const taken = [...new Set(rows)].sort((a, b) => a - b)
      expect([...(await array.get([mask, columns])).data]).toEqual(wanted(taken, columns))
    } else expect(await array.view([rows, columns]).sum()).toBe(wanted(rows, columns).reduce((a, b) => a + b))
  }
})
