import type { DiskArray } from '../array/disk-array.ts'
import { HyperslabError } from '../core/errors.ts'
import { Pace } from '../core/pace.ts'
import type { Signal } from '../core/signal.ts'
import { asFloats } from './cast-float.ts'
import { findCoordinateMemory } from './coordinate-memory.ts'
import { EARTH_RADIUS } from './distances.ts'
import type { Variable } from './variable.ts'

/** A place on Earth, in degrees. */
export interface LatLon {
  readonly lat: number
  readonly lon: number
}

/** Positions of cells as unit vectors, three numbers each. */
interface Cells {
  readonly lon: DiskArray
  readonly vectors: Float64Array
  readonly bands: Bands
}

/** Cells in bands of equal height by their third coordinate. The nearest cell is in a band near the place. */
interface Bands {
  readonly low: number
  readonly height: number
  readonly count: number
  /** Start of each band in `cells`, followed by the end of the last band. */
  readonly starts: Uint32Array
  /** Numbers of the cells, band by band. */
  readonly cells: Uint32Array
}

/** Rounding error of the boundaries of bands. */
const ROUNDING = 1e-12

/** Bytes kept for each cell: three numbers, and its entry in a band. */
const CELL_BYTES = 3 * 8 + 4

/** Cells by the array of their latitudes, so that coordinates are read once. */
const CELLS = new WeakMap<DiskArray, Cells>()

/**
 * Returns the nearest cell of each place along the great circle, as its number in C order; the first of
 * equally near ones. Cells without coordinates are ignored.
 * @param tolerance largest distance in metres; default: the largest distance from the cell to its neighbours
 * @throws InvalidSelectionError for places outside
 */
export async function nearestCells(
  lat: Variable,
  lon: Variable,
  places: readonly LatLon[],
  tolerance: number | undefined,
  signal: Signal | undefined,
): Promise<Float64Array> {
  const { vectors, bands } = await loadCells(lat, lon, signal)
  const found = new Float64Array(places.length)
  const pace = new Pace()
  for (const [i, place] of places.entries()) {
    const { best, least } = findNearest(vectors, bands, toVector(place.lat, place.lon))
    checkWithin(lat, vectors, place, { best, away: metres(least) }, tolerance)
    found[i] = best
    signal?.throwIfAborted()
    if (pace.due()) await pace.turn()
  }
  return found
}

/** Returns the nearest cell and the squared chord to it; -1 if there is none. */
function findNearest(vectors: Float64Array, bands: Bands, [x, y, z]: readonly [number, number, number]) {
  const { low, height, count, starts, cells } = bands
  let [best, least] = [-1, Number.POSITIVE_INFINITY]
  const own = findBand(bands, z)
  for (const way of [-1, 1])
    for (let band = way < 0 ? own : own + 1; band >= 0 && band < count; band += way) {
      const start = low + band * height
      const gap = Math.max(start - z, z - start - height) - ROUNDING
      if (gap > 0 && gap * gap > least) break
      for (let i = starts[band]!; i < starts[band + 1]!; i++) {
        const cell = cells[i]!
        const [dx, dy, dz] = [vectors[3 * cell]! - x, vectors[3 * cell + 1]! - y, vectors[3 * cell + 2]! - z]
        const chord = dx * dx + dy * dy + dz * dz
        // Both comparisons are false for NaN.
        if (chord < least || (chord === least && cell < best)) {
          least = chord
          best = cell
        }
      }
    }
  return { best, least }
}

const findBand = ({ low, height, count }: Pick<Bands, 'low' | 'height' | 'count'>, z: number): number =>
  Math.max(0, Math.min(count - 1, Math.floor((z - low) / height)))

