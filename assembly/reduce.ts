/**
 * Reduction of a strided n-d box into accumulator cells: sum, minimum, maximum, sum of squares about a shift.
 *
 * Contract: element (i, j, ...) of the box is reduced into the cell at the sum of index * accStride; reduced
 * axes have stride 0 there. `counts` is 0 or points to f64 cells at the same positions, to which the number
 * of taken elements is added. Skipped are elements equal to `fill` (IEEE ==: -0 is +0, NaN equals nothing),
 * NaNs, or both. Cells keep the results of earlier calls:
 *
 *     sum, integers up to 32 bits   i64, exact
 *     sum, 64-bit integers          i64 sum of low halves (unsigned) | i64 sum of high halves (signed for
 *                                   int64, unsigned for uint64)
 *     sum, floats                   f64
 *     minimum, maximum              the element type, set to the identity by the caller; a taken NaN stays
 *     squares                       f64
 *
 * For squares, `counts` points to the shifts instead: f64 at the same positions, which do not change. `fill`
 * then points to an f64, except for 64-bit integers.
 *
 * Order of float sums: a run of elements of one cell is cut into blocks of 8 KiB. A block is added up in
 * eight interleaved sums (f64 in four of them if a group of 64 bytes contains skipped elements). Blocks are
 * added pairwise, as in a balanced tree; then the run is added to the cell. So the error of a sum is at most
 * 268 + log2(blocks) roundings, each half a unit in the last place of the sum of magnitudes. Elements that
 * are kept along the innermost axis are added to their cells one after another. Squares of a run are added up
 * in blocks of 32768: 64 to each of 512 sums, these one after another, then the block to the cell.
 *
 * Why it is fast: axes are merged and sorted so that the source is read front to back (axes.ts), and the
 * innermost one is either reduced (sum.ts, extremes.ts: runs of vectors) or kept (accumulate.ts, squares.ts:
 * vectors into cells). Other layouts are brought into that form block by block, in a scratch that stays in
 * the first-level cache.
 */
import { addCounts, addFloats, addInts, addLeast, addWides } from './accumulate'
import { advance, axisLength, leadShift, leadStep, normalise, otherShift, otherStep, swapAxes } from './axes'
import { copyRow } from './copy-apart'
import { copyRows } from './copy-rows'
import { leastAs } from './extremes'
import {
  bytesOf,
  flipBits,
  isUnsigned,
  kindOf,
  padGroup,
  passed,
  prepare,
  resetPassed,
  setFlip,
  signBits,
  SKIP_FILL,
  splat,
} from './lanes'
import { addSquares } from './squares'
import { sumFloats, sumInts, sumWide } from './sum'

const SUM: i32 = 0
const MAX: i32 = 2
const SQUARES: i32 = 3

const BLOCK: u32 = 8192 // bytes of elements in the scratch, and in a block of a float sum
const LONG_BLOCK: u32 = 65536 // bytes of elements handed to one kernel call at most
const CELLS: u32 = 512 // cells in the scratch
const FOLDED: u32 = 64 // elements of a run added to each of these, where it is folded onto them

// Margins for the last, partial group.
const ELEMENT_SCRATCH: usize = memory.data(8320, 16)
const CELL_SCRATCH: usize = memory.data(8448, 16)
const COUNT_SCRATCH: usize = memory.data(4224, 16)
const ZERO: usize = memory.data(16, 16) // as read behind it
const PARTIAL_SUMS: usize = memory.data(320, 16)

/** An innermost axis shorter than this is swapped for a longer one. */
const SHORT: u32 = 16

// State of the reduction under way.
let kind: i32 = 0
let summing: bool = false
let squaring: bool = false
let unsigned: bool = false
let skipping: bool = false
let elementBytes: u32 = 0
let cellBytes: u32 = 0

