import { readFileSync } from 'node:fs'

/*
 * What the demo's results are measured against: the variables of a classic NetCDF file, read with a DataView and nothing else.
 *
 *   'CDF' version | numrecs | dimensions | attributes | variables | data
 *
 * Every list is a tag, a count and its items; names and values are padded to 4 bytes. Everything is big-endian.
 */

const TYPE_BYTES = [0, 1, 1, 2, 4, 4, 8]
const READERS = { 3: 'getInt16', 4: 'getInt32', 5: 'getFloat32', 6: 'getFloat64' }

/** @returns {Map<string, { shape: number[], values: Float64Array }>} the numeric variables by name */
export function readVariables(path) {
  const file = readFileSync(path)
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength)
  let at = 3
  const wideOffsets = view.getUint8(at++) === 2
  const uint32 = () => {
    at += 4
    return view.getUint32(at - 4)
  }
  const padded = (bytes) => {
    at += Math.ceil(bytes / 4) * 4
  }
  const name = () => {
    const length = uint32()
    const text = file.toString('utf8', at, at + length)
    padded(length)
    return text
  }
  const list = (item) => {
    uint32()
    return Array.from({ length: uint32() }, item)
  }
  const attribute = () => {
    name()
    const type = uint32()
    padded(uint32() * TYPE_BYTES[type])
  }

  const records = uint32()
  const dimensions = list(() => ({ name: name(), length: uint32() }))
  list(attribute)
  const variables = list(() => {
    const own = name()
    const axes = Array.from({ length: uint32() }, uint32)
    list(attribute)
    const [type, bytes] = [uint32(), uint32()]
    if (wideOffsets) at += 4
    return { name: own, axes, type, bytes, start: uint32() }
  })
  // The length 0 marks the dimension that grows; its variables take turns, record by record.
  const grows = ({ axes }) => axes.length > 0 && dimensions[axes[0]].length === 0
  const recordBytes = variables.filter(grows).reduce((sum, { bytes }) => sum + bytes, 0)

  return new Map(
    variables
      .filter(({ type }) => type in READERS)
      .map((variable) => {
        const { axes, type, start } = variable
        const shape = axes.map((axis) => dimensions[axis].length || records)
        const values = new Float64Array(shape.reduce((size, length) => size * length, 1))
        const perRecord = grows(variable) ? values.length / records : values.length
        for (let i = 0; i < values.length; i++) {
          const record = Math.floor(i / perRecord)
          values[i] = view[READERS[type]](start + record * recordBytes + (i % perRecord) * TYPE_BYTES[type])
        }
        return [variable.name, { shape, values }]
      }),
  )
}

/** The mean over the last two axes of [time, lat, lon] values. */
export function monthlyMeans({ shape: [months], values }) {
  const size = values.length / months
  return Array.from({ length: months }, (_, month) => {
    let sum = 0
    for (let i = 0; i < size; i++) sum += values[month * size + i]
    return sum / size
  })
}

/** Value and place of the smallest and the largest element, the first one of equals. */
export function extremes({ shape: [, rows, columns], values }) {
  const place = (i) => ({
    value: values[i],
    month: Math.floor(i / (rows * columns)),
    row: Math.floor(i / columns) % rows,
    column: i % columns,
  })
  let [low, high] = [0, 0]
  for (let i = 1; i < values.length; i++) {
    if (values[i] < values[low]) low = i
    if (values[i] > values[high]) high = i
  }
  return { coldest: place(low), warmest: place(high) }
}

/** float32 values with `amount` added in a box of one month, rounded as float32 arithmetic rounds. */
export function corrected({ shape: [, rows, columns], values }, { month, row, column, amount }) {
  const result = Float32Array.from(values)
  for (let y = row.start; y < row.stop; y++) {
    for (let x = column.start; x < column.stop; x++) result[(month * rows + y) * columns + x] += amount
  }
  return result
}
