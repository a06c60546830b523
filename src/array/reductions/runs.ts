import { cellBox, eachCell } from '../../aggregate/cells.ts'
import { allocate, type DataOf, type DType, fillElement, isFixed, type TypedArray } from '../../core/dtype.ts'
import { ahead } from '../../core/in-order.ts'
import { Pace } from '../../core/pace.ts'
import { sizeOf } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { type ChunkGrid, READ_BYTES } from '../../grid/chunks.ts'
import { type Box, boxShape, wholeBox } from '../../grid/range.ts'
import { cutBox, TouchedChunks } from '../../grid/touched.ts'
import { checkBytes, MAX_RESULT_BYTES } from '../bounds.ts'
import { runsOf } from '../read-whole.ts'
import { type BlockOptions, type BlockSource, bytesOf } from '../source.ts'
import { checkElements } from '../visit.ts'
import type { Row, RowReader } from './rows.ts'

/**
 * A part of an array with its elements, dense, in C order. They are valid until the next run, which reuses
 * their memory.
 */
export interface Run<D extends DType = DType> {
  readonly box: Box
  readonly tensor: Tensor<D>
}

export interface RunOptions extends BlockOptions {
  /** Parts to read at once; by default runs of neighbouring chunks of some MiB. */
  readonly runs?: ChunkGrid
  /** Numbers of the first run and of the one after the last; default all runs. */
  readonly between?: readonly [from: number, to: number]
  /**
   * Number of runs that are read or waiting at a time; default 2. With 1, a run is read only after the
   * previous one was processed.
   */
  readonly atOnce?: number
  /**
   * Receives unwritten runs, merged to boxes as large as possible. Optional: without it, they are processed
   * like others.
   */
  readonly unwritten?: ((box: Box) => Promise<unknown>) | undefined
}

/** A box to read, or an unwritten one. */
interface Part {
  readonly box: Box
  readonly isWritten: boolean
}

/**
 * Processes an array in C order of its runs, each once; reads one run while another is processed.
 * @throws TooLargeError if there are more elements than the source allows, or one chunk of more than 2 GiB
 * @param take may return true, like `unwritten`, to stop; nothing more is read then
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
  for await (const part of ahead(writtenParts(runs, written, between), limits, read)) {
    if ('tensor' in part) {
      if (take(part) === true) return
      if (isFixed(dtype)) free.push(part.buffer as TypedArray)
    } else if ((await unwritten!(part)) === true) return
  }
}

/** Yields runs with written elements one by one, the others merged. */
function* writtenParts(
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

/** Returns the runs of an array for writing: whole stored objects of some MiB. */
export const divideIntoWrittenRuns = ({ chunks, writeGrid = chunks, dtype }: BlockSource): ChunkGrid =>
  writeGrid.coarsen(READ_BYTES / bytesOf(dtype))

/** Number of cells that are visited without yielding to the event loop. */
export const MOST_CELLS = 2 ** 16

/** Cells of a reduction, for example a `CellLayout`. */
export interface CellPositions {
  readonly reduced: readonly boolean[]
  readonly stride: readonly number[]
  /** Returns the cell of the first element of a box, which belongs to a group if there are some. */
  first(box: Box, group?: number): number
  /** Returns the groups of the elements of a box, with the number of elements of each in a cell. */
  groupsIn?(box: Box): Iterable<readonly [group: number, times: number]>
}

/** Rules for adding the elements of runs to cells. */
export interface RunFold {
  /** Adds the elements of a run. */
  add(run: Run): void
  /** Adds `times` elements of one value to a cell. Optional: without it, unwritten elements are read, too. */
  repeat?(value: never, times: number, cell: number): void
  /** Whether further elements cannot change the result. */
  decided?(): boolean
}

export function unwrittenElement<D extends DType>({ dtype, fillValue }: BlockSource<D>): Tensor<D> {
  return tensorOf(dtype, [1], [fillElement(dtype, fillValue)] as unknown as DataOf<D>)
}

/** Returns an unwritten element as a reader passes it on; undefined if it is skipped. */
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
 * Adds the elements of an array to cells. Visits the cells of each unwritten box once, with the number of
 * their elements, and ignores unwritten elements if they are skipped.
 */
export async function foldRuns(
  source: BlockSource,
  reader: RowReader,
  cells: CellPositions,
  fold: RunFold,
  options: Omit<RunOptions, 'unwritten' | 'atOnce'>,
): Promise<void> {
  const known = unwrittenValue(source, reader)
  const pace = new Pace(options.signal)
  const unwritten = async (box: Box): Promise<unknown> => {
    if (known === undefined) return
    const region = cellBox(box, cells.reduced)
    const groups = cells.groupsIn?.(box) ?? [[0, sizeOf(boxShape(box)) / sizeOf(boxShape(region))]]
    for (const [group, times] of groups)
      for (const part of cutBox(region, MOST_CELLS)) {
        if (pace.due()) await pace.turn()
        eachCell(boxShape(part), cells.first(part, group), cells.stride, (_, cell) =>
          fold.repeat!(known.value as never, times, cell),
        )
      }
    return fold.decided?.()
  }
  const repeats = fold.repeat !== undefined || known === undefined
  await eachRun(source, { ...options, ...(repeats && { unwritten }), ...(fold.decided && { atOnce: 1 }) }, (run) => {
    fold.add(run)
    return fold.decided?.()
  })
}

/** Returns a function that passes the elements of runs to `row`, with their cells. */
export const addRows =
  (reader: RowReader, cells: CellPositions, row: Row): RunFold['add'] =>
  ({ box, tensor }) =>
    readRows(reader, tensor, cells, cells.first(box), row)

/** Passes the elements of a tensor to `row`; the first one belongs to the cell `first`. */
export function readRows(
  reader: RowReader,
  tensor: Tensor,
  { stride }: Pick<CellPositions, 'stride'>,
  first: number,
  row: Row,
): void {
  reader.each(tensor, { start: first, stride }, { start: 0, stride: stride.map(() => 0) }, row)
}

/** Returns the cells of a whole array as one. */
export const oneCell = ({ shape }: BlockSource): CellPositions => ({
  reduced: shape.map(() => true),
  stride: shape.map(() => 0),
  first: () => 0,
})
