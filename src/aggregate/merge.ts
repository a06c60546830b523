import { allocate, type FixedDType, isFloat, type TypedArray } from '../core/dtype.ts'
import { eachIndex, sameShape, sizeOf, stridesOf } from '../core/shape.ts'
import { mergedAxes } from '../core/tensor.ts'
import { type Box, boxShape } from '../grid/range.ts'
import { hullOf } from '../grid/touched.ts'
import { identityOf } from '../kernels/reduce.ts'
import { type Cells, cellType, cellWidth, joinedCells, WholeAccumulator } from './accumulator.ts'
import { beats, Extremes, givesPositions } from './positions.ts'
import { columnsOf, isPlain, isWhole, type PartialAggregate, type PlacedAggregate, type Reduction } from './reduction.ts'

interface MergedCells extends PartialAggregate {
  readonly values: TypedArray
}

/** Merges `count` cells of one part, from `first` on, into those of another, from `at` on. */
type MergeCells = (into: MergedCells, at: number, from: MergedCells, first: number, count: number) => void

/** Merges parts in order into the cells of a region that contains all their regions. */
export class PartMerger {
  readonly #reduction: Reduction
  readonly #region: Box
  readonly #whole: WholeAccumulator | undefined
  readonly #cells: MergedCells
  readonly #stride: readonly number[]
  readonly #merge: MergeCells

  constructor(reduction: Reduction, region: Box) {
    const shape = boxShape(region)
    this.#reduction = reduction
    this.#region = region
    this.#stride = stridesOf(shape)
    this.#whole = wholeOf(reduction)
    this.#cells = emptyCells(reduction, this.#whole === undefined ? sizeOf(shape) : 0)
    this.#merge = mergeOf(reduction)
  }

