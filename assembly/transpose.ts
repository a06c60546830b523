/**
 * Transposition of a plane.
 *
 * Contract: element (i, j), i < n, j < m, goes from `src + i * srcRow + j * size` to
 * `dst + j * dstRow + i * size`.
 *
 * Why it is fast: square tiles are loaded row by row, transposed in registers by rounds of interleaving, and
 * stored row by row. Each round pairs row k with row k + tile/2; after log2(tile) rounds, rows have become
 * columns. Bands of destination rows are as high as a cache line of the source is long, so every line is read
 * once and written whole.
 */
import { copyApart } from './copy-apart'

// @ts-ignore: decorator
@inline
function low<T>(a: v128, b: v128): v128 {
  if (sizeof<T>() == 1) return i8x16.shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
  if (sizeof<T>() == 2) return i16x8.shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
  if (sizeof<T>() == 4) return i32x4.shuffle(a, b, 0, 4, 1, 5)
  return i64x2.shuffle(a, b, 0, 2)
}

// @ts-ignore: decorator
@inline
function high<T>(a: v128, b: v128): v128 {
  if (sizeof<T>() == 1) return i8x16.shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
  if (sizeof<T>() == 2) return i16x8.shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
  if (sizeof<T>() == 4) return i32x4.shuffle(a, b, 2, 6, 3, 7)
  return i64x2.shuffle(a, b, 1, 3)
}

export function transpose<T>(src: usize, srcRow: i32, dst: usize, dstRow: i32, n: u32, m: u32): void {
  const tile: u32 = sizeof<T>() == 8 ? 2 : sizeof<T>() == 4 ? 4 : 8
  const band: u32 = sizeof<T>() == 8 ? 8 : 16
  const wide = n - (n % tile)
  const tall = m - (m % tile)
  for (let top: u32 = 0; top < tall; top += band) {
    const bottom = min(top + band, tall)
    for (let i: u32 = 0; i < wide; i += tile) {
      for (let j = top; j < bottom; j += tile) {
        const from = src + i * srcRow + j * sizeof<T>()
        const to = dst + j * dstRow + i * sizeof<T>()
        if (sizeof<T>() == 8) turn2(from, srcRow, to, dstRow)
        else if (sizeof<T>() == 4) turn4(from, srcRow, to, dstRow)
        else if (sizeof<T>() == 2) turn8(from, srcRow, to, dstRow)
        else turnBytes(from, srcRow, to, dstRow)
      }
    }
  }
  // The margins: the rest of each row, then the rows below the last tile.
  const right = <usize>wide * sizeof<T>()
  for (let j: u32 = 0; j < tall && wide < n; j++) {
    copyApart<T>(src + wide * srcRow + j * sizeof<T>(), srcRow, dst + j * dstRow + right, sizeof<T>(), n - wide)
  }
  for (let j = tall; j < m; j++) copyApart<T>(src + j * sizeof<T>(), srcRow, dst + j * dstRow, sizeof<T>(), n)
}

// @ts-ignore: decorator
@inline
function turn2(src: usize, srcRow: i32, dst: usize, dstRow: i32): void {
  const a = v128.load(src)
  const b = v128.load(src + srcRow)
  v128.store(dst, low<u64>(a, b))
  v128.store(dst + dstRow, high<u64>(a, b))
}

// @ts-ignore: decorator
@inline
function turn4(src: usize, srcRow: i32, dst: usize, dstRow: i32): void {
  const a = v128.load(src)
  const b = v128.load(src + srcRow)
  src += srcRow << 1
  const c = v128.load(src)
  const d = v128.load(src + srcRow)
  const acLow = low<u32>(a, c)
  const bdLow = low<u32>(b, d)
  const acHigh = high<u32>(a, c)
  const bdHigh = high<u32>(b, d)
  v128.store(dst, low<u32>(acLow, bdLow))
  v128.store(dst + dstRow, high<u32>(acLow, bdLow))
  dst += dstRow << 1
  v128.store(dst, low<u32>(acHigh, bdHigh))
  v128.store(dst + dstRow, high<u32>(acHigh, bdHigh))
}

// @ts-ignore: decorator
@inline
function turn8(src: usize, srcRow: i32, dst: usize, dstRow: i32): void {
  const half = srcRow << 2
  let a = v128.load(src)
  let e = v128.load(src + half)
  src += srcRow
  let b = v128.load(src)
  let f = v128.load(src + half)
  src += srcRow
  let c = v128.load(src)
  let g = v128.load(src + half)
  src += srcRow
  let d = v128.load(src)
  let h = v128.load(src + half)
  // round 1: rows 4 apart
  const ae0 = low<u16>(a, e)
  const ae1 = high<u16>(a, e)
  const bf0 = low<u16>(b, f)
  const bf1 = high<u16>(b, f)
  const cg0 = low<u16>(c, g)
  const cg1 = high<u16>(c, g)
  const dh0 = low<u16>(d, h)
  const dh1 = high<u16>(d, h)
  // round 2: rows 2 apart
  a = low<u16>(ae0, cg0)
  b = high<u16>(ae0, cg0)
  c = low<u16>(ae1, cg1)
  d = high<u16>(ae1, cg1)
  e = low<u16>(bf0, dh0)
  f = high<u16>(bf0, dh0)
  g = low<u16>(bf1, dh1)
  h = high<u16>(bf1, dh1)
  // round 3: neighbours
  v128.store(dst, low<u16>(a, e))
  v128.store(dst + dstRow, high<u16>(a, e))
  dst += dstRow << 1
  v128.store(dst, low<u16>(b, f))
  v128.store(dst + dstRow, high<u16>(b, f))
  dst += dstRow << 1
  v128.store(dst, low<u16>(c, g))
  v128.store(dst + dstRow, high<u16>(c, g))
  dst += dstRow << 1
  v128.store(dst, low<u16>(d, h))
  v128.store(dst + dstRow, high<u16>(d, h))
}

/** Transposes 8 x 8 bytes: half vectors in and out. */
// @ts-ignore: decorator
@inline
function turnBytes(src: usize, srcRow: i32, dst: usize, dstRow: i32): void {
  const half = srcRow << 2
  const ae = low<u8>(v128.load64_zero(src), v128.load64_zero(src + half))
  src += srcRow
  const bf = low<u8>(v128.load64_zero(src), v128.load64_zero(src + half))
  src += srcRow
  const cg = low<u8>(v128.load64_zero(src), v128.load64_zero(src + half))
  src += srcRow
  const dh = low<u8>(v128.load64_zero(src), v128.load64_zero(src + half))
  const aceg0 = low<u8>(ae, cg)
  const aceg1 = high<u8>(ae, cg)
  const bdfh0 = low<u8>(bf, dh)
  const bdfh1 = high<u8>(bf, dh)
  dst = storeHalves(dst, dstRow, low<u8>(aceg0, bdfh0))
  dst = storeHalves(dst, dstRow, high<u8>(aceg0, bdfh0))
  dst = storeHalves(dst, dstRow, low<u8>(aceg1, bdfh1))
  storeHalves(dst, dstRow, high<u8>(aceg1, bdfh1))
}

// @ts-ignore: decorator
@inline
function storeHalves(dst: usize, dstRow: i32, two: v128): usize {
  v128.store64_lane(dst, two, 0)
  v128.store64_lane(dst + dstRow, two, 1)
  return dst + (dstRow << 1)
}
