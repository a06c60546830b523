import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { checkValue } from '../../core/options.ts'
import { sizeOf, stridesOf } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { type Box, wholeBox } from '../../grid/range.ts'
import type { BlockSource } from '../source.ts'
import { checkFoldable } from './fold-kinds.ts'
import { layoutOf, type ReduceOptions } from './reduce.ts'
import { RegionCells } from './region-cells.ts'
import { type Row, RowReader, type Skipped, skippedOf } from './rows.ts'
import { addRows, foldRuns, oneCell, type Run } from './runs.ts'
import { type DividedReduction, unitsOf } from './units.ts'

/** Options of `quantile` and `median`. */
export interface QuantileOptions extends ReduceOptions {
  /** Largest memory for elements, 8 bytes each; default 256 MiB. */
  readonly maxBytes?: number
}

const MAX_BYTES = 256 * 2 ** 20

/** A number, or a tensor whose first axis follows the list of shares. */
type QuantileResult = number | Tensor<'float64'>

/** Whether the elements exceed the memory, so that they are counted by value. */
const isSketched = ({ shape }: BlockSource, { axis, maxBytes = MAX_BYTES }: QuantileOptions): boolean =>
  axis === undefined && 8 * sizeOf(shape) > maxBytes

function checkedList(q: number | ArrayLike<number>): readonly number[] {
  checkValue('quantile', 'q', q, 'number or list of numbers')
  const list = typeof q === 'number' ? [q] : Array.from(q)
  for (const each of list) {
    if (!(each >= 0 && each <= 1))
      throw new HyperslabError('InvalidArgumentError', `quantiles lie from 0 to 1, got ${each}`, { actual: each })
  }
  return list
}

/** Quantiles of the cells of a region: for each share, those of all cells in C order. */
export interface QuantileCells {
  readonly region: Box
  readonly values: Float64Array
}

/**
 * Divides a quantile. Elements that fit into memory are processed in units of whole columns of chunks, which
 * contain all elements of their cells. A larger whole array is sketched; the counts of a sketch do not depend
 * on the order of elements.
 */
export function divideQuantile(
  source: BlockSource,
  options: QuantileOptions,
  unitBytes: number,
  q: number | ArrayLike<number>,
): DividedReduction<SketchCounts, QuantileResult> | DividedReduction<QuantileCells, QuantileResult> {
  checkFoldable('quantile', source.dtype)
  const list = checkedList(q)
  return isSketched(source, options) ? divideSketch(source, options, unitBytes, q, list) : divideColumns(source, options, q, list)
}

function divideSketch(
  source: BlockSource,
  options: QuantileOptions,
  unitBytes: number,
  q: number | ArrayLike<number>,
  list: readonly number[],
): DividedReduction<SketchCounts, QuantileResult> {
  const units = unitsOf(source, unitBytes)
  const createSketch = (): QuantileSketch =>
    new QuantileSketch(new RowReader(source.dtype, 'float', skippedOf(source, options)).skipped)
  const merged = (parts: readonly SketchCounts[]): QuantileSketch => {
    const sketch = createSketch()
    for (const part of parts) sketch.merge(part)
    return sketch
  }
  return {
    units,
    merge: (parts) => merged(parts).counts(),
    absorb: () => undefined,
    async reduce(from, to, tree, { signal }) {
      const reader = new RowReader(source.dtype, 'float', skippedOf(source, options))
      const sketch = createSketch()
      const one = oneCell(source)
      const fold = { add: addRows(reader, one, sketch.row), repeat: sketch.repeat.bind(sketch) }
      await foldRuns(source, reader, one, fold, { signal, runs: units, between: [from, to] })
      tree.add(sketch.counts())
    },
    finish(all) {
      const sketch = merged(all === undefined ? [] : [all])
      const found = Float64Array.from(list, (each) => sketch.quantile(each))
      return typeof q === 'number' ? found[0]! : tensorOf('float64', [found.length], found)
    },
  }
}

