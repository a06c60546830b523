import { allocate, isFloat, type TypedArray } from '../core/dtype.ts'
import { eachIndex, sameShape, sizeOf, stridesOf } from '../core/shape.ts'
import { mergedAxes } from '../core/tensor.ts'
import { type Box, boxShape } from '../grid/range.ts'
import { hullOf } from '../grid/touched.ts'
import { identityOf } from '../kernels/reduce.ts'
import { type Cells, cellType, cellWidth, joinedCells, WholeAccumulator } from './accumulator.ts'
import { Moments } from './moments.ts'
import { beats, Extremes, givesPositions } from './positions.ts'
import {
  isPlain,
  isWhole,
  type PartialAggregate,
  type PartOp,
  type PlacedAggregate,
  type Reduction,
  splitReduction,
} from './reduction.ts'

interface MergedCells extends PartialAggregate {
  readonly values: TypedArray
}

/** Merges `count` cells of one part, from `first` on, into those of another, from `at` on. */
type MergeCells = (into: MergedCells, at: number, from: MergedCells, first: number, count: number) => void

/** Merges parts in order into the cells of a region that contains all their regions. */
export class PartMerger {
  readonly #region: Box
  readonly #stride: readonly number[]
  readonly #each: readonly CellMerger[]
  readonly #isWhole: boolean

  constructor(reduction: Reduction, region: Box) {
    const shape = boxShape(region)
    this.#region = region
    this.#stride = stridesOf(shape)
    this.#each = splitReduction(reduction).map((each) => new CellMerger(each, sizeOf(shape)))
    this.#isWhole = isWhole(reduction)
  }

  take({ region, parts }: PlacedAggregate): void {
    if (this.#isWhole) {
      this.#take(parts, 0, 0, 1)
      return
    }
    const own = boxShape(region)
    const first = region.reduce((at, { start }, axis) => at + (start - this.#region[axis]!.start) * this.#stride[axis]!, 0)
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
      this.#take(parts, at, from, isDense ? length : 1)
    })
  }

  #take(parts: readonly PartialAggregate[], at: number, from: number, count: number): void {
    for (let i = 0; i < parts.length; i++) this.#each[i]!.take(at, parts[i]!, from, count)
  }

  /** Returns the merged part. Cells without elements have count 0. */
  finish(): PlacedAggregate {
    return { parts: this.#each.map((each) => each.finish()), region: this.#region }
  }

  /**
   * Returns the cells of each operation in the form that users of a reduction expect: sums as numbers or
   * bigints, and of moments the sums of squares alone.
   */
  cells(): Cells[] {
    return this.#each.map((each) => each.cells())
  }
}

/** Merges the cells of one operation. */
class CellMerger {
  readonly #reduction: Reduction<PartOp>
  readonly #whole: WholeAccumulator | undefined
  readonly #cells: MergedCells
  readonly #merge: MergeCells

  constructor(reduction: Reduction<PartOp>, size: number) {
    this.#reduction = reduction
    this.#whole = createWhole(reduction)
    this.#cells = emptyCells(reduction, this.#whole === undefined ? size : 0)
    this.#merge = chooseMerge(reduction)
  }

  /** Merges `count` cells of a part, from `first` on, into those from `at` on. */
  take(at: number, part: PartialAggregate, first: number, count: number): void {
    if (this.#whole === undefined) this.#merge(this.#cells, at, part as MergedCells, first, count)
    else this.#whole.take(part.values[0]!, part.counts[0]!)
  }

  finish(): PartialAggregate {
    return this.#whole?.finish() ?? this.#cells
  }

  cells(): Cells {
    if (this.#whole !== undefined) return this.#whole.finish()
    const { values, counts } = this.#cells
    const { op, dtype } = this.#reduction
    if (op === 'moments') return { values: values.subarray(counts.length), counts }
    return givesPositions(this.#reduction) ? this.#cells : { values: joinedCells({ op, dtype }, values), counts }
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
  for (const [i, each] of splitReduction(reduction).entries()) mergedCells(each, part.parts[i]!, more.parts[i]!)
  return part
}

/** Merges cells in place into others, and returns these. */
export function mergedCells(reduction: Reduction<PartOp>, cells: PartialAggregate, more: PartialAggregate): PartialAggregate {
  chooseMerge(reduction)(cells as MergedCells, 0, more as MergedCells, 0, cells.counts.length)
  return cells
}

/** Creates an accumulator for parts of a whole reduction, whose values need not be kernel numbers. */
const createWhole = (reduction: Reduction<PartOp>): WholeAccumulator | undefined =>
  isPlain(reduction) && isWhole(reduction) && !givesPositions(reduction)
    ? new WholeAccumulator(reduction.op, reduction.dtype, reduction.skip)
    : undefined

const sameBox = (a: Box, b: Box): boolean =>
  sameShape(boxShape(a), boxShape(b)) && a.every(({ start }, axis) => start === b[axis]!.start)

function emptyCells(reduction: Reduction<PartOp>, size: number): MergedCells {
  const counts = new Float64Array(size)
  if (!isPlain(reduction)) return { values: new Float64Array(2 * size), counts }
  const { op, dtype } = reduction
  if (givesPositions(reduction)) {
    const { values, places } = new Extremes(reduction.op, dtype, size)
    return { values, counts, places }
  }
  const values = allocate(cellType(reduction), cellWidth(reduction) * size) as TypedArray
  if (op !== 'sum') values.fill(identityOf(op, dtype) as never)
  return { values, counts }
}

function chooseMerge(reduction: Reduction<PartOp>): MergeCells {
  const { op, dtype } = reduction
  if (givesPositions(reduction)) return mergePositions(reduction.op === 'min')
  if (op === 'moments') return mergeMoments
  if (op === 'sum') return isFloat(dtype) ? addFloats : addIntegers(cellWidth({ op, dtype }))
  return mergeExtremes(op === 'max')
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
    const [sums, more] = [viewWords(into.values), viewWords(from.values)]
    let [to, next] = [2 * width * at, 2 * width * first]
    for (const end = to + 2 * width * count; to < end; to += 2, next += 2) {
      const low = sums[to]! + more[next]!
      sums[to] = low
      sums[to + 1]! += more[next + 1]! + (low > 0xffffffff ? 1 : 0)
    }
    addInto(into.counts, at, from.counts, first, count)
  }

const viewWords = ({ buffer, byteOffset, byteLength }: TypedArray): Uint32Array =>
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

const mergeMoments: MergeCells = (into, at, from, first, count) => {
  const [moments, { counts, means, squares }] = [Moments.of(into), Moments.of(from)]
  for (let i = 0; i < count; i++) moments.merge(at + i, counts[first + i]!, means[first + i]!, squares[first + i]!)
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
