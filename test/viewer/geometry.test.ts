import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Axis } from '../../apps/viewer/src/axes.ts'
import {
  aspectOf,
  columnOfPixel,
  geometryOf,
  middleOf,
  pixelCells,
  placeOnPicture,
  regionSeen,
  windowOf,
} from '../../apps/viewer/src/geometry.ts'
import { ticksBetween } from '../../apps/viewer/src/limits.ts'
import type { Cells, Plane } from '../../apps/viewer/src/plane.ts'

const axis = (kind: 'latitude' | 'longitude', places: readonly number[]): Axis => ({
  dim: kind,
  length: places.length,
  kind,
  units: 'degrees',
  places: Float64Array.from(places),
  isTime: false,
  isGlobe: true,
  isGrid: false,
  isDown: false,
  label: String,
})

const planeOf = (lat: readonly number[], lon: readonly number[]): Plane => ({
  level: 0,
  levels: 1,
  y: axis('latitude', lat),
  x: axis('longitude', lon),
  ratio: [1, 1],
})

/** All cells of a plane. */
const allOf = (plane: Plane): Cells => ({ plane, rows: plane.y.length, columns: plane.x.length, from: [0, 0], steps: [1, 1] })

/** A regular grid: of the globe, or of a part of it; rows from either end, longitudes from anywhere. */
const grids = fc.record({
  rows: fc.integer({ min: 2, max: 30 }),
  columns: fc.integer({ min: 2, max: 40 }),
  fallsSouth: fc.boolean(),
  first: fc.integer({ min: -360, max: 360 }),
  isGlobal: fc.boolean(),
  zoom: fc.constantFrom(1, 2, 5),
})

/** The cell whose middle is nearest, along both axes and around the globe; none beyond half a cell. */
function nearest(places: ArrayLike<number>, step: number, at: number, isRound: boolean): number {
  let best = -1
  let least = Math.abs(step) / 2 + 1e-9
  for (let i = 0; i < places.length; i++) {
    const away = Math.abs(at - places[i]!)
    const distance = isRound ? Math.min(away % 360, 360 - (away % 360)) : away
    if (distance < least) [best, least] = [i, distance]
  }
  return best
}

test.each(['plate-carree', 'equal-earth'] as const)(
  'in %s each pixel shows the cell that is nearest to its place',
  (projection) => {
    fc.assert(
      fc.property(grids, ({ rows, columns, fallsSouth, first, isGlobal, zoom }) => {
        const dy = 180 / rows
        const dx = (isGlobal ? 360 : 90) / columns
        const lat = Array.from({ length: rows }, (_, i) => (fallsSouth ? 90 - (i + 0.5) * dy : -90 + (i + 0.5) * dy))
        const lon = Array.from({ length: columns }, (_, i) => first + i * dx)
        const geometry = geometryOf(allOf(planeOf(lat, lon)), { projection })
        expect(geometry.isMap).toBe(true)
        const seen = windowOf(geometry, { x: undefined, y: undefined, zoom })
        const [width, height] = [37, 23]
        const cells = pixelCells(geometry, seen, width, height)
        for (let y = 0; y < height; y++) {
          const up = seen.top - ((y + 0.5) * (seen.top - seen.bottom)) / height
          const latitude = geometry.projection.latitudeAt(up)
          const row = nearest(lat, dy, latitude, false)
          const isRowEdge = Math.abs(((latitude + 90) / dy) % 1) < 1e-6 || Math.abs((((latitude + 90) / dy) % 1) - 1) < 1e-6
          if (!isRowEdge) expect(cells.rowOf[y]).toBe(row)
          for (let x = 0; x < width; x++) {
            const across = seen.left + ((x + 0.5) * (seen.right - seen.left)) / width
            const longitude = across / geometry.projection.scaleAt(latitude) + geometry.centre
            const isOutside = projection === 'equal-earth' && Math.abs(longitude - geometry.centre) > 180
            const share = (((longitude - first) / dx + 0.5) % 1) + 1
            // Longitudes of a projection are looked up in parts of a twentieth of a degree.
            if (Math.min(share % 1, 1 - (share % 1)) * dx < 0.05) continue
            const column = isOutside ? -1 : nearest(lon, dx, longitude, true)
            const shown = columnOfPixel(cells, x, y)
            if (shown !== column) expect([y, x, shown]).toEqual([y, x, column])
          }
        }
      }),
      { numRuns: 60 },
    )
  },
)

