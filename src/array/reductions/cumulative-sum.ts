import { type DType, type FixedDType, isBigInt } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { sameShape, showShape, sizeOf, stridesOf } from '../../core/shape.ts'
import { copyTensor, type Tensor, tensorOf, viewTensor } from '../../core/tensor.ts'
import { type Box, boxShape, viewOf } from '../../grid/range.ts'
import type { Axis } from '../axes.ts'
import { checkBytes, MAX_RESULT_BYTES } from '../bounds.ts'
import { zipped } from '../iteration.ts'
import { runsOf } from '../read-whole.ts'
import { type BlockOptions, type BlockSource, checkWritable } from '../source.ts'
import { checkElements } from '../visit.ts'
import { CompensatedSums } from './compensated-sums.ts'
import { checkFits } from './fold.ts'
import { checkFoldable, foldedDType, type SumDTypes } from './fold-kinds.ts'
import { layoutOf } from './reduce.ts'
import { type Row, RowReader, type SkipOptions, type Skipped, skippedOf } from './rows.ts'

/** Options of `cumsum`. */
export interface CumulativeOptions<D extends DType = DType> extends BlockOptions, SkipOptions {
  /**
   * Array of the result's shape and type that receives the result, run by run. For results that do not fit
   * into memory.
   */
  readonly into?: { readonly source: BlockSource<SumDTypes[D]> }
}

/** @returns the result; undefined if it was written to an array */
export async function cumsum(source: BlockSource, axis: Axis, options: CumulativeOptions): Promise<Tensor | undefined> {
  checkFoldable('sum', source.dtype)
  const dtype = foldedDType(source.dtype, 'sum')
  const layout = layoutOf(source, axis)
  checkElements(source)
  if (options.into === undefined)
    checkBytes(source, 8 * sizeOf(source.shape), MAX_RESULT_BYTES, 'the result', 'give an array to put it `into`')
  const reader = new RowReader(source.dtype, 'exact', skippedOf(source, options))
  const totals = isBigInt(dtype) ? new WideTotals(dtype, layout.size, reader.skipped) : new Totals(layout.size, reader.skipped)
  const result = options.into === undefined ? tensorOf(dtype, source.shape) : undefined
  const put = result === undefined ? writeTo(options.into!.source, dtype, source.shape) : placeIn(result)
  for await (const { box, data } of zipped([source], runsOf(source), { signal: options.signal })) {
    const shape = boxShape(box)
    const sums = tensorOf(dtype, shape)
    totals.out = sums.data
    const places = { start: 0, stride: stridesOf(shape) }
    reader.each(data[0]!, { start: layout.first(box), stride: layout.stride }, places, totals.row)
    await put(box, sums, options)
  }
  return result
}

type Put = (box: Box, values: Tensor, options: BlockOptions) => Promise<void> | void

const placeIn =
  (result: Tensor): Put =>
  (box, values) =>
    copyTensor(values, viewTensor(result, box.map(viewOf)))

function writeTo(target: BlockSource, dtype: FixedDType, shape: readonly number[]): Put {
  if (target.dtype === dtype && sameShape(target.shape, shape)) {
    checkWritable(target)
    return (box, values, options) => target.writeBlock(box, values, options)
  }
  const [actual, expected] = [`${target.dtype} ${showShape(target.shape)}`, `${dtype} ${showShape(shape)}`]
  throw new HyperslabError('InvalidArgumentError', `the sums are ${expected}, but the target is ${actual}`, {
    ...target.label,
    actual,
    expected,
  })
}

/** Running totals with compensated rounding errors. Elements of one cell must come in order. */
class Totals {
  out: unknown
  readonly #skipped: Skipped
  readonly #sums: CompensatedSums

  constructor(cells: number, skipped: Skipped) {
    this.#skipped = skipped
    this.#sums = new CompensatedSums(cells)
  }

  row: Row<Float64Array> = (values, at, length, cell, step, place, placeStep) => {
    const { fill, nan } = this.#skipped
    const [out, sums] = [this.out as Float64Array, this.#sums]
    for (let i = at; i < at + length; i++, cell += step, place += placeStep) {
      const x = values[i]!
      if (!(x === fill || (nan && Number.isNaN(x)))) sums.add(cell, x)
      out[place] = sums.get(cell)
    }
  }
}

class WideTotals {
  out: unknown
  readonly #dtype: FixedDType
  readonly #fill: unknown
  readonly #sums: bigint[]

  constructor(dtype: FixedDType, cells: number, { fill }: Skipped) {
    this.#dtype = dtype
    this.#fill = fill
    this.#sums = new Array(cells).fill(0n)
  }

  row: Row<BigInt64Array> = (values, at, length, cell, step, place, placeStep) => {
    for (let i = at; i < at + length; i++, cell += step, place += placeStep) {
      const x = values[i]!
      if (x !== this.#fill) this.#sums[cell]! += x
      ;(this.out as BigInt64Array)[place] = checkFits('sum', this.#sums[cell]!, this.#dtype)
    }
  }
}