function divideColumns(
  source: BlockSource,
  options: QuantileOptions,
  q: number | ArrayLike<number>,
  list: readonly number[],
): DividedReduction<QuantileCells, QuantileResult> {
  const layout = layoutOf(source, options.axis)
  const { axes, reduced } = layout
  const units = wholeColumns(source, axes)
  const depth = sizeOf(source.shape.filter((_, axis) => axes.has(axis)))
  const largest = units.chunkShape.map((length, axis) => (axes.has(axis) ? 1 : Math.min(length, source.shape[axis]!)))
  const bytes = 8 * depth * sizeOf(largest)
  const maxBytes = options.maxBytes ?? MAX_BYTES
  if (bytes > maxBytes) {
    const text = `quantiles along these axes have to hold ${bytes} bytes of elements at a time, more than the ${maxBytes} of \`maxBytes\``
    throw new HyperslabError('TooLargeError', text, { actual: bytes, expected: maxBytes })
  }
  const merge = (parts: readonly QuantileCells[], cells = RegionCells.ofParts(parts, reduced)): QuantileCells => {
    const values = new Float64Array(list.length * cells.size).fill(Number.NaN)
    for (const part of parts) {
      const size = part.values.length / list.length
      cells.each(part, (i, cell) => {
        for (let k = 0; k < list.length; k++) values[k * cells.size + cell] = part.values[k * size + i]!
      })
    }
    return { region: cells.region, values }
  }
  return {
    units,
    merge: (parts) => merge(parts),
    absorb: () => undefined,
    async reduce(from, to, tree, { signal }) {
      if (from === to) return
      const cells = RegionCells.ofUnits(units, [from, to], reduced)
      const values = new Float64Array(list.length * cells.size).fill(Number.NaN)
      const reader = new RowReader(source.dtype, 'float', skippedOf(source, options))
      // Unwritten columns have a single value.
      const repeat = (value: number, _: number, cell: number): void => {
        for (let k = 0; k < list.length; k++) values[k * cells.size + cell] = value
      }
      const add = ({ box, tensor }: Run): void => {
        const shape = tensor.shape.map((length, axis) => (axes.has(axis) ? 1 : length))
        const gathered = new Gathered(sizeOf(shape), depth, reader.skipped)
        const stride = stridesOf(shape).map((step, axis) => (axes.has(axis) ? 0 : step))
        const places = { start: cells.first(box), stride: cells.stride }
        reader.each(tensor, { start: 0, stride }, places, gathered.row)
        gathered.each((sorted, place) => {
          for (const [k, share] of list.entries()) values[k * cells.size + place] = findQuantile(sorted, share)
        })
      }
      await foldRuns(source, reader, cells, { add, repeat }, { signal, runs: units, between: [from, to] })
      tree.add({ region: cells.region, values })
    },
    finish(all) {
      const { values } = merge(all === undefined ? [] : [all], new RegionCells([wholeBox(source.shape)], reduced))
      const shape = options.axis === undefined ? [] : layout.resultShape(options.keepDims)
      if (options.axis === undefined && typeof q === 'number') return values[0]!
      return tensorOf('float64', typeof q === 'number' ? shape : [list.length, ...shape], values)
    },
  }
}

/** Returns a grid of the chunks along kept axes, and of everything along the others. */
function wholeColumns({ chunks, shape }: BlockSource<DType>, axes: ReadonlySet<number>): ChunkGrid {
  return new ChunkGrid(
    chunks.axes.map((chunk, axis) => (axes.has(axis) ? new RegularChunks(Math.max(1, shape[axis]!), shape[axis]!) : chunk)),
  )
}

/** The elements of some cells, by cell. */
class Gathered {
  readonly #depth: number
  readonly #skipped: Skipped
  readonly #values: Float64Array
  readonly #counts: Float64Array
  readonly #places: Float64Array

  constructor(cells: number, depth: number, skipped: Skipped) {
    this.#depth = depth
    this.#skipped = skipped
    this.#values = new Float64Array(cells * depth)
    this.#counts = new Float64Array(cells)
    this.#places = new Float64Array(cells)
  }

  row: Row<Float64Array> = (values, at, length, cell, step, place, placeStep) => {
    const { fill, nan } = this.#skipped
    for (let i = at; i < at + length; i++, cell += step, place += placeStep) {
      const x = values[i]!
      this.#places[cell] = place
      if (x === fill || (nan && Number.isNaN(x))) continue
      this.#values[cell * this.#depth + this.#counts[cell]!++] = x
    }
  }

  each(visit: (sorted: Float64Array, place: number) => void): void {
    this.#counts.forEach((count, cell) => {
      const start = cell * this.#depth
      visit(this.#values.subarray(start, start + count).sort(), this.#places[cell]!)
    })
  }
}

/**
 * Returns the quantile, linearly interpolated between the two nearest elements (numpy's `linear`). NaN if
 * there is a NaN, or no element.
 */
export function findQuantile(sorted: Float64Array, q: number): number {
  const last = sorted.length - 1
  if (last < 0 || Number.isNaN(sorted[last])) return Number.NaN
  const position = q * last
  const low = Math.floor(position)
  const [a, b] = [sorted[low]!, sorted[Math.min(last, low + 1)]!]
  const part = position - low
  // Not computed from the difference, which is NaN for infinities and overflows for large numbers.
  return a === b || part === 0 ? a : a * (1 - part) + b * part
}

