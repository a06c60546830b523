import { cellBox, eachCell } from '../../aggregate/cells.ts'
import { allocate, type DataOf, type DType, fillElement, isFixed, type TypedArray } from '../../core/dtype.ts'
import { ahead } from '../../core/in-order.ts'
import { Pace } from '../../core/pace.ts'
import { sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { type ChunkGrid, READ_BYTES } from '../../grid/chunks.ts'
import { type Box, boxShape, wholeBox } from '../../grid/range.ts'
import { cutBox, TouchedChunks } from '../../grid/touched.ts'
import { checkBytes, MAX_RESULT_BYTES } from '../bounds.ts'
import { type BlockOptions, type BlockSource, bytesOf } from '../source.ts'
import { checkElements } from '../visit.ts'
import type { RowReader } from './rows.ts'

/**
 * A part of an array with its elements, dense, in C order. They are good until the next one is taken: their
 * memory is used again.
 */
export interface Run<D extends DType = DType> {
  readonly box: Box
  readonly tensor: Tensor<D>
}

export interface RunOptions extends BlockOptions {
  /** What to read at once; runs of neighbouring chunks of some MiB when left out. */
  readonly runs?: ChunkGrid
  /** Runs from one number up to another; all of them when left out. */
  readonly between?: readonly [from: number, to: number]
  /**
   * How many runs are read or wait at a time; two when left out. With one, nothing is read before the last
   * one was taken.
   */
  readonly atOnce?: number
  /**
   * Takes, in the place of runs in which nobody wrote anything, as large boxes of such as there are. Where it
   * is left out these are runs like others.
   */
  readonly unwritten?: ((box: Box) => Promise<unknown>) | undefined
}

/** A box to read, or one that nobody wrote. */
interface Part {
  readonly box: Box
  readonly isWritten: boolean
}

/**
 * Goes through an array in C order of its runs, reading one while another is taken, each of them once.
 * @throws TooLargeError when there are more elements than the source allows, or one chunk of more than 2 GiB
 * @param take may return true, as `unwritten` may, to end it: then nothing more is read
 */
export async function eachRun<D extends DType>(
  source: BlockSource<D>,
  options: RunOptions,
  take: (run: Run<D>) => unknown,
): Promise<void> {
  const { dtype } = source
  const { runs = runsOf(source), atOnce = 2, signal, unwritten, between = [0, runs.count] } = options
  const largest = sizeOf(runs.chunkShape.map((length, axis) => Math.min(length, source.shape[axis]!)))
  const all = unwritten && (await source.bulk?.written?.(runs, { signal }))
  const written = all?.filter((number) => number >= between[0] && number < between[1])
  checkElements(source, Math.min(sizeOf(source.shape), largest * (written?.length ?? between[1] - between[0])))
  const bytes = largest * bytesOf(dtype)
  if (written === undefined || written.length > 0)
    checkBytes(source, bytes, MAX_RESULT_BYTES, 'a chunk', 'reduce parts of the array')
  const free: TypedArray[] = []
  const read = async ({ box, isWritten }: Part): Promise<(Run<D> & { buffer: DataOf<D> }) | Box> => {
    signal?.throwIfAborted()
    if (!isWritten) return box
    const shape = boxShape(box)
    const size = sizeOf(shape)
    const buffer = isFixed(dtype) ? (free.pop() ?? allocate(dtype, largest)) : allocate(dtype, size)
    const data = isFixed(dtype) ? (buffer as TypedArray).subarray(0, size) : buffer
    const tensor = tensorOf(dtype, shape, data as DataOf<D>)
    await source.readBlock(box, tensor, { signal })
    return { box, tensor, buffer: buffer as DataOf<D> }
  }
  const limits = { count: atOnce, bytes: 4 * READ_BYTES, bytesOf: ({ isWritten }: Part) => (isWritten ? bytes : 0) }
  for await (const part of ahead(partsOf(runs, written, between), limits, read)) {
    if ('tensor' in part) {
      if (take(part) === true) return
      if (isFixed(dtype)) free.push(part.buffer as TypedArray)
    } else if ((await unwritten!(part)) === true) return
  }
}

/** Runs with something written in them one by one, the others together. */
function* partsOf(
  runs: ChunkGrid,
  written: Float64Array | undefined,
  [from, to]: readonly [number, number],
): Generator<Part, void> {
  if (written === undefined) {
    for (let number = from; number < to; number++) yield { box: runs.box(runs.index(number)), isWritten: true }
    return
  }
  const all = new TouchedChunks(wholeBox(runs.shape), runs)
  let next = from
  for (const number of written) {
    for (const box of all.boxes(next, number)) yield { box, isWritten: false }
    yield { box: runs.box(runs.index(number)), isWritten: true }
    next = number + 1
  }
  for (const box of all.boxes(next, to)) yield { box, isWritten: false }
}

export const runsOf = (source: BlockSource): ChunkGrid => source.chunks.coarsen(READ_BYTES / bytesOf(source.dtype))

/** What is written at once when an array is gone through: the same of what is stored as one. */
export const writtenRunsOf = ({ chunks, writeGrid = chunks, dtype }: BlockSource): ChunkGrid =>
  writeGrid.coarsen(READ_BYTES / bytesOf(dtype))

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