/** Sorts cells into bands, about as many bands as cells in a band. */
function createBands(vectors: Float64Array): Bands {
  const size = vectors.length / 3
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let cell = 0; cell < size; cell++) {
    const z = vectors[3 * cell + 2]!
    if (z < low) low = z
    if (z > high) high = z
  }
  const count = high > low ? Math.ceil(Math.sqrt(size)) : 1
  const shape = { low, height: high > low ? (high - low) / count : 1, count }
  const starts = new Uint32Array(count + 1)
  const each = (take: (band: number, cell: number) => void): void => {
    for (let cell = 0; cell < size; cell++) {
      const z = vectors[3 * cell + 2]!
      if (!Number.isNaN(z)) take(findBand(shape, z), cell)
    }
  }
  each((band) => void starts[band + 1]!++)
  for (let band = 0; band < count; band++) starts[band + 1]! += starts[band]!
  const cells = new Uint32Array(starts[count]!)
  const ends = starts.slice()
  each((band, cell) => {
    cells[ends[band]!++] = cell
  })
  return { ...shape, starts, cells }
}

/** Converts a squared chord to the distance along the sphere. */
const metres = (square: number): number => 2 * EARTH_RADIUS * Math.asin(Math.min(1, Math.sqrt(square) / 2))

function toVector(lat: number, lon: number): [number, number, number] {
  const [phi, lambda] = [(lat * Math.PI) / 180, (lon * Math.PI) / 180]
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)]
}

async function loadCells(lat: Variable, lon: Variable, signal: Signal | undefined): Promise<Cells> {
  const known = CELLS.get(lat.array)
  if (known?.lon === lon.array) return known
  findCoordinateMemory(lat.array).take(lat, CELL_BYTES)
  const vectors = await readVectors(lat, lon, signal)
  const cells = { lon: lon.array, vectors, bands: createBands(vectors) }
  CELLS.set(lat.array, cells)
  return cells
}

async function readVectors(lat: Variable, lon: Variable, signal: Signal | undefined): Promise<Float64Array> {
  const options = signal ? { signal } : {}
  const [lats, lons] = await Promise.all(
    [lat, lon].map(async (variable) => {
      const { data } = await asFloats(variable.array).toTensor(options)
      const factor = /^rad/i.test(String(variable.attrs['units'] ?? '')) ? 180 / Math.PI : 1
      return (at: number) => (data as ArrayLike<number>)[at]! * factor
    }),
  )
  const vectors = new Float64Array(3 * lat.array.size)
  for (let at = 0; 3 * at < vectors.length; at++) vectors.set(toVector(lats!(at), lons!(at)), 3 * at)
  return vectors
}

function checkWithin(
  lat: Variable,
  vectors: Float64Array,
  { lat: phi, lon: lambda }: LatLon,
  { best, away }: { readonly best: number; readonly away: number },
  tolerance: number | undefined,
): void {
  const refuse = (text: string) => new HyperslabError('InvalidSelectionError', text, { array: lat.name, actual: [phi, lambda] })
  if (best < 0) throw refuse(`no cell along [${lat.dims.join(', ')}] has coordinates`)
  const limit = tolerance ?? measureReach(lat, vectors, best)
  if (limit === undefined)
    throw refuse("places that are not a grid need a tolerance, such as `tolerance: '25km'`, because their spacing is unknown")
  if (away <= limit) return
  const km = (length: number): string => `${Number((length / 1000).toPrecision(4))} km`
  const why = tolerance === undefined ? `the neighbours of that one are within ${km(limit)}` : `the tolerance is ${km(limit)}`
  throw refuse(`the cell nearest to ${phi}, ${lambda} is ${km(away)} away; ${why}`)
}

/**
 * Returns the largest distance from a cell to its neighbours; undefined for a list, and for a cell without
 * valid neighbours.
 */
function measureReach({ array: { shape } }: Variable, vectors: Float64Array, cell: number): number | undefined {
  if (shape.length < 2) return undefined
  let most: number | undefined
  for (let axis = 0, step = vectors.length / 3; axis < shape.length; axis++) {
    const length = shape[axis]!
    step /= length
    const position = Math.floor(cell / step) % length
    for (const way of [-1, 1]) {
      if (position + way < 0 || position + way >= length) continue
      const [a, b] = [3 * cell, 3 * (cell + way * step)]
      const square = [0, 1, 2].reduce((sum, k) => sum + (vectors[a + k]! - vectors[b + k]!) ** 2, 0)
      if (!Number.isNaN(square)) most = Math.max(most ?? 0, metres(square))
    }
  }
  return most
}