test('the middle of a cell is drawn where the pixel of that cell is', () => {
  const [lat, lon] = [
    [60, 20, -20, -60],
    [0, 60, 120, 180, 240, 300],
  ]
  for (const projection of ['plate-carree', 'equal-earth'] as const) {
    const geometry = geometryOf(allOf(planeOf(lat!, lon!)), { projection })
    const seen = windowOf(geometry, { x: undefined, y: undefined, zoom: 1 })
    const cells = pixelCells(geometry, seen, 300, 150)
    // At 180° a cell lies at both edges.
    for (const row of [0, 1, 2, 3])
      for (const column of [0, 1, 2, 4, 5]) {
        const [across, down] = placeOnPicture(geometry, seen, ...middleOf(geometry, row, column))
        const [x, y] = [Math.floor(across * 300), Math.floor(down * 150)]
        expect([projection, cells.rowOf[y], columnOfPixel(cells, x, y)]).toEqual([projection, row, column])
      }
  }
})

test('in Equal Earth areas are as large as they are on the globe, and latitudes come back', () => {
  const { projection } = geometryOf(allOf(planeOf([45, -45], [-90, 90])), { projection: 'equal-earth' })
  const step = 0.01
  const whole = 4 * Math.PI
  for (let latitude = -89; latitude <= 89; latitude += 7) {
    expect(projection.latitudeAt(projection.up(latitude))).toBeCloseTo(latitude, 9)
    const tall = projection.up(latitude + step) - projection.up(latitude - step)
    const area = tall * 360 * projection.scaleAt(latitude) * (Math.PI / 180) ** 2
    const sine = (degrees: number): number => Math.sin((degrees * Math.PI) / 180)
    const onGlobe = 2 * Math.PI * (sine(latitude + step) - sine(latitude - step))
    expect(area / onGlobe).toBeCloseTo(1, 5)
    expect(area).toBeLessThan(whole)
  }
})

test('of a part of a plane each pixel shows the cell that all of it has there, and nothing beside the part', () => {
  const parts = fc.record({
    rows: fc.integer({ min: 4, max: 30 }),
    columns: fc.integer({ min: 4, max: 40 }),
    seed: fc.tuple(fc.nat(1000), fc.nat(1000), fc.nat(1000), fc.nat(1000)),
    projection: fc.constantFrom('plate-carree', 'equal-earth'),
    zoom: fc.constantFrom(1.037, 3),
  })
  fc.assert(
    fc.property(parts, ({ rows, columns, seed, projection, zoom }) => {
      const plane = planeOf(
        Array.from({ length: rows }, (_, i) => 90 - ((i + 0.5) * 180) / rows),
        Array.from({ length: columns }, (_, i) => ((i + 0.5) * 360) / columns),
      )
      const [top, left] = [seed[0] % (rows - 1), seed[1] % (columns - 1)]
      const [tall, wide] = [1 + (seed[2] % (rows - top)), 1 + (seed[3] % (columns - left))]
      const part: Cells = { plane, rows: tall, columns: wide, from: [top, left], steps: [1, 1] }
      const [whole, geometry] = [allOf(plane), part].map((cells) => geometryOf(cells, { projection }))
      expect(geometry!.whole).toEqual(whole!.whole)
      // No pixel has its middle between two cells.
      const seen = windowOf(whole!, { x: 1.2345, y: 0.5432, zoom })
      const [all, found] = [whole!, geometry!].map((each) => pixelCells(each, seen, 41, 29))
      for (let y = 0; y < 29; y++)
        for (let x = 0; x < 41; x++) {
          const [row, column] = [all!.rowOf[y]!, columnOfPixel(all!, x, y)]
          const isInside = (at: number, first: number, count: number): boolean => at >= first && at < first + count
          const expected = [isInside(row, top, tall) ? row - top : -1, isInside(column, left, wide) ? column - left : -1]
          const shown = [found!.rowOf[y]!, columnOfPixel(found!, x, y)]
          // Half a million comparisons take seconds if each is an expectation.
          if (shown[0] !== expected[0] || shown[1] !== expected[1]) expect([y, x, ...shown]).toEqual([y, x, ...expected])
        }
    }),
    { numRuns: 40 },
  )
})

