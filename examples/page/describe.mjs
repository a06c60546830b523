// Arrays in words.

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

/** The coordinates of an axis, where the container has an array of its name and length. */
export async function readCoordinates(file, array, axis) {
  const name = array.dimensionNames?.[axis]
  if (!name || !file.arrays().includes(name)) return { name: name || `axis ${axis}`, at: String }
  const found = file.array(name)
  if (found.shape.length !== 1 || found.shape[0] !== array.shape[axis] || !isNumeric(found)) return { name, at: String }
  const { data } = await found.get()
  const units = found.attrs.get('units') ?? ''
  const upward = found.attrs.get('standard_name') === 'latitude' && data.length > 1 && data[data.length - 1] > data[0]
  return { name, at: (index) => `${show(data[index])} ${units}`.trim(), upward }
}