export function reduce(
  op: i32,
  dtype: i32,
  skip: i32,
  fill: usize,
  rank: i32,
  shape: usize,
  src: usize,
  srcStride: usize,
  acc: usize,
  accStride: usize,
  counts: usize,
): void {
  kind = kindOf(dtype)
  summing = op == SUM
  squaring = op == SQUARES
  unsigned = isUnsigned(dtype)
  skipping = kind > 3 ? skip != 0 : (skip & SKIP_FILL) != 0
  elementBytes = bytesOf(kind)
  cellBytes = squaring ? 8 : summing ? (kind == 3 ? 16 : 8) : elementBytes
  prepare(squaring && kind != 3 ? 5 : kind, skip, fill)
  setFlip(flipOf(op))

  const axes = normalise(rank, shape, srcStride, elementBytes, accStride, 1)
  if (axes < 0) return
  preferLongRuns(axes)
  const length = axisLength(0)
  const from = leadStep(0)
  const step = otherStep(0)
  // A kept axis and a reduced one around it are processed together: cells are accumulated completely while
  // they are in the cache.
  const plane = step != 0 && otherStep(1) == 0
  do {
    const cell = acc + otherShift * cellBytes
    const count: usize = counts == 0 ? 0 : counts + (otherShift << 3)
    if (step == 0 && !squaring) reduceRun(src + leadShift, from, length, cell, count)
    else keepRun(src + leadShift, from, length, cell, count, step, plane ? axisLength(1) : 1)
  } while (advance(plane ? 2 : 1, axes))
}

/**
 * Returns the bits that the kernels flip. For sums: 64-bit integers are split into unsigned halves, all
 * others are signed. For extremes: signed minimum finds the result.
 */
function flipOf(op: i32): v128 {
  const sign = signBits(kind)
  const none = i64x2.splat(0)
  if (op == SUM) return kind > 3 ? none : unsigned == (kind != 3) ? sign : none
  if (kind > 3) return op == MAX ? sign : none
  const order = unsigned ? sign : none
  return op == MAX ? v128.not(order) : order
}

function preferLongRuns(axes: i32): void {
  let longest = 0
  for (let axis = 1; axis < axes; axis++) {
    if (axisLength(axis) > axisLength(longest)) longest = axis
  }
  if (longest > 0 && axisLength(0) < SHORT && axisLength(longest) >= 4 * SHORT) swapAxes(0, longest)
}

/** Reduces `n` elements that are `from` bytes apart into one cell. */
function reduceRun(src: usize, from: i32, n: u32, cell: usize, count: usize): void {
  const dense = from == elementBytes
  const pairwise = summing && kind > 3
  const most = (dense && !pairwise ? LONG_BLOCK : BLOCK) / elementBytes
  let blocks: u32 = 0
  let depth: usize = PARTIAL_SUMS
  while (n > 0) {
    const part = min(n, most)
    let at = src
    if (!dense) {
      at = ELEMENT_SCRATCH
      move(elementBytes, src, from, at, elementBytes, part)
    }
    const taken = reduceBlock(at, part, pairwise ? depth : cell)
    if (pairwise) {
      let sum = load<f64>(depth)
      for (let index = blocks++; index & 1; index >>= 1) {
        depth -= 8
        sum = load<f64>(depth) + sum
      }
      store<f64>(depth, sum)
      depth += 8
    }
    if (count != 0) store<f64>(count, load<f64>(count) + <f64>taken)
    src += part * from
    n -= part
  }
  if (!pairwise) return
  depth -= 8
  let total = load<f64>(depth)
  while (depth > PARTIAL_SUMS) {
    depth -= 8
    total = load<f64>(depth) + total
  }
  store<f64>(cell, load<f64>(cell) + total)
}

/** Reduces `n` contiguous elements; returns the number of elements taken. */
function reduceBlock(at: usize, n: u32, cell: usize): u32 {
  const bytes = n * elementBytes
  const rest = bytes & 63
  const whole = bytes - rest
  resetPassed()
  if (rest != 0) padGroup(at + whole, rest, elementBytes, skipping, summing ? flipBits() : splat(elementBytes, cell))
  reduceGroups(at, whole, rest != 0, cell)
  const taken = n - passed
  if (summing && kind < 4) {
    // Each element was added with its sign bit flipped.
    if (kind == 3) store<i64>(cell, load<i64>(cell, 8) - (unsigned ? 0 : <i64>taken << 31), 8)
    else if (unsigned) store<i64>(cell, load<i64>(cell) + (<i64>taken << (8 * elementBytes - 1)))
  }
  return taken
}

/** Reduces whole groups; `rest` says whether the padded group follows. */
function reduceGroups(at: usize, bytes: u32, rest: bool, cell: usize): void {
  if (!summing) leastAs(kind, at, bytes, rest, skipping, cell)
  else if (kind == 0) sumInts<i8>(at, bytes, rest, skipping, cell)
  else if (kind == 1) sumInts<i16>(at, bytes, rest, skipping, cell)
  else if (kind == 2) sumInts<i32>(at, bytes, rest, skipping, cell)
  else if (kind == 3) sumWide(at, bytes, rest, skipping, cell)
  else if (kind == 4) sumFloats<f32>(at, bytes, rest, skipping, cell)
  else sumFloats<f64>(at, bytes, rest, skipping, cell)
}

