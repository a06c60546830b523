// Maps the cells of a frame to pixels, and pixels to cells.
import { type Axis, areOfMap, areToScale, isMonotone } from './axes.ts'
import {
  isReadInParts,
  type Plane,
  type Cells as PlaneCells,
  type Region,
  regionAround,
  type Sides,
  wholeRegion,
} from './plane.ts'
import type { ViewState } from './state.ts'

/** A rectangle in units of the projection; y increases upwards. */
export interface Rectangle {
  readonly left: number
  readonly right: number
  readonly bottom: number
  readonly top: number
}

/**
 * A projection that maps a latitude to a straight row with evenly spaced longitudes. Places of other axes are
 * drawn without it.
 */
interface Projection {
  /** Returns the height of a latitude. */
  up(latitude: number): number
  /** Returns the latitude at a height; NaN beyond the poles. */
  latitudeAt(up: number): number
  /** Returns the length of a degree of longitude at a latitude. */
  scaleAt(latitude: number): number
}

const PLATE_CARREE: Projection = { up: (latitude) => latitude, latitudeAt: (up) => up, scaleAt: () => 1 }

/** Equal Earth (B. Šavrič, T. Patterson, B. Jenny, 2018) preserves areas. */
const A = [1.340264, -0.081106, 0.000893, 0.003796] as const
const M = Math.sqrt(3) / 2
const RADIAN = Math.PI / 180
const height = (t: number): number => t * (A[0] + A[1] * t ** 2 + A[2] * t ** 6 + A[3] * t ** 8)
const slope = (t: number): number => A[0] + 3 * A[1] * t ** 2 + 7 * A[2] * t ** 6 + 9 * A[3] * t ** 8
const POLE = height(Math.asin(M))

const EQUAL_EARTH: Projection = {
  up: (latitude) => height(Math.asin(M * Math.sin(latitude * RADIAN))) / RADIAN,
  latitudeAt(up) {
    const y = up * RADIAN
    if (Math.abs(y) > POLE) return Number.NaN
    let t = y / A[0]
    for (let i = 0; i < 6; i++) t -= (height(t) - y) / slope(t)
    return Math.asin(Math.min(1, Math.max(-1, Math.sin(t) / M))) / RADIAN
  },
  scaleAt(latitude) {
    const t = Math.asin(M * Math.sin(latitude * RADIAN))
    return Math.cos(t) / (M * slope(t))
  },
}

/** Cells of a frame along one axis, as drawn. */
interface Cells {
  /** Edges of the cells, ascending or descending; one more than cells. */
  readonly edges: Float64Array
  readonly low: number
  readonly high: number
}

/** Positions of all cells. */
export interface Geometry {
  readonly isMap: boolean
  /** Whether both axes of a picture other than a map have the same units. Then its cells keep their shape. */
  readonly isToScale: boolean
  /** Whether longitudes cover the whole globe. */
  readonly isGlobal: boolean
  readonly projection: Projection
  readonly whole: Rectangle
  /** Outer edges of the first and the last column, and of the first and the last row. */
  readonly ends: Readonly<Record<'across' | 'down', readonly [first: number, last: number]>>
  readonly rows: Cells
  readonly columns: Cells
  /** Longitude in the middle of the map; 0 for other pictures. */
  readonly centre: number
}

/** Drawn cells along one axis. */
interface Side {
  readonly from: number
  readonly count: number
  readonly step: number
  /** Number of cells of the finest resolution in one cell. */
  readonly ratio: number
}

/**
 * Returns the edges of cells. They lie in the middle between places, also if only some places are read. The
 * outermost edges are those of the axis. Without ascending or descending places, the width of a cell is its
 * number of finest cells.
 */
function cellsOf({ places, length }: Axis, { from, count, step, ratio }: Side, useful: boolean, isUp: boolean): Cells {
  const edges = new Float64Array(count + 1)
  const sign = isUp ? ratio : -ratio
  if (useful && places !== undefined && length > 1) {
    const beyond = (end: number, inner: number): number => (3 * places[end]! - places[inner]!) / 2
    for (let i = 0; i <= count; i++) {
      const [before, after] = [places[from + (i - 1) * step], places[from + i * step]]
      if (before === undefined) edges[i] = beyond(0, 1)
      else edges[i] = after === undefined ? beyond(length - 1, length - 2) : (before + after) / 2
    }
  } else for (let i = 0; i <= count; i++) edges[i] = sign * Math.min(length, from + i * step)
  const [first, last] = [edges[0]!, edges[count]!]
  return { edges, low: Math.min(first, last), high: Math.max(first, last) }
}

/**
 * Whether the axis of a picture other than a map points up. By default the first row is on top. Places that
 * increase upwards or northwards reverse this.
 */
const runsUp = ({ places, isDown, isGrid, kind, runsNorth }: Axis): boolean =>
  runsNorth ?? ((kind !== undefined || isGrid) && isMonotone(places) && places!.at(-1)! > places![0]! !== isDown)

