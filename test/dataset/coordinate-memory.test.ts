import { expect, test } from 'vitest'
import { Dataset } from '../../src/dataset/dataset.ts'
import { DiskArray } from '../../src/runtime/index.ts'
import { ChunkGrid } from '../../src/runtime/plan.ts'
import { CountingSource } from '../support/counting-source.ts'

/** A coordinate as a file has it, and what was read of it. */
function coordinate(name: string, shape: readonly number[], dims: readonly string[], attrs: Record<string, string> = {}) {
  const size = shape.reduce((a, b) => a * b, 1)
  const data = Float32Array.from({ length: size }, (_, i) => i)
  const source = new CountingSource({ dtype: 'float32', shape, data }, ChunkGrid.regular(shape, shape))
  return { reads: source.reads, raw: { name, array: new DiskArray(source) as DiskArray, dims, attrs: new Map(Object.entries(attrs)) } } // biome-ignore format: one line
}

test('labels of dimensions are counted before they are read', async () => {
  const open = (coordinateBytes: number) => {
    const [lat, lon] = [coordinate('lat', [10], ['lat']), coordinate('lon', [20], ['lon'])]
    const opened = Dataset.from({ variables: [lat.raw, lon.raw] }, { limits: { coordinateBytes } })
    return { opened, reads: () => [lat.reads.length, lon.reads.length] }
  }
  const fits = open(120)
  expect((await fits.opened).dims).toEqual({ lat: 10, lon: 20 })
  expect(fits.reads()).toEqual([1, 1])
  const beyond = open(119)
  await expect(beyond.opened).rejects.toMatchObject({
    tag: 'TooLargeError',
    details: { array: 'lon', actual: 120, expected: 119 },
  })
  expect(beyond.reads()[1]).toBe(0)
  await expect(Dataset.from({ variables: [] }, { limits: { coordinatebytes: 1 } as never })).rejects.toThrow(
    "limits has no option 'coordinatebytes'; did you mean 'coordinateBytes'?",
  )
})

test('what is kept later counts, too', async () => {
  const lat = coordinate('lat', [4, 5], ['y', 'x'], { units: 'degrees_north' })
  const lon = coordinate('lon', [4, 5], ['y', 'x'], { units: 'degrees_east' })
  const station = coordinate('station', [5], ['x'])
  const t = coordinate('t', [4, 5], ['y', 'x'], { coordinates: 'lat lon station' })
  const open = (coordinateBytes: number) =>
    Dataset.from({ variables: [t.raw, lat.raw, lon.raw, station.raw] }, { limits: { coordinateBytes } })
  const places = { method: 'nearest', tolerance: '1000km' } as const
  const at = async (ds: Dataset) =>
    ds
      .get('t')
      .selPoints([{ lat: 3, lon: 3 }], places)
      .values()
  // Three numbers and a place in a band of each cell.
  const small = await open(559)
  await expect(at(small)).rejects.toMatchObject({ tag: 'TooLargeError', details: { array: 'lat', actual: 560, expected: 559 } })
  expect([lat.reads.length, lon.reads.length]).toEqual([0, 0])
  const both = await open(579)
  expect(await at(both)).toEqual(Float32Array.of(3))
  expect(await at(both)).toEqual(Float32Array.of(3))
  await expect(both.swapDims({ x: 'station' })).rejects.toMatchObject({
    details: { array: 'station', actual: 580, expected: 579 },
  })
  expect(station.reads).toHaveLength(0)
})

test('texts count by their decoded size, and nothing is read beyond the limit', async () => {
  const data = Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(1000, 'x'))
  const source = new CountingSource({ dtype: 'string', shape: [100], data }, ChunkGrid.regular([100], [10]))
  const raw = { name: 'station', array: new DiskArray(source) as DiskArray, dims: ['station'], attrs: new Map() }
  const open = (coordinateBytes: number) => Dataset.from({ variables: [raw] }, { limits: { coordinateBytes } })
  // The estimate for each text is within the limit.
  await expect(open(50_000)).rejects.toMatchObject({ tag: 'TooLargeError', details: { array: 'station', expected: 50_000 } })
  expect(source.reads.length).toBeLessThan(5)
  expect((await open(100 * 2032)).dims).toEqual({ station: 100 })
  await expect(open(100 * 2032 - 1)).rejects.toMatchObject({ tag: 'TooLargeError' })
})