/**
 * Accumulates `rows` rows (axis 1) of `n` elements `from` bytes apart into `n` cells, `step` cells apart. A
 * step of 0 is a run that is reduced to one cell: it is folded piece by piece, as if the pieces were rows,
 * into the cells of the scratch, which are then added up.
 */
function keepRun(src: usize, from: i32, n: u32, cell: usize, count: usize, step: i32, rows: u32): void {
  const jump = step * cellBytes
  const folds = step == 0
  let rowStep = leadStep(1)
  while (n > 0) {
    const direct = step == 1 && n >= 16
    const part = direct ? min(n & ~15, CELLS) : min(n, CELLS)
    const cells = direct ? cell : CELL_SCRATCH
    const counts = direct || count == 0 ? count : COUNT_SCRATCH
    if (folds) {
      rows = min(n / part, FOLDED)
      rowStep = part * from
    }
    if (!direct) {
      move(cellBytes, folds ? ZERO : cell, jump, cells, cellBytes, part)
      if (count != 0) move(8, count, step << 3, counts, 8, part)
    }
    for (let row: u32 = 0; row < rows; row++) {
      let at = src + row * rowStep
      if (from != elementBytes || part & 15) {
        move(elementBytes, at, from, ELEMENT_SCRATCH, elementBytes, part)
        at = ELEMENT_SCRATCH
      }
      accumulate(at, (part + 15) & ~15, cells, counts)
    }
    if (folds) {
      addUp(cells, part, cell)
      src += (rows - 1) * rowStep
      n -= (rows - 1) * part
    } else if (!direct) {
      move(cellBytes, cells, cellBytes, cell, jump, part)
      if (count != 0) move(8, counts, 8, count, step << 3, part)
    }
    src += part * from
    cell += part * jump
    if (count != 0) count += part * (step << 3)
    n -= part
  }
}

function addUp(at: usize, n: u32, cell: usize): void {
  let sum: f64 = 0
  for (; n > 0; n--, at += 8) sum += load<f64>(at)
  store<f64>(cell, load<f64>(cell) + sum)
}

function accumulate(at: usize, n: u32, cells: usize, counts: usize): void {
  if (kind == 0) accumulateInts<i8>(at, n, cells, counts, unsigned ? 0xff : -1)
  else if (kind == 1) accumulateInts<i16>(at, n, cells, counts, unsigned ? 0xffff : -1)
  else if (kind == 2) accumulateInts<i32>(at, n, cells, counts, unsigned ? 0xffffffff : -1)
  else if (kind == 3) {
    if (squaring) return addSquares<i64>(at, n, cells, counts, unsigned)
    if (!summing) addLeast<i64>(at, n, cells)
    else addWides(at, n, cells, unsigned)
    if (counts != 0) addCounts<i64>(at, n, counts)
  } else if (kind == 4) accumulateFloats<f32>(at, n, cells, counts)
  else accumulateFloats<f64>(at, n, cells, counts)
}

// @ts-ignore: decorator
@inline
function accumulateInts<T>(at: usize, n: u32, cells: usize, counts: usize, bits: i64): void {
  if (squaring) return addSquares<T>(at, n, cells, counts, unsigned)
  if (summing) addInts<T>(at, n, cells, bits)
  else addLeast<T>(at, n, cells)
  if (counts != 0) addCounts<T>(at, n, counts)
}

// @ts-ignore: decorator
@inline
function accumulateFloats<T>(at: usize, n: u32, cells: usize, counts: usize): void {
  if (squaring) return addSquares<T>(at, n, cells, counts, unsigned)
  if (summing) addFloats<T>(at, n, cells)
  else addLeast<T>(at, n, cells)
  if (counts != 0) addCounts<T>(at, n, counts)
}

/** Copies `n` elements or cells of `bytes` bytes between rows with steps `from` and `to`, in bytes. */
function move(bytes: u32, src: usize, from: i32, dst: usize, to: i32, n: u32): void {
  if (from == bytes && to == bytes) copyRows(src, 0, dst, 0, n * bytes, 1)
  else if (bytes == 16) copyRows(src, from, dst, to, bytes, n)
  else copyRow(bytes, src, from, dst, to, n)
}