  take(part: PlacedAggregate): void {
    if (this.#whole !== undefined) {
      this.#whole.take(part.values[0]!, part.counts[0]!)
      return
    }
    const own = boxShape(part.region)
    const first = part.region.reduce((at, { start }, axis) => at + (start - this.#region[axis]!.start) * this.#stride[axis]!, 0)
    const { shape, strides } = mergedAxes(own, [this.#stride, stridesOf(own)])
    const length = shape.at(-1) ?? 1
    const [step, ownStep] = strides.at(-1) ?? [1, 1]
    const isDense = step === 1 && ownStep === 1
    eachIndex(isDense ? shape.slice(0, -1) : shape, (index) => {
      let [at, from] = [first, 0]
      for (let axis = 0; axis < index.length; axis++) {
        at += index[axis]! * strides[axis]![0]!
        from += index[axis]! * strides[axis]![1]!
      }
      this.#merge(this.#cells, at, part as unknown as MergedCells, from, isDense ? length : 1)
    })
  }

  /** Returns the merged part. Cells without elements have count 0. */
  finish(): PlacedAggregate {
    return { ...(this.#whole?.finish() ?? this.#cells), region: this.#region }
  }

  /**
   * Returns the cells in the form that users of a reduction expect: for extrema those of minima, then those
   * of maxima.
   */
  cells(): Cells[] {
    if (this.#whole !== undefined) return [this.#whole.finish()]
    const { values, counts, places } = this.#cells
    const { op, dtype } = this.#reduction
    const size = counts.length
    if (op === 'extrema') return [values.subarray(0, size), values.subarray(size)].map((each) => ({ values: each, counts }))
    if (op === 'moments') return [{ values: values.subarray(size), counts }]
    return [places === undefined ? { values: joinedCells({ op, dtype }, values), counts } : { values, counts, places }]
  }
}

/** Merges parts in order. The region of the result is the smallest that contains all their regions. */
export function mergedParts(reduction: Reduction, parts: readonly PlacedAggregate[]): PlacedAggregate {
  const merger = new PartMerger(reduction, hullOf(parts.map(({ region }) => region)))
  for (const part of parts) merger.take(part)
  return merger.finish()
}

/** Merges a part in place into another one of the same cells; undefined if their cells differ. */
export function absorbedPart(reduction: Reduction, part: PlacedAggregate, more: PlacedAggregate): PlacedAggregate | undefined {
  if (isWhole(reduction) || !sameBox(part.region, more.region)) return undefined
  mergeOf(reduction)(part as unknown as MergedCells, 0, more as unknown as MergedCells, 0, part.counts.length)
  return part
}

/** Creates an accumulator for parts of a whole reduction, whose values need not be kernel numbers. */
const wholeOf = (reduction: Reduction): WholeAccumulator | undefined =>
  isPlain(reduction) && isWhole(reduction) && !givesPositions(reduction)
    ? new WholeAccumulator(reduction.op, reduction.dtype, reduction.skip)
    : undefined

const sameBox = (a: Box, b: Box): boolean =>
  sameShape(boxShape(a), boxShape(b)) && a.every(({ start }, axis) => start === b[axis]!.start)

function emptyCells(reduction: Reduction, size: number): MergedCells {
  const counts = new Float64Array(size)
  if (givesPositions(reduction)) {
    const { values, places } = new Extremes(reduction.op, reduction.dtype, size)
    return { values, counts, places }
  }
  const { op } = reduction
  const { type, width } = columnOf(reduction)
  const values = allocate(type, width * size) as TypedArray
  const fill = (which: 'min' | 'max', from: number, to: number): unknown =>
    (values as Float64Array).fill(identityOf(which, reduction.dtype) as number, from, to)
  if (op === 'min' || op === 'extrema') fill('min', 0, size)
  if (op === 'max' || op === 'extrema') fill('max', values.length - size, values.length)
  return { values, counts }
}

/** Returns the type and the number of the numbers per cell of a part. */
function columnOf(reduction: Reduction): { readonly type: FixedDType; readonly width: number } {
  if (isPlain(reduction)) return { type: cellType(reduction), width: cellWidth(reduction) }
  return { type: reduction.op === 'moments' ? 'float64' : reduction.dtype, width: columnsOf(reduction) }
}

function mergeOf(reduction: Reduction): MergeCells {
  const { op } = reduction
  if (givesPositions(reduction)) return mergePositions(reduction.op === 'min')
  if (op === 'moments') return mergeMoments
  if (op === 'sum') return isFloat(reduction.dtype) ? addFloats : addIntegers(columnOf(reduction).width)
  return op === 'extrema' ? mergeExtrema : mergeExtremes(op === 'max')
}

const addFloats: MergeCells = (into, at, from, first, count) => {
  addInto(into.values as Float64Array, at, from.values as Float64Array, first, count)
  addInto(into.counts, at, from.counts, first, count)
}

/** A short loop in its own function is compiled well. */
function addInto(sums: Float64Array, at: number, more: Float64Array, first: number, count: number): void {
  for (let i = 0; i < count; i++) sums[at + i]! += more[first + i]!
}

/** Adds in 32-bit halves, because bigint arithmetic is far slower. */
const addIntegers =
  (width: number): MergeCells =>
  (into, at, from, first, count) => {
    const [sums, more] = [wordsOf(into.values), wordsOf(from.values)]
    let [to, next] = [2 * width * at, 2 * width * first]
    for (const end = to + 2 * width * count; to < end; to += 2, next += 2) {
      const low = sums[to]! + more[next]!
      sums[to] = low
      sums[to + 1]! += more[next + 1]! + (low > 0xffffffff ? 1 : 0)
    }
    addInto(into.counts, at, from.counts, first, count)
  }

const wordsOf = ({ buffer, byteOffset, byteLength }: TypedArray): Uint32Array =>
  new Uint32Array(buffer, byteOffset, byteLength / 4)

/** Cells without elements contain the identity, as the kernels leave them. */
const mergeExtremes =
  (greatest: boolean): MergeCells =>
  (into, at, from, first, count) => {
    const [best, more] = [into.values as Float64Array, from.values as Float64Array]
    if (greatest) raise(best, at, more, first, count)
    else lower(best, at, more, first, count)
    addInto(into.counts, at, from.counts, first, count)
  }

// NaN compares as neither less nor greater: once it is stored, it stays.
function lower(best: Float64Array, at: number, more: Float64Array, first: number, count: number): void {
  for (let i = 0; i < count; i++) {
    const x = more[first + i]!
    if (x < best[at + i]! || Number.isNaN(x)) best[at + i] = x
  }
}

function raise(best: Float64Array, at: number, more: Float64Array, first: number, count: number): void {
  for (let i = 0; i < count; i++) {
    const x = more[first + i]!
    if (x > best[at + i]! || Number.isNaN(x)) best[at + i] = x
  }
}

const mergeExtrema: MergeCells = (into, at, from, first, count) => {
  const [best, more] = [into.values as Float64Array, from.values as Float64Array]
  lower(best, at, more, first, count)
  raise(best, into.counts.length + at, more, from.counts.length + first, count)
  addInto(into.counts, at, from.counts, first, count)
}

/** Merges moments by Chan's formula. */
const mergeMoments: MergeCells = (into, at, from, first, count) => {
  const [moments, more] = [into.values as Float64Array, from.values as Float64Array]
  const [counts, added] = [into.counts, from.counts]
  for (let i = 0; i < count; i++) {
    const [to, own] = [at + i, first + i]
    const [before, taken] = [counts[to]!, added[own]!]
    if (taken === 0) continue
    const [mean, squares] = [more[own]!, more[added.length + own]!]
    const total = before + taken
    counts[to] = total
    if (before === 0) {
      moments[to] = mean
      moments[counts.length + to] = squares
      continue
    }
    const delta = mean - moments[to]!
    moments[to]! += delta * (taken / total)
    moments[counts.length + to]! += squares + delta * delta * ((before * taken) / total)
  }
}

const mergePositions =
  (less: boolean): MergeCells =>
  (into, at, from, first, count) => {
    const best = into as unknown as Extremes
    for (let i = 0; i < count; i++) {
      if (from.counts[first + i] === 0) continue
      const [x, place] = [from.values[first + i]!, from.places![first + i]!]
      if (!beats(best, less, at + i, x, place)) continue
      best.values[at + i] = x as never
      best.places[at + i] = place
      best.counts[at + i] = 1
    }
  }
