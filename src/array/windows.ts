import type { DType, ScalarOf } from '../core/dtype.js'
import { HyperslabError } from '../core/errors.js'
import { inOrder } from '../core/in-order.js'
import { sizeOf, stridesOf } from '../core/shape.js'
import { type AxisView, copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.js'
import { ChunkGrid, READ_BYTES, RegularChunks } from '../grid/chunks.js'
import { projectBox } from '../grid/projection.js'
import { type Box, boxShape } from '../grid/range.js'
import { resolveAxes } from './axes.js'
import { DiskArray } from './disk-array.js'
import { type FoldedDType, type FoldKind, type FoldOptions, foldedDType, foldOf, modeOf } from './fold.js'
import { checkFoldable, emptyExtreme } from './fold-results.js'
import type { ArrayHandle } from './handle.js'
import { RowReader, type SkipOptions, skippedOf } from './rows.js'
import { type BlockOptions, type BlockSource, bytesOf } from './source.js'

/** Lengths along some axes, by dimension name or number. */
export type Lengths = { readonly [axis: string]: number }

/** How many chunks of the source, along an axis, a chunk of a coarsened array is made of at most. */
const MOST_CHUNKS = 16

export interface WindowOptions extends SkipOptions, FoldOptions {}

/**
 * The array in which every block of so many positions is reduced to one: `coarsen(tas, { lat: 2, lon: 2 }, 'mean')`. Where an axis does not
 * divide evenly, its last block is shorter. Nothing is read before the result is; then the chunks of a block of chunks are read once.
 * @throws InvalidArgumentError for axes that do not exist or factors that are no positive integers; UnsupportedError
 */
export function coarsen<D extends DType, K extends FoldKind>(
  array: ArrayHandle<D>,
  factors: Lengths,
  kind: K,
  options: WindowOptions = {},
): DiskArray<FoldedDType<D, K>> {
  const { source } = array
  const sizes = sizesOf(source, factors)
  const axes = source.chunks.axes.map(({ chunkLength }, axis) => {
    const [length, size] = [source.shape[axis]!, sizes[axis]!]
    const common = divisor(chunkLength, size)
    // Whole chunks of the source, unless these are very many.
    const blocks = size / common <= MOST_CHUNKS ? chunkLength / common : Math.ceil(chunkLength / size)
    return new RegularChunks(blocks, Math.ceil(length / size))
  })
  return new DiskArray(new WindowSource(source, sizes, sizes, axes, kind, options) as BlockSource) as DiskArray<never>
}

/**
 * The array of reductions of every window of so many neighbouring positions: `rolling(tas, { time: 5 }, 'mean')`. Position i of the result
 * is made of the positions from i on, so that an axis of n positions has n - size + 1 of them left. Nothing is read before the result is.
 * @throws InvalidArgumentError for axes that do not exist or windows that do not fit in them; UnsupportedError
 */
export function rolling<D extends DType, K extends FoldKind>(
  array: ArrayHandle<D>,
  windows: Lengths,
  kind: K,
  options: WindowOptions = {},
): DiskArray<FoldedDType<D, K>> {
  const { source } = array
  const sizes = sizesOf(source, windows)
  const axes = source.chunks.axes.map(({ chunkLength, offset }, axis) => {
    const [length, size] = [source.shape[axis]!, sizes[axis]!]
    if (size > Math.max(1, length)) {
      throw new HyperslabError('InvalidArgumentError', `a window of ${size} does not fit in axis ${axis} of length ${length}`, {
        ...source.label,
        axis,
        actual: size,
        expected: length,
      })
    }
    return new RegularChunks(chunkLength, Math.max(0, length - size + 1), offset)
  })
  const steps = sizes.map(() => 1)
  return new DiskArray(new WindowSource(source, sizes, steps, axes, kind, options) as BlockSource) as DiskArray<never>
}

function sizesOf(source: BlockSource<DType>, given: Lengths): number[] {
  const sizes = source.shape.map(() => 1)
  for (const [key, size] of Object.entries(given)) {
    const named = source.dimensionNames?.includes(key) ?? false
    const [axis] = resolveAxes(named || !Number.isInteger(Number(key)) ? key : Number(key), source)
    if (!Number.isSafeInteger(size) || size < 1) {
      throw new HyperslabError('InvalidArgumentError', `windows need a positive integer, got ${size} for axis ${key}`, {
        ...source.label,
        axis: axis!,
        actual: size,
      })
    }
    sizes[axis!] = size
  }
  return sizes
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))

