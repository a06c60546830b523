import { cellBox, eachCell } from '../../aggregate/cells.ts'
import { type DataOf, type DType, fillElement } from '../../core/dtype.ts'
import { Pace } from '../../core/pace.ts'
import { sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { type Box, boxShape } from '../../grid/range.ts'
import { cutBox } from '../../grid/touched.ts'
import type { BlockSource } from '../source.ts'
import type { RowReader } from './rows.ts'

/** Cells that are visited without giving way. */
export const MOST_CELLS = 2 ** 16

/** Where the cells of a reduction are; of a `CellLayout`, among others. */
interface Layout {
  readonly reduced: readonly boolean[]
  readonly stride: readonly number[]
  first(box: Box): number
}

/** An element that nobody wrote, as a tensor. */
export function unwrittenElement<D extends DType>({ dtype, fillValue }: BlockSource<D>): Tensor<D> {
  return tensorOf(dtype, [1], [fillElement(dtype, fillValue)] as unknown as DataOf<D>)
}

/** What a reader hands over of an element that nobody wrote; undefined where it is passed over. */
export function unwrittenValue(source: BlockSource, reader: RowReader): { readonly value: unknown } | undefined {
  const one = unwrittenElement(source)
  const none = { start: 0, stride: [0] }
  let value: unknown
  reader.each(one, none, none, ((values: ArrayLike<unknown>, at: number) => {
    value = values[at]
  }) as never)
  return isSkipped(reader, value) ? undefined : { value }
}

const isSkipped = ({ skipped: { fill, nan } }: RowReader, value: unknown): boolean =>
  (fill !== undefined && value === fill) || (nan && Number.isNaN(value))

/**
 * For `RunOptions.unwritten`: visits the cells that boxes nobody wrote go to, each once a box, with how many
 * elements go there. Nothing is done where these are passed over.
 * @param decided whether to end, asked after each box
 */
export function eachUnwritten(
  source: BlockSource,
  reader: RowReader,
  layout: Layout,
  signal: Signal | undefined,
  visit: (value: never, times: number, cell: number) => void,
  decided?: () => boolean,
): (box: Box) => Promise<unknown> {
  const known = unwrittenValue(source, reader)
  const pace = new Pace(signal)
  return async (box) => {
    if (known === undefined) return
    for (const part of cutBox(box, MOST_CELLS, layout.reduced)) {
      if (pace.due()) await pace.turn()
      const shape = boxShape(cellBox(part, layout.reduced))
      const times = sizeOf(boxShape(part)) / sizeOf(shape)
      eachCell(shape, layout.first(part), layout.stride, (_, cell) => visit(known.value as never, times, cell))
    }
    return decided?.()
  }
}

/** All of an array as one cell. */
export const oneCell = ({ shape }: BlockSource): Layout => ({
  reduced: shape.map(() => true),
  stride: shape.map(() => 0),
  first: () => 0,
})
