// A plane of numbers as a picture: one pixel an element, stretched by the style sheet.

/** Dark to light, so that the order of colours is the order of values for every eye. */
const STOPS = [
  [44, 17, 95],
  [46, 77, 138],
  [32, 127, 141],
  [50, 171, 121],
  [142, 207, 77],
  [249, 231, 85],
]

/** Red, green and blue of a position from 0 to 1. */
export function colourAt(position) {
  const at = Math.min(1, Math.max(0, position)) * (STOPS.length - 1)
  const below = Math.min(STOPS.length - 2, Math.floor(at))
  return STOPS[below].map((from, i) => Math.round(from + (STOPS[below + 1][i] - from) * (at - below)))
}

/** The least and the greatest of the values, without those that are none. */
export function extentOf(values) {
  let [min, max] = [Infinity, -Infinity]
  for (const value of values) {
    if (value < min) min = value
    if (value > max) max = value
  }
  return { min, max }
}

/**
 * @param plane `values` row by row, NaN where there is none, which stays transparent; `shape` is rows and columns; `upward` draws the
 *   first row at the bottom
 */
export function drawPlane(canvas, { values, shape: [rows, columns], upward }, { min, max }) {
  canvas.width = columns
  canvas.height = rows
  const image = new ImageData(columns, rows)
  const scale = max > min ? 1 / (max - min) : 0
  for (const [i, value] of values.entries()) {
    if (Number.isNaN(value)) continue
    const row = Math.floor(i / columns)
    const pixel = (upward ? rows - 1 - row : row) * columns + (i % columns)
    image.data.set([...colourAt((value - min) * scale), 255], 4 * pixel)
  }
  canvas.getContext('2d').putImageData(image, 0, 0)
}

/** All colours, from left to right. */
export function drawRamp(canvas) {
  const values = Float64Array.from({ length: canvas.width }, (_, i) => i)
  drawPlane(canvas, { values, shape: [1, canvas.width] }, { min: 0, max: canvas.width - 1 })
}

/** Row and column of the element that is drawn under the pointer. */
export function cellAt(canvas, { shape: [rows, columns], upward }, { offsetX, offsetY }) {
  const place = (offset, size, count) => Math.min(count - 1, Math.max(0, Math.floor((offset / size) * count)))
  const row = place(offsetY, canvas.clientHeight, rows)
  return { row: upward ? rows - 1 - row : row, column: place(offsetX, canvas.clientWidth, columns) }
}
