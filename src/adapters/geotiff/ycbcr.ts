// Converts YCbCr to RGB with the arithmetic of libjpeg. Subsampled colours are interpolated with weights 3
// and 1, and products are rounded in fixed point.

/** A plane of bytes, `width` times `height` of them. */
export interface Plane {
  readonly bytes: Uint8Array
  /** Bytes from a row to the next. */
  readonly stride: number
  readonly width: number
  readonly height: number
}

const BITS = 16
const HALF = 1 << (BITS - 1)
const fixed = (factor: number): number => Math.round(factor * (1 << BITS))
const [R_CR, B_CB, G_CR, G_CB] = [fixed(1.402), fixed(1.772), fixed(0.71414), fixed(0.34414)]

/**
 * Returns RGB, pixel by pixel, from luma and colours.
 * @param shares pixels for a sample of the colours along x and y: 1 or 2
 */
export function ycbcrToRgb(luma: Plane, cb: Plane, cr: Plane, shares: readonly [number, number]): Uint8Array {
  const { width, height } = luma
  // Clamps when it is written.
  const rgb = new Uint8ClampedArray(3 * width * height)
  const [blue, red] = [new Uint8Array(width), new Uint8Array(width)]
  for (let y = 0, i = 0; y < height; y++) {
    putRow(cb, shares, y, blue)
    putRow(cr, shares, y, red)
    for (let x = 0, at = y * luma.stride; x < width; x++, i += 3) {
      const value = luma.bytes[at + x]!
      const [u, v] = [blue[x]! - 128, red[x]! - 128]
      rgb[i] = value + ((R_CR * v + HALF) >> BITS)
      rgb[i + 1] = value + ((HALF - G_CB * u - G_CR * v) >> BITS)
      rgb[i + 2] = value + ((B_CB * u + HALF) >> BITS)
    }
  }
  return new Uint8Array(rgb.buffer)
}

/** Puts the colours of row `y` of a picture into `row`, interpolated to its width. */
function putRow(plane: Plane, [wide, tall]: readonly [number, number], y: number, row: Uint8Array): void {
  const { bytes, stride } = plane
  const isTall = tall === 1
  const near = (isTall ? y : y >> 1) * stride
  if (wide === 1) {
    row.set(bytes.subarray(near, near + row.length))
    return
  }
  const last = plane.width - 1
  // Planes of one or two samples are repeated, not interpolated.
  if (last < 2) {
    for (let x = 0; x < row.length; x++) row[x] = bytes[near + (x >> 1)]!
    return
  }
  if (isTall) {
    row[0] = bytes[near]!
    row[2 * last + 1] = bytes[near + last]!
    for (let x = 0; x <= last; x++) {
      const value = 3 * bytes[near + x]!
      if (x > 0) row[2 * x] = (value + bytes[near + x - 1]! + 1) >> 2
      if (x < last) row[2 * x + 1] = (value + bytes[near + x + 1]! + 2) >> 2
    }
    return
  }
  const other = Math.min(Math.max((y >> 1) + (y % 2 === 0 ? -1 : 1), 0), plane.height - 1) * stride
  const sum = (x: number): number => 3 * bytes[near + x]! + bytes[other + x]!
  row[0] = (4 * sum(0) + 8) >> 4
  row[2 * last + 1] = (4 * sum(last) + 7) >> 4
  for (let x = 0; x <= last; x++) {
    const value = 3 * sum(x)
    if (x > 0) row[2 * x] = (value + sum(x - 1) + 8) >> 4
    if (x < last) row[2 * x + 1] = (value + sum(x + 1) + 7) >> 4
  }
}