test('what is read of a large plane has all cells that are seen, and no more than fit', () => {
  const plane = planeOf(
    Array.from({ length: 4000 }, (_, i) => 90 - (i + 0.5) * 0.045),
    Array.from({ length: 8000 }, (_, i) => (i + 0.5) * 0.045),
  )
  const looks = fc.record({
    x: fc.integer({ min: -170, max: 170 }),
    y: fc.integer({ min: -80, max: 80 }),
    zoom: fc.constantFrom(1, 2, 7, 16, 64),
    projection: fc.constantFrom('plate-carree', 'equal-earth'),
  })
  fc.assert(
    fc.property(looks, (look) => {
      const { from, size, steps } = regionSeen(plane, look)
      expect((size[0] / steps[0]) * (size[1] / steps[1])).toBeLessThanOrEqual(2 ** 21)
      const geometry = geometryOf(allOf(plane), look)
      const cells = pixelCells(geometry, windowOf(geometry, look), 150, 100)
      for (let y = 0; y < 100; y++)
        for (let x = 0; x < 150; x++)
          for (const [side, at] of [cells.rowOf[y]!, columnOfPixel(cells, x, y)].entries())
            if (at >= 0 && !(at >= from[side]! && at < from[side]! + size[side]!)) expect([side, at]).toEqual([from, size])
      // A part of the globe is read in full resolution. Where it crosses the first longitude of the file, all
      // columns are read, and many rows of them are more than the limit.
      if (look.zoom === 64 && size[0] * size[1] <= 2 ** 21) expect(steps).toEqual([1, 1])
      if (look.zoom === 64 && Math.abs(look.x) < 100 && Math.abs(look.x) > 8) expect(size[0] * size[1]).toBeLessThan(2 ** 20)
    }),
    { numRuns: 20, examples: [[{ x: 1, y: 74, zoom: 64, projection: 'equal-earth' }]] },
  )
})

const gridAxis = (dim: string, places: readonly number[], units: string): Axis => ({
  ...axis('latitude', places),
  dim,
  kind: undefined,
  units,
  isGlobe: false,
  isGrid: true,
})

test('axes of a projection keep their aspect, and rows that increase run upwards', () => {
  const y = gridAxis('y', [0, 1000, 2000, 3000], 'm')
  const x = gridAxis('x', [-500, 500], 'm')
  const plane: Plane = { level: 0, levels: 1, y, x, ratio: [1, 1] }
  const geometry = geometryOf(allOf(plane), { projection: 'plate-carree' })
  expect([geometry.isMap, geometry.isToScale, aspectOf(geometry)]).toEqual([false, true, 2])
  expect(geometry.whole).toEqual({ left: -1000, right: 1000, bottom: -500, top: 3500 })
  expect(geometry.ends).toEqual({ across: [-1000, 1000], down: [-500, 3500] })
  const cells = pixelCells(geometry, geometry.whole, 2, 4)
  expect([...cells.rowOf]).toEqual([3, 2, 1, 0])
  // Different units have no common scale.
  const other = geometryOf(allOf({ ...plane, x: gridAxis('x', [-0.5, 0.5], 'km') }), { projection: 'plate-carree' })
  expect([other.isToScale, aspectOf(other)]).toEqual([false, 0.6])
})

test('two-dimensional latitudes decide whether rows run upwards', () => {
  const bare = { kind: undefined, places: undefined, units: '', isGlobe: false, length: 3 }
  for (const runsNorth of [true, false]) {
    const y: Axis = { ...axis('latitude', []), ...bare, dim: 'y', runsNorth }
    const x: Axis = { ...axis('longitude', []), ...bare, dim: 'x' }
    const geometry = geometryOf(allOf({ level: 0, levels: 1, y, x, ratio: [1, 1] }), { projection: 'plate-carree' })
    expect([...pixelCells(geometry, geometry.whole, 3, 3).rowOf]).toEqual(runsNorth ? [2, 1, 0] : [0, 1, 2])
  }
})

test('ticks are round numbers, and at least two', () => {
  expect(ticksBetween({ low: -2706, high: 2706 }, 2)).toEqual([-2000, 0, 2000])
  expect(ticksBetween({ low: -0.9, high: 0.92 }, 3)).toEqual([-0.5, 0, 0.5])
  expect(ticksBetween({ low: 0, high: 100 }, 5)).toEqual([0, 20, 40, 60, 80, 100])
  fc.assert(
    fc.property(
      fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      fc.double({ min: 1e-3, max: 1e6, noNaN: true }),
      fc.integer({ min: 2, max: 10 }),
      (low, span, about) => {
        const ticks = ticksBetween({ low, high: low + span }, about)
        expect(ticks.length).toBeGreaterThanOrEqual(2)
        expect(ticks.length).toBeLessThanOrEqual(about + 1)
      },
    ),
  )
})
