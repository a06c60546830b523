// Labelled arrays in words.

const TEXT_LENGTH = 200

/** A number in as many digits as it has to say, anything else as text of one line. */
export function show(value) {
  if (value instanceof Date) return value.toISOString().replace(/(:00)?\.000Z$/, '')
  if (typeof value === 'number') {
    const rounded = Number(value.toPrecision(7))
    return Math.abs(rounded) < 1e9 ? String(rounded) : rounded.toExponential()
  }
  const text = ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value, show).join(', ') : String(value)
  return text.length > TEXT_LENGTH ? `${text.slice(0, TEXT_LENGTH)}…` : text
}

export function showBytes(bytes) {
  if (bytes < 1024) return `${bytes} bytes`
  const power = Math.min(3, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1024 ** power).toFixed(1)} ${['KiB', 'MiB', 'GiB'][power - 1]}`
}

export const isNumeric = ({ dtype }) => typeof dtype === 'string' && dtype !== 'string' && dtype !== 'binary'

/** Type and shape in one line. */
export const summarize = ({ dtype, shape }) => `${dtype} ${shape.join(' × ') || 'scalar'}`

/** Everything there is to know of an array without reading it, as pairs of texts. */
export function describeArray({ dtype, dims, shape, attrs, encoding }) {
  const { dtype: storedAs, chunks, ...packing } = encoding
  return [
    ['type', dtype === storedAs ? dtype : `${dtype}, stored as ${storedAs}`],
    ['shape', dims.map((dim, axis) => `${dim} ${shape[axis]}`).join(', ') || 'scalar'],
    ['chunks', `${chunks.join(' × ') || '1'} each`],
    ...Object.entries({ ...attrs, ...packing }).map(([name, value]) => [name, show(value)]),
  ]
}

/** An element of an array: a time as a Date, what is missing as undefined. */
export function elementOf({ array, dtype }, element) {
  const { values, nan } = array.missing
  if (values.includes(element) || (nan && Number.isNaN(element))) return undefined
  return dtype === 'timestamp_ns' ? new Date(Number(element / 1_000_000n)) : element
}

/** Units, standard name and axis of an array; some writers pad text with NULs. */
function meaningOf({ name, attrs }) {
  const [units, standardName, axis] = ['units', 'standard_name', 'axis'].map((key) =>
    String(attrs[key] ?? '')
      .replace(/\0+$/, '')
      .trim(),
  )
  const latitude = standardName === 'latitude' || /^degrees?_?n(orth)?$/i.test(units) || /^lat(itude)?$/i.test(name)
  const longitude = standardName === 'longitude' || /^degrees?_?e(ast)?$/i.test(units)
  const upward = latitude || /^y$/i.test(axis) || /^(grid_latitude|projection_y_coordinate)$/.test(standardName)
  return { units, upward, tells: latitude || longitude || axis !== '' }
}

/** The array that says where the positions of a dimension lie: one along it that tells a direction, or that is named like it. */
function findCoordinate(dataset, dim) {
  const along = Object.values({ ...dataset.variables, ...dataset.coords }).filter(
    ({ dims }) => dims.length === 1 && dims[0] === dim,
  )
  const rank = (each) => 2 * Number(meaningOf(each).tells) + Number(each.name === dim)
  return along.filter((each) => isNumeric(each) && rank(each) > 0).sort((a, b) => rank(b) - rank(a))[0]
}

/** What is said of the positions of a dimension; `upward` where greater ones belong further up, as to the north. */
export async function readCoordinates(dataset, dim) {
  const found = findCoordinate(dataset, dim)
  if (found === undefined) return { name: dim, at: String }
  const values = await found.values()
  const { units, upward } = meaningOf(found)
  // Of times there are dates, of any calendar.
  const labels = /\bsince\b/.test(units) || found.dtype === 'timestamp_ns' ? (await found.dates()).map(showTime) : undefined
  return {
    name: dim,
    at: (index) => labels?.[index] ?? `${show(values[index])} ${units}`.trim(),
    upward: upward && values.length > 1 && values[values.length - 1] > values[0],
  }
}

const showTime = (time) => (time === null ? 'no time' : time instanceof Date ? show(time) : String(time))