/** Bits of the mantissa that distinguish buckets. */
const BITS = 12

const PAGE = 2 ** BITS

/** Combinations of sign and exponent of float64. */
const PAGES = 4096

export interface SketchCounts {
  readonly pages: readonly { readonly page: number; readonly counts: Float64Array }[]
  readonly count: number
  readonly nans: number
  readonly min: number
  readonly max: number
}

/**
 * Counts of values by sign, exponent and the first 12 bits of the mantissa: buckets whose relative width is
 * 2^-12. A quantile is in the bucket of the element at that rank, so it is within 2^-12 of it, whatever the
 * order of values. Counts are allocated in pages of 32 KiB, one for each power of two that occurs. Usual data
 * take less than a MiB, any data at most 128 MiB.
 */
class QuantileSketch {
  readonly #fill: unknown
  readonly #skipsNaN: boolean
  /** Pages by sign and exponent, in ascending order of their values. */
  readonly #pages: (Float64Array | undefined)[] = new Array(PAGES).fill(undefined)
  readonly #float = new Float64Array(1)
  readonly #words = new Uint32Array(this.#float.buffer)
  #count = 0
  #nans = 0
  #min = Number.POSITIVE_INFINITY
  #max = Number.NEGATIVE_INFINITY

  constructor({ fill, nan }: Skipped) {
    this.#fill = fill
    this.#skipsNaN = nan
  }

  row: Row<Float64Array> = (values, at, length) => this.#take(values, at, length, 1)

  /** Adds `times` elements of one value. */
  repeat(value: number, times: number): void {
    this.#take(Float64Array.of(value), 0, 1, times)
  }

  #take(values: Float64Array, at: number, length: number, times: number): void {
    const [float, words, pages, fill] = [this.#float, this.#words, this.#pages, this.#fill]
    for (let i = at; i < at + length; i++) {
      const x = values[i]!
      if (x === fill) continue
      if (Number.isNaN(x)) {
        this.#nans += times
        continue
      }
      if (x < this.#min) this.#min = x
      if (x > this.#max) this.#max = x
      this.#count += times
      float[0] = x + 0 // -0 is 0
      const key = keyOf(words[1]!)
      const number = key >>> BITS
      pages[number] ??= new Float64Array(PAGE)
      pages[number][key & (PAGE - 1)]! += times
    }
  }

  /** Returns the counts for merging. */
  counts(): SketchCounts {
    const pages = this.#pages.flatMap((counts, page) => (counts === undefined ? [] : [{ page, counts }]))
    return { pages, count: this.#count, nans: this.#nans, min: this.#min, max: this.#max }
  }

  merge({ pages, count, nans, min, max }: SketchCounts): void {
    for (const { page, counts } of pages) {
      this.#pages[page] ??= new Float64Array(PAGE)
      const own = this.#pages[page]
      for (let k = 0; k < PAGE; k++) own[k]! += counts[k]!
    }
    this.#count += count
    this.#nans += nans
    this.#min = Math.min(this.#min, min)
    this.#max = Math.max(this.#max, max)
  }

  quantile(q: number): number {
    if (this.#count === 0 || (this.#nans > 0 && !this.#skipsNaN)) return Number.NaN
    const rank = q * (this.#count - 1)
    let below = 0
    for (const [number, page] of this.#pages.entries()) {
      if (page === undefined) continue
      for (let k = 0; k < PAGE; k++) {
        const count = page[k]!
        if (count > 0 && rank < below + count) return this.#within((number << BITS) | k, (rank - below + 0.5) / count)
        below += count
      }
    }
    return this.#max
  }

  /** Returns a value of a bucket, at a fraction of its width. */
  #within(key: number, part: number): number {
    const low = this.#valueOf(key)
    if (low === 0 || low === Number.POSITIVE_INFINITY) return low
    if (Number.isNaN(low)) return Number.NEGATIVE_INFINITY
    const from = Math.max(this.#min, low)
    const to = Math.min(this.#max, this.#valueOf(key + 1))
    return Number.isFinite(to) ? from + (to - from) * Math.min(1, part) : from
  }

  #valueOf(key: number): number {
    const top = key << (20 - BITS)
    const negative = top >= 0
    this.#words[1] = negative ? ~top : top & 0x7fffffff
    this.#words[0] = negative ? 0xffffffff : 0
    return this.#float[0]!
  }
}

/** Returns the first 24 bits of a float64, mapped so that they ascend with its value. */
function keyOf(word: number): number {
  const ascending = word & 0x80000000 ? ~word : word | 0x80000000
  return ascending >>> (20 - BITS)
}
