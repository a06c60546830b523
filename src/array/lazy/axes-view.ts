import type { DType, ScalarOf } from '../../core/dtype.ts'
import { type AxisView, type Tensor, wholeAxis } from '../../core/tensor.ts'
import { ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { subsetChunks } from '../../grid/derived-chunks.ts'
import { type Box, rangeOf, viewOf } from '../../grid/range.ts'
import type { BlockOptions, BlockSource, Missing } from '../source.ts'
import { type AxisPick, isList, requestsThrough, takeOf } from './picks.ts'

const body = () => import('./picked.ts')

/** What a view does to the axes of the source below. */
export interface AxesChange {
  /** What is taken of each axis below; all of it when left out. */
  readonly picks?: readonly AxisPick[]
  /**
   * For each axis of the view the axis below it comes from, or the name of a new axis of length 1. Axes that
   * are not named have to be of length 1.
   */
  readonly order: readonly (number | string)[]
}

/**
 * A source with axes cut, reversed, reordered, dropped and added. One of another one is again one layer on
 * what lies below.
 */
export function viewAxes<D extends DType>(source: BlockSource<D>, change: AxesChange): BlockSource<D> {
  const picks: readonly AxisPick[] = change.picks ?? source.shape.map(wholeAxis)
  const names = change.order.map((axis) => (typeof axis === 'string' ? axis : (source.dimensionNames?.[axis] ?? '')))
  const known = names.some((name) => name !== '') ? names : undefined
  const order = change.order.map((axis) => (typeof axis === 'string' ? null : axis))
  // A new axis can be emptied only from outside.
  const collapses = source instanceof AxesView && source.order.every((axis, i) => axis !== null || picks[i]!.length === 1)
  if (!collapses) return new AxesView(source, picks, order, known)
  const below = source.picks.map((pick, axis) => {
    const own = source.order.indexOf(axis)
    return own < 0 ? pick : takeOf(pick, picks[own]!)
  })
  return new AxesView(
    source.base as BlockSource<D>,
    below,
    order.map((axis) => (axis === null ? null : source.order[axis]!)),
    known,
  )
}

class AxesView<D extends DType> implements BlockSource<D> {
  readonly base: BlockSource<D>
  readonly picks: readonly AxisPick[]
  /** The axis of the base that each axis is; `null` for new ones. */
  readonly order: readonly (number | null)[]
  readonly dtype: D
  readonly shape: readonly number[]
  readonly chunks: ChunkGrid
  readonly dimensionNames: readonly string[] | undefined
  readonly fillValue: ScalarOf<D> | undefined
  readonly missing: Missing<D> | undefined
  readonly attrs: BlockSource['attrs']
  readonly capabilities = { steps: true }
  readonly maxElements: number | undefined
  readonly budget: BlockSource['budget']
  readonly label: NonNullable<BlockSource['label']>
  readonly writeBlock?: NonNullable<BlockSource<D>['writeBlock']>
  readonly bulk: NonNullable<BlockSource<D>['bulk']>
  /** The axis that each axis of the base has become; -1 for those that are dropped. */
  readonly #places: readonly number[]

  constructor(
    base: BlockSource<D>,
    picks: readonly AxisPick[],
    order: readonly (number | null)[],
    names: readonly string[] | undefined,
  ) {
    this.base = base
    this.picks = picks
    this.order = order
    this.#places = picks.map((_, axis) => order.indexOf(axis))
    this.dtype = base.dtype
    this.chunks = new ChunkGrid(
      order.map((axis) => (axis === null ? new RegularChunks(1, 1) : subsetChunks(base.chunks.axes[axis]!, picks[axis]!))),
    )
    this.shape = this.chunks.shape
    this.dimensionNames = names
    this.fillValue = base.fillValue
    this.missing = base.missing
    this.attrs = base.attrs
    this.maxElements = base.maxElements
    this.budget = base.budget
    this.label = base.label ?? {}
    // Where an element has several places, keeping what lies between written ones could undo a write.
    if (base.writeBlock !== undefined && picks.every((pick) => !isList(pick) || new Set(pick).size === pick.length)) {
      this.writeBlock = async (box, values, options) =>
        (await body()).writePicks(base, this.#below(box), this.#inBaseOrder(values), options)
    }
    // Parts of what runs backwards would have to be turned round, and those along new axes only are of
    // another kind.
    const forwards = picks.every((pick) => !isList(pick) && pick.step > 0) && !order.includes(null)
    const { read, reduce, statistics } = base.bulk ?? {}
    this.bulk = {
      requests: (boxes) =>
        requestsThrough(
          base,
          boxes.map((box) => this.#below(box)),
        ),
      ...(read && {
        read: async (reads, options) => {
          const own = reads.map(({ box, out }) => ({ picks: this.#below(box), out: this.#inBaseOrder(out) }))
          await (await body()).readManyPicks(base, own, options)
        },
      }),
      ...(statistics && {
        statistics: async (options) => {
          const [{ statisticsOf }, known] = [await body(), await statistics(options)]
          return (box) => statisticsOf(this.#below(box), known)
        },
      }),
      ...(reduce &&
        base.capabilities?.steps &&
        forwards && {
          reduce: async (box, reduction, take, options) => {
            const { reducePermuted } = await import('./permuted-part.ts')
            const below = (this.#below(box) as AxisView[]).map(rangeOf)
            await reducePermuted(base, below, this.#places, order as readonly number[], reduction, take, options)
          },
        }),
    }
  }

  async readBlock(box: Box, out: Tensor<D>, options?: BlockOptions): Promise<void> {
    await (await body()).readPicks(this.base, this.#below(box), this.#inBaseOrder(out), options)
  }

  #below(box: Box): AxisPick[] {
    return this.picks.map((pick, axis) => (this.#places[axis]! < 0 ? pick : takeOf(pick, viewOf(box[this.#places[axis]!]!))))
  }

  #inBaseOrder({ data, shape, stride, offset }: Tensor<D>): Tensor<D> {
    const along = (values: readonly number[], other: number): number[] =>
      this.#places.map((place) => (place < 0 ? other : values[place]!))
    return { data, shape: along(shape, 1), stride: along(stride, 0), offset }
  }
}
