import { cellBox } from '../../aggregate/cells.ts'
import type { DType } from '../../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import { Pace } from '../../core/pace.ts'
import { quoted } from '../../core/quoted.ts'
import { showShape, sizeOf, stridesOf } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { type Box, boxShape } from '../../grid/range.ts'
import { cutBox } from '../../grid/touched.ts'
import { byAxis } from '../by-axis.ts'
import type { BlockSource } from '../source.ts'
import { CompensatedSums } from './compensated-sums.ts'
import { checkFoldable } from './fold-kinds.ts'
import { layoutOf, type ReduceOptions } from './reduce.ts'
import { type Row, RowReader, type Skipped, skippedOf } from './rows.ts'
import { eachRun, MOST_CELLS, unwrittenElement, unwrittenValue } from './runs.ts'

/**
 * Weights of the positions along some axes, by dimension name or number. An element weighs the product of the
 * weights of its positions.
 */
export type Weights = { readonly [axis: string]: ArrayLike<number> }

/**
 * Computes the weighted mean of elements.
 * @throws InvalidArgumentError if there is another number of weights than positions
 */
export async function weightedMean(
  source: BlockSource,
  weights: Weights,
  options: ReduceOptions,
): Promise<number | Tensor<'float64'>> {
  checkFoldable('mean', source.dtype)
  const layout = layoutOf(source, options.axis)
  const along = checkWeights(source, byAxis(weights, source))
  const reader = new RowReader(source.dtype, 'float', skippedOf(source, options))
  const means = new WeightedFold(layout.size, reader.skipped)
  const pace = new Pace(options.signal)
  const known = unwrittenValue(source, reader)
  const kept = along.map((list, axis) => (layout.reduced[axis] ? undefined : list))
  const unwritten = async (box: Box): Promise<void> => {
    if (known === undefined) return
    // All elements of a cell are equal, so their total weight is a product of sums along the reduced axes.
    let weight = 1
    for (const [axis, { start, stop }] of box.entries()) {
      if (layout.reduced[axis]) weight *= await sumWeights(along[axis], start, stop, pace)
    }
    for (const part of cutBox(cellBox(box, layout.reduced), MOST_CELLS)) {
      if (pace.due()) await pace.turn()
      const { shape, data } = multiplyWeights(kept, part)
      means.weights = data.map((each) => each * weight)
      const cells = { ...unwrittenElement(source), shape: boxShape(part), stride: part.map(() => 0) }
      const stride = stridesOf(shape).map((step, axis) => (kept[axis] === undefined ? 0 : step))
      reader.each(cells, { start: layout.first(part), stride: layout.stride }, { start: 0, stride }, means.row)
    }
  }
  // An infinity with weight 0 is NaN, which sums of weights do not reveal.
  const isKnown = known === undefined || Number.isFinite(known.value)
  await eachRun(source, { ...options, unwritten: isKnown ? unwritten : undefined }, ({ box, tensor }) => {
    const { shape, data } = multiplyWeights(along, box)
    const stride = stridesOf(shape).map((step, axis) => (along[axis] === undefined ? 0 : step))
    means.weights = data
    reader.each(tensor, { start: layout.first(box), stride: layout.stride }, { start: 0, stride }, means.row)
  })
  const data = means.finish()
  return options.axis === undefined ? data[0]! : tensorOf('float64', layout.resultShape(options.keepDims), data)
}

function checkWeights(
  { shape }: BlockSource<DType>,
  weights: ReadonlyMap<number, ArrayLike<number>>,
): (ArrayLike<number> | undefined)[] {
  for (const [axis, list] of weights) {
    const isOfNumbers = Object(list) === list && Array.from(list).every((each) => typeof each === 'number')
    if (!isOfNumbers) invalidArgument(`the weights of axis ${axis} are a list of numbers, got ${quoted(list)}`, list)
    const { length } = list
    if (length === shape[axis]) continue
    const text = `${length} weights for axis ${axis} of an array of shape ${showShape(shape)}`
    throw new HyperslabError('InvalidArgumentError', text, { axis, actual: length, expected: shape[axis] })
  }
  return shape.map((_, axis) => weights.get(axis))
}

/** Returns the total weight of positions along an axis; without weights, 1 each. */
async function sumWeights(list: ArrayLike<number> | undefined, start: number, stop: number, pace: Pace): Promise<number> {
  if (list === undefined) return stop - start
  let sum = 0
  for (let k = start; k < stop; k++) {
    if (k % MOST_CELLS === 0 && pace.due()) await pace.turn()
    sum += list[k]!
  }
  return sum
}

/** Returns the weights of a box, with length 1 along axes without weights. */
function multiplyWeights(along: readonly (ArrayLike<number> | undefined)[], box: Box): { shape: number[]; data: Float64Array } {
  const shape = boxShape(box).map((length, axis) => (along[axis] === undefined ? 1 : length))
  const data = new Float64Array(sizeOf(shape)).fill(1)
  let inner = data.length
  along.forEach((list, axis) => {
    inner /= shape[axis]!
    if (list === undefined) return
    const length = shape[axis]!
    for (let i = 0; i < data.length; i++) data[i]! *= list[box[axis]!.start + (Math.floor(i / inner) % length)]!
  })
  return { shape, data }
}

class WeightedFold {
  weights: Float64Array = new Float64Array(0)
  readonly #skipped: Skipped
  readonly #sums: CompensatedSums
  readonly #totals: Float64Array

  constructor(cells: number, skipped: Skipped) {
    this.#skipped = skipped
    this.#sums = new CompensatedSums(cells)
    this.#totals = new Float64Array(cells)
  }

  row: Row<Float64Array> = (values, at, length, cell, step, place, placeStep) => {
    const { fill, nan } = this.#skipped
    const [weights, sums, totals] = [this.weights, this.#sums, this.#totals]
    for (let i = at; i < at + length; i++, cell += step, place += placeStep) {
      const x = values[i]!
      if (x === fill || (nan && Number.isNaN(x))) continue
      const weight = weights[place]!
      sums.add(cell, weight * x)
      totals[cell]! += weight
    }
  }

  finish(): Float64Array {
    // Negative weights may add up to 0 even if the sum does not.
    return this.#totals.map((total, cell) => this.#sums.get(cell) / (total || Number.NaN))
  }
}
