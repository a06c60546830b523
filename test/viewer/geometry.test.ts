import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Axis } from '../../apps/viewer/src/axes.ts'
import type { Frame } from '../../apps/viewer/src/frame.ts'
import { columnOfPixel, geometryOf, middleOf, pixelCells, placeOnPicture, windowOf } from '../../apps/viewer/src/geometry.ts'

const axis = (kind: 'latitude' | 'longitude', places: readonly number[]): Axis => ({
  dim: kind,
  length: places.length,
  kind,
  units: 'degrees',
  places: Float64Array.from(places),
  isTime: false,
  isGlobe: true,
  isDown: false,
  label: String,
})

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
        const frame: Frame = { values: new Float32Array(rows * columns), rows, columns, steps: [1, 1], missing: 0 }
        const geometry = geometryOf(frame, axis('latitude', lat), axis('longitude', lon), { projection })
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
            expect([y, x, columnOfPixel(cells, x, y)]).toEqual([y, x, column])
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
  const frame: Frame = { values: new Float32Array(24), rows: 4, columns: 6, steps: [1, 1], missing: 0 }
  for (const projection of ['plate-carree', 'equal-earth'] as const) {
    const geometry = geometryOf(frame, axis('latitude', lat!), axis('longitude', lon!), { projection })
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
  const frame: Frame = { values: new Float32Array(4), rows: 2, columns: 2, steps: [1, 1], missing: 0 }
  const globe = [axis('latitude', [45, -45]), axis('longitude', [-90, 90])] as const
  const { projection } = geometryOf(frame, ...globe, { projection: 'equal-earth' })
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