/** Windows of `sizes` every `steps` positions, each folded into one element. */
class WindowSource implements BlockSource {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly chunks: ChunkGrid
  readonly dimensionNames: readonly string[] | undefined
  readonly fillValue: ScalarOf<DType> | undefined
  readonly label: { readonly file?: string; readonly array?: string }
  readonly #source: BlockSource
  readonly #sizes: readonly number[]
  readonly #steps: readonly number[]
  readonly #kind: FoldKind
  readonly #options: WindowOptions

  constructor(
    source: BlockSource<DType>,
    sizes: readonly number[],
    steps: readonly number[],
    axes: readonly RegularChunks[],
    kind: FoldKind,
    options: WindowOptions,
  ) {
    checkFoldable(kind, source.dtype)
    this.dtype = foldedDType(source.dtype, kind)
    this.chunks = new ChunkGrid(axes)
    this.shape = this.chunks.shape
    this.dimensionNames = source.dimensionNames
    this.fillValue = kind === 'min' || kind === 'max' ? source.fillValue : undefined
    this.label = source.label ?? {}
    this.#source = source
    this.#sizes = sizes
    this.#steps = steps
    this.#kind = kind
    this.#options = options
  }

  /** Piece by piece, so that no more of the source is held than some chunks. */
  async readBlock(box: Box, out: Tensor, { signal }: BlockOptions = {}): Promise<void> {
    const bytes = bytesOf(this.#source.dtype) * sizeOf(this.#steps)
    const pieces: { piece: Box; place: readonly AxisView[] }[] = []
    projectBox(box, this.chunks.coarsen(READ_BYTES / bytes), (_, projections) => {
      const place = projections.map(({ outer }) => outer)
      const piece = place.map(({ start, length }, axis) => ({
        start: box[axis]!.start + start,
        stop: box[axis]!.start + start + length,
        step: 1,
      }))
      pieces.push({ piece, place })
    })
    const limits = { count: 2, bytes: 1, bytesOf: () => 0 }
    const read = async (work: (typeof pieces)[number]) => {
      signal?.throwIfAborted()
      const hull = work.piece.map(({ start, stop }, axis) => ({
        start: start * this.#steps[axis]!,
        stop: Math.min(this.#source.shape[axis]!, (stop - 1) * this.#steps[axis]! + this.#sizes[axis]!),
        step: 1,
      }))
      const tensor = tensorOf(this.#source.dtype, boxShape(hull))
      await this.#source.readBlock(hull, tensor, { signal })
      return { ...work, tensor }
    }
    await inOrder(pieces, limits, read, ({ piece, place, tensor }) => {
      copyTensor(this.#folded(boxShape(piece), tensor), viewTensor(out, place))
    })
  }

  /** @param tensor what the windows of the result lie in; only its last blocks may be shorter */
  #folded(shape: readonly number[], tensor: Tensor): Tensor {
    const skipped = skippedOf(this.#source, this.#options)
    const reader = new RowReader(this.#source.dtype, modeOf(this.#kind), skipped)
    const empty = emptyExtreme(skipped)
    const fold = foldOf(this.#kind, this.#source.dtype, sizeOf(shape), reader.skipped, { ...this.#options, empty })
    const cellStride = stridesOf(shape)
    for (const parts of productOf(shape.map((count, axis) => this.#parts(count, tensor.shape[axis]!, axis)))) {
      // Each axis as two: from window to window, and within a window.
      const windows: Tensor = {
        data: tensor.data,
        shape: parts.flatMap(({ count, size }) => [count, size]),
        stride: tensor.stride.flatMap((step, axis) => [step * this.#steps[axis]!, step]),
        offset: parts.reduce((at, { first }, axis) => at + first * this.#steps[axis]! * tensor.stride[axis]!, 0),
      }
      const cells = {
        start: parts.reduce((at, { first }, axis) => at + first * cellStride[axis]!, 0),
        stride: cellStride.flatMap((step) => [step, 0]),
      }
      reader.each(windows, cells, { start: 0, stride: windows.shape.map(() => 0) }, fold.row)
    }
    return tensorOf(this.dtype, shape, fold.finish() as never)
  }

  /** The windows along an axis, the shorter one at the end apart. */
  #parts(count: number, length: number, axis: number): Part[] {
    const [size, step] = [this.#sizes[axis]!, this.#steps[axis]!]
    const rest = length - (count - 1) * step
    if (rest >= size) return [{ first: 0, count, size }]
    return [...(count > 1 ? [{ first: 0, count: count - 1, size }] : []), { first: count - 1, count: 1, size: rest }]
  }
}

interface Part {
  readonly first: number
  readonly count: number
  readonly size: number
}

const productOf = (axes: readonly (readonly Part[])[]): Part[][] =>
  axes.reduce<Part[][]>((all, parts) => all.flatMap((some) => parts.map((part) => [...some, part])), [[]])
