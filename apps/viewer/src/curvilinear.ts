// Finds places of the globe on grids with two-dimensional latitudes and longitudes.

/** Returns a position as fractions of the rows and columns of a grid; undefined outside. */
export type OnGrid = (longitude: number, latitude: number) => readonly [right: number, down: number] | undefined

/** Places of the nodes of a grid, row by row. Positions of rows and columns are fractions of the grid. */
export interface Nodes {
  readonly latitudes: ArrayLike<number>
  readonly longitudes: ArrayLike<number>
  readonly rows: readonly number[]
  readonly columns: readonly number[]
}

/** Most entries of cells in buckets. Grids of places that belong together have far fewer. */
const MOST_ENTRIES = 2 ** 20
/** Largest side of a bucket in degrees, and buckets along the latitudes of a grid. */
const [WIDEST, MOST_BUCKETS] = [2, 64]

const turned = (longitude: number, around: number): number => longitude - 360 * Math.round((longitude - around) / 360)

/** Returns the number of buckets around the globe, so that each bucket has few cells. */
function bucketsAround(latitudes: ArrayLike<number>): number {
  let [south, north] = [90, -90]
  for (let i = 0; i < latitudes.length; i++) {
    const latitude = latitudes[i]!
    if (latitude < south) south = latitude
    if (latitude > north) north = latitude
  }
  return Math.ceil(360 / Math.min(WIDEST, Math.max(1e-3, (north - south) / MOST_BUCKETS)))
}

/**
 * Returns a function that finds places. It splits each cell of four nodes into two triangles, and
 * interpolates in them. Cells with missing nodes, and cells wider than 90 degrees, contain no place.
 */
export function gridOf({ latitudes, longitudes, rows, columns }: Nodes): OnGrid {
  const buckets = new Map<number, number[]>()
  const width = columns.length
  const around = bucketsAround(latitudes)
  const [rowOf, columnOf] = [90, 180].map((shift) => (degrees: number) => Math.floor(((degrees + shift) * around) / 360)) as [
    (latitude: number) => number,
    (longitude: number) => number,
  ]
  const bucketAt = (down: number, right: number): number => down * around + (((right % around) + around) % around)
  let entries = 0
  /** Returns longitude and latitude of the nodes of a cell, within half a turn of the first one. */
  const cornersOf = (cell: number): [lon: number, lat: number][] =>
    [cell, cell + 1, cell + width, cell + width + 1].map((node) => [
      turned(longitudes[node]!, longitudes[cell]!),
      latitudes[node]!,
    ])
  for (let row = 0; row + 1 < rows.length; row++)
    for (let column = 0; column + 1 < width; column++) {
      const cell = row * width + column
      const corners = cornersOf(cell)
      const [lons, lats] = [corners.map(([lon]) => lon), corners.map(([, lat]) => lat)]
      const [west, east, south, north] = [Math.min(...lons), Math.max(...lons), Math.min(...lats), Math.max(...lats)]
      if (!(east - west < 90 && south >= -90 && north <= 90) || entries > MOST_ENTRIES) continue
      for (let down = rowOf(south); down <= rowOf(north); down++)
        for (let right = columnOf(west); right <= columnOf(east); right++) {
          entries++
          const bucket = bucketAt(down, right)
          const cells = buckets.get(bucket)
          if (cells === undefined) buckets.set(bucket, [cell])
          else cells.push(cell)
        }
    }
  return (longitude, latitude) => {
    for (const cell of buckets.get(bucketAt(rowOf(latitude), columnOf(longitude))) ?? []) {
      const corners = cornersOf(cell)
      const lon = turned(longitude, corners[0]![0])
      const [row, column] = [Math.floor(cell / width), cell % width]
      const inside = withinTriangle(corners[0]!, corners[1]!, corners[2]!, lon, latitude)
      const beyond = inside ?? withinTriangle(corners[3]!, corners[2]!, corners[1]!, lon, latitude)
      if (beyond === undefined) continue
      const [right, down] = inside ?? [1 - beyond[0], 1 - beyond[1]]
      return [
        columns[column]! + right * (columns[column + 1]! - columns[column]!),
        rows[row]! + down * (rows[row + 1]! - rows[row]!),
      ]
    }
    return undefined
  }
}

type Point = readonly [number, number]

/** Returns the parts of a point along two sides from their corner; undefined outside the triangle. */
function withinTriangle(corner: Point, first: Point, second: Point, x: number, y: number): Point | undefined {
  const [ax, ay] = [first[0] - corner[0], first[1] - corner[1]]
  const [bx, by] = [second[0] - corner[0], second[1] - corner[1]]
  const area = ax * by - ay * bx
  const [px, py] = [x - corner[0], y - corner[1]]
  const along = (px * by - py * bx) / area
  const across = (ax * py - ay * px) / area
  return along >= 0 && across >= 0 && along + across <= 1 ? [along, across] : undefined
}