const endsOf = ({ edges }: Cells): readonly [first: number, last: number] => [edges[0]!, edges.at(-1)!]

export function geometryOf(cells: PlaneCells, { projection: name }: Pick<ViewState, 'projection'>): Geometry {
  const { y, x, ratio } = cells.plane
  const isMap = areOfMap(y, x)
  const isToScale = !isMap && areToScale(y, x)
  const ofSide = (axis: Axis, side: 0 | 1, isUp: boolean, count: number, from: number, step: number): Cells =>
    cellsOf(axis, { from, count, step, ratio: ratio[side] }, isMap || isToScale, isUp)
  const rows = ofSide(y, 0, runsUp(y), cells.rows, cells.from[0], cells.steps[0])
  const columns = ofSide(x, 1, true, cells.columns, cells.from[1], cells.steps[1])
  // One cell as long as the axis has the edges of the axis.
  const tall = ofSide(y, 0, runsUp(y), 1, 0, y.length)
  const wide = ofSide(x, 1, true, 1, 0, x.length)
  const width = wide.high - wide.low
  const isGlobal = isMap && width > 359 && width < 361
  const projection = isMap && name === 'equal-earth' ? EQUAL_EARTH : PLATE_CARREE
  // Global maps are centred on Greenwich, wherever the file begins; other maps on their own middle.
  const middle = (wide.low + wide.high) / 2
  const centre = isMap ? (isGlobal ? 0 : middle) : 0
  const [south, north] = isMap ? [Math.max(-90, tall.low), Math.min(90, tall.high)] : [tall.low, tall.high]
  const half = isGlobal ? 180 : width / 2
  const widest = Math.max(...[south, north, Math.min(north, Math.max(south, 0))].map((at) => projection.scaleAt(at)))
  const whole = isMap
    ? { left: -half * widest, right: half * widest, bottom: projection.up(south), top: projection.up(north) }
    : { left: wide.low, right: wide.high, bottom: south, top: north }
  const ends = { across: endsOf(wide), down: endsOf(tall) }
  return { isMap, isToScale, isGlobal, projection, whole, ends, rows, columns, centre }
}

/** Returns the visible part of the whole. */
export function windowOf({ whole }: Geometry, { x, y, zoom }: Pick<ViewState, 'x' | 'y' | 'zoom'>): Rectangle {
  const [width, tall] = [(whole.right - whole.left) / zoom, (whole.top - whole.bottom) / zoom]
  const within = (middle: number, low: number, high: number, size: number): number =>
    Math.min(high - size / 2, Math.max(low + size / 2, middle))
  const cx = within(x ?? (whole.left + whole.right) / 2, whole.left, whole.right, width)
  const cy = within(y ?? (whole.bottom + whole.top) / 2, whole.bottom, whole.top, tall)
  return { left: cx - width / 2, right: cx + width / 2, bottom: cy - tall / 2, top: cy + tall / 2 }
}

/**
 * Returns the height of a picture in units of its width. Maps and pictures to scale keep their shape. Cells
 * of other pictures are squares, unless the picture becomes too flat or too high.
 */
export function aspectOf({ isMap, isToScale, whole }: Geometry): number {
  const aspect = (whole.top - whole.bottom) / (whole.right - whole.left)
  return isMap || isToScale ? aspect : Math.min(0.6, Math.max(0.25, aspect))
}

/** Returns the cell that contains a place; -1 outside. */
function cellAt({ edges, low, high }: Cells, place: number): number {
  if (!(place >= low && place <= high)) return -1
  const isRising = edges[edges.length - 1]! > edges[0]!
  let [from, to] = [0, edges.length - 1]
  while (to - from > 1) {
    const middle = (from + to) >> 1
    if (edges[middle]! <= place === isRising) from = middle
    else to = middle
  }
  return from
}

/** Returns the column at a longitude in any turn of the globe, or at a place; -1 outside. */
function columnAt({ isMap, columns }: Geometry, x: number): number {
  if (!isMap) return cellAt(columns, x)
  const turned = x - 360 * Math.floor((x - columns.low) / 360)
  return cellAt(columns, turned)
}

const rowAt = ({ rows }: Geometry, y: number): number => cellAt(rows, y)

/** Number of steps of longitude in the look-up table for curved projections. */
const FINE = 8192

/**
 * The cell under each pixel of a picture: a row for each pixel row, and a column for each pixel in it. It
 * changes only if the picture is moved or resized, so that drawing a frame is a look-up.
 */
export interface PixelCells {
  readonly width: number
  readonly height: number
  readonly rowOf: Int32Array
  /** Column of each pixel, if it is the same in all rows. */
  readonly columnOf: Int32Array | undefined
  /**
   * Otherwise, the column of each step of longitude; for each row, the step of its first pixel, and the steps
   * per pixel.
   */
  readonly fine: Int32Array
  readonly firstOf: Float64Array
  readonly partsOf: Float64Array
}

