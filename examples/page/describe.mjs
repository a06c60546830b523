// Arrays in words.
import { scaled } from 'hyperslab'

const TEXT_LENGTH = 200

/** A number in as many digits as it has to say, anything else as text of one line. */
export function show(value) {
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

const typeOf = ({ dtype }) => (typeof dtype === 'string' ? dtype : JSON.stringify(dtype))

export const isNumeric = ({ dtype }) => typeof dtype === 'string' && dtype !== 'string' && dtype !== 'binary'

/** Numbers, which can be packed; of the others that are drawn no attribute says how. */
export const isNumber = (array) => isNumeric(array) && array.dtype !== 'bool' && array.dtype !== 'timestamp_ns'

/** Type and shape in one line. */
export const summarize = (array) => `${typeOf(array)} ${array.shape.join(' × ') || 'scalar'}`

/** Everything there is to know of an array without reading it, as pairs of texts. */
export function describeArray(array) {
  const { chunks, compressedBytes, uncompressedBytes } = array.storage()
  const axes = array.shape.map((length, axis) => `${array.dimensionNames?.[axis] || `axis ${axis}`} ${length}`)
  return [
    ['type', typeOf(array)],
    ['shape', axes.join(', ') || 'scalar'],
    ['chunks', `${array.chunks.chunkShape.join(' × ') || '1'} each, ${chunks} of ${array.chunks.count} written`],
    ['stored', `${showBytes(compressedBytes)} of ${showBytes(uncompressedBytes)}`],
    ...(array.fillValue === undefined || array.fillValue === null ? [] : [['fill value', show(array.fillValue)]]),
    ...Array.from(array.attrs, ([name, value]) => [name, show(value)]),
  ]
}

/** Units, standard name and axis of an array; some writers pad text with NULs. */
function meaningOf({ attrs }) {
  const [units, standardName, axis] = ['units', 'standard_name', 'axis'].map((name) =>
    String(attrs.get(name) ?? '')
      .replace(/\0+$/, '')
      .trim(),
  )
  const latitude = standardName === 'latitude' || /^degrees?_?n(orth)?$/i.test(units)
  const longitude = standardName === 'longitude' || /^degrees?_?e(ast)?$/i.test(units)
  const upward = latitude || /^y$/i.test(axis) || /^(grid_latitude|projection_y_coordinate)$/.test(standardName)
  return { units, upward, tells: latitude || longitude || axis !== '' }
}

/** The array that says where the positions of an axis lie: one along its dimension that tells a direction, or that is named like it. */
function findCoordinate(file, array, axis) {
  const dimension = array.dimensionNames?.[axis]
  if (!dimension) return undefined
  const along = file
    .arrays()
    .map((name) => file.array(name))
    .filter((each) => each.shape.length === 1 && each.shape[0] === array.shape[axis] && isNumber(each))
    .filter((each) => each.name === dimension || each.dimensionNames?.[0] === dimension)
  const rank = (each) => 2 * Number(meaningOf(each).tells) + Number(each.name === dimension)
  return along.filter((each) => rank(each) > 0).sort((a, b) => rank(b) - rank(a))[0]
}

/** What is said of the positions of an axis; `upward` where greater ones belong further up, as to the north. */
export async function readCoordinates(file, array, axis) {
  const name = array.dimensionNames?.[axis] || `axis ${axis}`
  const found = findCoordinate(file, array, axis)
  if (found === undefined) return { name, at: String }
  const { data } = await scaled(found).get()
  const { units, upward } = meaningOf(found)
  return {
    name,
    at: (index) => `${show(data[index])} ${units}`.trim(),
    upward: upward && data.length > 1 && data[data.length - 1] > data[0],
  }
}
