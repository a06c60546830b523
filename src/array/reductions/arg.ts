import { allocate, type FixedDType, isBigInt, type TypedArray } from '../../core/dtype.js'
import { HyperslabError } from '../../core/errors.js'
import { stridesOf } from '../../core/shape.js'
import { type Tensor, tensorOf } from '../../core/tensor.js'
import type { BlockSource } from '../source.js'
import { CellLayout } from './cells.js'
import { checkFoldable } from './fold-kinds.js'
import { emptyReduction } from './fold-results.js'
import type { ReduceOptions } from './reduce.js'
import { type Row, RowReader, type Skipped, skippedOf } from './rows.js'
import { eachRun } from './runs.js'

/**
 * Where the extremes are: the index of the first smallest (greatest) element in C order, or along one axis the positions on it.
 * @throws InvalidArgumentError for several axes; EmptyReductionError
 */
export async function arg(
  source: BlockSource,
  kind: 'argMin' | 'argMax',
  options: ReduceOptions,
): Promise<readonly number[] | Tensor<'float64'>> {
  checkFoldable(kind, source.dtype)
  const layout = new CellLayout(source, options.axis)
  const whole = options.axis === undefined
  if (!whole && layout.axes.size !== 1) {
    throw new HyperslabError('InvalidArgumentError', `${kind} takes one axis, or none for all of the array`, {
      actual: options.axis,
    })
  }
  const flat = stridesOf(source.shape)
  const stride = whole ? flat : source.shape.map((_, axis) => (layout.axes.has(axis) ? 1 : 0))
  const reader = new RowReader(source.dtype, 'exact', skippedOf(source, options))
  const fold = new ArgFold(kind === 'argMin', source.dtype as FixedDType, layout.size, reader.skipped)
  await eachRun(source, options, ({ box, tensor }) => {
    const start = box.reduce((place, range, axis) => place + range.start * stride[axis]!, 0)
    reader.each(tensor, { start: layout.first(box), stride: layout.stride }, { start, stride }, fold.row)
  })
  const skips = reader.skipped.nan || reader.skipped.fill !== undefined
  if (fold.places.includes(-1) && (whole || !skips)) throw emptyReduction('position')
  if (!whole) return tensorOf('float64', layout.resultShape(options.keepDims), fold.places)
  let rest = fold.places[0]!
  return flat.map((step) => {
    const position = Math.floor(rest / step)
    rest -= position * step
    return position
  })
}

/** The place of the least or greatest element of each cell; -1 where there is none. A NaN that is not skipped is beyond all. */
class ArgFold {
  readonly places: Float64Array
  readonly #less: boolean
  readonly #skipped: Skipped
  readonly #best: TypedArray

  constructor(less: boolean, dtype: FixedDType, cells: number, skipped: Skipped) {
    this.places = new Float64Array(cells).fill(-1)
    this.#less = less
    this.#skipped = skipped
    this.#best = allocate(isBigInt(dtype) ? dtype : 'float64', cells)
  }

  row: Row<Float64Array> = (values, at, length, cell, step, place, placeStep) => {
    const { fill, nan } = this.#skipped
    const [places, best, less] = [this.places, this.#best as Float64Array, this.#less]
    for (let i = at; i < at + length; i++, cell += step, place += placeStep) {
      const x = values[i]!
      if (x === fill || (nan && Number.isNaN(x))) continue
      const old = best[cell]!
      const before = places[cell]!
      const none = Number.isNaN(x)
      const had = before >= 0 && Number.isNaN(old)
      const better = before < 0 || (none ? !had : !had && (less ? x < old : x > old))
      // Chunks do not come in C order of their elements.
      const equal = !better && (none ? had : x === old)
      if (!better && !(equal && place < before)) continue
      best[cell] = x
      places[cell] = place
    }
  }
}