export function pixelCells(geometry: Geometry, seen: Rectangle, width: number, height: number): PixelCells {
  const { projection, isMap, centre } = geometry
  const rowOf = new Int32Array(height)
  const [firstOf, partsOf] = [new Float64Array(height), new Float64Array(height)]
  const step = (seen.right - seen.left) / width
  for (let y = 0; y < height; y++) {
    const up = seen.top - ((y + 0.5) * (seen.top - seen.bottom)) / height
    const latitude = isMap ? projection.latitudeAt(up) : up
    rowOf[y] = Number.isNaN(latitude) ? -1 : rowAt(geometry, latitude)
    const scale = isMap ? projection.scaleAt(latitude) : 1
    // Converts the longitude of the first pixel to steps, which begin half a turn west of the middle.
    firstOf[y] = (((seen.left + step / 2) / scale + 180) / 360) * FINE
    partsOf[y] = ((step / scale) * FINE) / 360
  }
  const isEven = projection === PLATE_CARREE
  const columnOf = isEven
    ? Int32Array.from({ length: width }, (_, x) => columnAt(geometry, seen.left + (x + 0.5) * step + centre))
    : undefined
  const fine = new Int32Array(isEven ? 0 : FINE)
  for (let i = 0; i < fine.length; i++) fine[i] = columnAt(geometry, centre - 180 + ((i + 0.5) * 360) / FINE)
  return { width, height, rowOf, columnOf, fine, firstOf, partsOf }
}

/** Returns the column under a pixel; -1 outside. */
export function columnOfPixel({ columnOf, fine, firstOf, partsOf }: PixelCells, x: number, y: number): number {
  if (columnOf !== undefined) return columnOf[x] ?? -1
  return fine[Math.floor(firstOf[y]! + x * partsOf[y]!)] ?? -1
}

/** Returns the position of a place of the globe, or of the axes, as fractions of the visible part. */
export function placeOnPicture(
  { projection, isMap, centre }: Geometry,
  seen: Rectangle,
  x: number,
  y: number,
): [x: number, y: number] {
  const [across, up] = isMap ? [(x - centre) * projection.scaleAt(y), projection.up(y)] : [x, y]
  return [(across - seen.left) / (seen.right - seen.left), (seen.top - up) / (seen.top - seen.bottom)]
}

/** Returns the middle of a cell. Its longitude is within half a turn of the middle of the map. */
export function middleOf({ rows, columns, isMap, centre }: Geometry, row: number, column: number): [x: number, y: number] {
  const x = (columns.edges[column]! + columns.edges[column + 1]!) / 2
  const y = (rows.edges[row]! + rows.edges[row + 1]!) / 2
  return [isMap ? x - 360 * Math.round((x - centre) / 360) : x, y]
}

/** Size of the small picture that determines the visible cells. */
const [FEW_COLUMNS, FEW_ROWS] = [96, 64]

type Look = Pick<ViewState, 'projection' | 'x' | 'y' | 'zoom'>

/** Returns the first and last visible row and column of a plane; undefined if all of it is read. */
function seenOf(plane: Plane, look: Look): { readonly first: Sides; readonly last: Sides } | undefined {
  if (look.zoom === 1 || !isReadInParts(plane)) return undefined
  const geometry = geometryOf({ plane, rows: plane.y.length, columns: plane.x.length, from: [0, 0], steps: [1, 1] }, look)
  const cells = pixelCells(geometry, windowOf(geometry, look), FEW_COLUMNS, FEW_ROWS)
  const first: [number, number] = [Infinity, Infinity]
  const last: [number, number] = [-1, -1]
  for (let y = 0; y < FEW_ROWS; y++)
    for (let x = 0; x < FEW_COLUMNS; x++)
      for (const [side, at] of [cells.rowOf[y]!, columnOfPixel(cells, x, y)].entries()) {
        if (at < 0) continue
        first[side] = Math.min(first[side]!, at)
        last[side] = Math.max(last[side]!, at)
      }
  return last[0] < 0 || last[1] < 0 ? undefined : { first, last }
}

/** Returns the region of a plane that contains the visible cells. */
export function regionSeen(plane: Plane, look: Look): Region {
  const seen = seenOf(plane, look)
  return seen === undefined ? wholeRegion(plane) : regionAround(plane, seen.first, seen.last)
}

/** Whether cells in memory include all visible ones, at the resolution that would be read. */
export function isAllSeen(cells: PlaneCells, look: Look): boolean {
  const { plane, from, steps, rows, columns } = cells
  const seen = seenOf(plane, look)
  const wanted = seen === undefined ? wholeRegion(plane) : regionAround(plane, seen.first, seen.last)
  const first = seen?.first ?? [0, 0]
  const last = seen?.last ?? [plane.y.length - 1, plane.x.length - 1]
  return [rows, columns].every((count, side) => {
    const end = from[side]! + count * steps[side]!
    return steps[side]! <= wanted.steps[side]! && from[side]! <= first[side]! && end > last[side]!
  })
}
