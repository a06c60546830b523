import { type DType, isFloat } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { quoted } from '../../core/quoted.ts'
import { ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { byAxis } from '../by-axis.ts'
import { DiskArray } from '../disk-array.ts'
import { deriveSource } from '../lazy/derive.ts'
import { withOneMissing } from '../lazy/replace-missing.ts'
import { isAnyMissing, type MissingOf, missingElements, NOT_A_NUMBER, NOTHING } from '../missing.ts'
import { sourceOf } from '../operand.ts'
import type { BlockSource } from '../source.ts'
import {
  checkFoldable,
  checkKind,
  type FoldedDType,
  type FoldKind,
  foldedDType,
  type RankKind,
  shareOf,
  type WindowOptions,
  type Windows,
} from './fold-kinds.ts'

/** Lengths along some axes, by dimension name or number. */
export type AxisLengths = { readonly [axis: string]: number }

export const WINDOW_CHECKS: Checks<WindowOptions> = { skipMissing: 'boolean', skipNaN: 'boolean', ddof: 'number', q: 'number' }

/** Largest number of source chunks along an axis that a chunk of a coarsened array is computed from. */
const MOST_CHUNKS = 16

/**
 * Returns the array with every block of positions reduced to one: `coarsen(tas, { lat: 2, lon: 2 }, 'mean')`.
 * If an axis does not divide evenly, its last block is shorter. Reading is lazy; each read reads the chunks
 * of its blocks once. A block whose elements are all missing is missing, too: NaN for floats, means and
 * variances. Its sum is 0. Medians and quantiles (`'quantile', { q: 0.9 }`) are linearly interpolated.
 * @throws InvalidArgumentError for axes that do not exist or factors that are not positive integers;
 *   UnsupportedError for types that the kind is not defined for
 * @example
 * const t = generate((i) => i, { dtype: 'float32', shape: [6], dimensionNames: ['lat'] })
 * console.log((await coarsen(t, { lat: 2 }, 'mean').get()).data) // Float64Array(3) [ 0.5, 2.5, 4.5 ]
 */
export function coarsen<D extends DType, K extends FoldKind | RankKind, R extends number = number>(
  array: DiskArray<D, R>,
  factors: AxisLengths,
  kind: K,
  options: WindowOptions = {},
): DiskArray<FoldedDType<D, K>, R> {
  const source = sourceOf('coarsen', array)
  checkOptions('coarsen', options, WINDOW_CHECKS, source.label)
  checkKind('coarsen', kind, source)
  return coarsenBy(array as never, checkSizes(source, factors), kind, options) as DiskArray as DiskArray<never, R>
}

/** Coarsens by a factor for each axis, already checked. */
export function coarsenBy(
  { source }: DiskArray,
  sizes: readonly number[],
  kind: FoldKind | RankKind,
  options: WindowOptions,
): DiskArray {
  const axes = source.chunks.axes.map(({ chunkLength }, axis) => {
    const [length, size] = [source.shape[axis]!, sizes[axis]!]
    const common = divisor(chunkLength, size)
    // Uses whole chunks of the source, unless these are very many.
    const blocks = size / common <= MOST_CHUNKS ? chunkLength / common : Math.ceil(chunkLength / size)
    return new RegularChunks(blocks, Math.ceil(length / size))
  })
  return new DiskArray(windowSource(source, sizes, sizes, axes, kind, options))
}

/**
 * Returns the array of reductions of every window of neighbouring positions:
 * `slidingWindows(tas, { time: 5 }, 'mean')`. Position i of the result covers the positions from i on, so an
 * axis of n positions keeps n - size + 1. Reading is lazy. Missing elements are treated as by
 * {@link coarsen}.
 * @throws InvalidArgumentError for axes that do not exist or windows that do not fit in them;
 *   UnsupportedError for types that the kind is not defined for
 * @example
 * const t = generate((i) => i, { dtype: 'float32', shape: [5], dimensionNames: ['time'] })
 * console.log((await slidingWindows(t, { time: 3 }, 'sum').get()).data) // Float64Array(3) [ 3, 6, 9 ]
 */
export function slidingWindows<D extends DType, K extends FoldKind | RankKind, R extends number = number>(
  array: DiskArray<D, R>,
  windows: AxisLengths,
  kind: K,
  options: WindowOptions = {},
): DiskArray<FoldedDType<D, K>, R> {
  const source = sourceOf('slidingWindows', array)
  checkOptions('slidingWindows', options, WINDOW_CHECKS, source.label)
  checkKind('slidingWindows', kind, source)
  return rollingBy(array as never, checkSizes(source, windows), kind, options) as DiskArray as DiskArray<never, R>
}

/** Rolls by a window length for each axis, already checked. */
export function rollingBy(
  { source }: DiskArray,
  sizes: readonly number[],
  kind: FoldKind | RankKind,
  options: WindowOptions,
): DiskArray {
  const axes = source.chunks.axes.map(({ chunkLength, offset }, axis) => {
    const [length, size] = [source.shape[axis]!, sizes[axis]!]
    if (size > Math.max(1, length)) {
      throw new HyperslabError('InvalidArgumentError', `windows of ${size} do not fit in axis ${axis} of length ${length}`, {
        ...source.label,
        axis,
        actual: size,
        expected: length,
      })
    }
    return new RegularChunks(chunkLength, Math.max(0, length - size + 1), offset)
  })
  const steps = sizes.map(() => 1)
  return new DiskArray(windowSource(source, sizes, steps, axes, kind, options))
}

function checkSizes(source: BlockSource<DType>, given: AxisLengths): number[] {
  const sizes = source.shape.map(() => 1)
  for (const [axis, size] of byAxis(given, source)) {
    if (!Number.isSafeInteger(size) || size < 1) {
      throw new HyperslabError('InvalidArgumentError', `windows need a positive integer, got ${quoted(size)} for axis ${axis}`, {
        ...source.label,
        axis,
        actual: size,
      })
    }
    sizes[axis] = size
  }
  return sizes
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))

/**
 * Returns the facts about windows' results. Windows without elements are missing, except sums, products and
 * counts, which are 0 or 1.
 */
function kindOf(source: BlockSource, dtype: DType, kind: FoldKind | RankKind, { skipMissing = true }: WindowOptions): MissingOf {
  const extreme = kind === 'min' || kind === 'max'
  if (extreme && (!skipMissing || !isFloat(dtype))) return source
  const some = skipMissing && isAnyMissing(missingElements(source))
  if (!some || kind === 'sum' || kind === 'prod' || kind.startsWith('count')) return { dtype, missing: NOTHING }
  return { dtype, fillValue: Number.NaN, missing: NOT_A_NUMBER }
}

/** Creates a source of windows of `sizes` every `steps` positions, each folded into one element. */
function windowSource(
  source: BlockSource,
  sizes: readonly number[],
  steps: readonly number[],
  axes: readonly RegularChunks[],
  kind: FoldKind | RankKind,
  options: WindowOptions,
): BlockSource {
  checkFoldable(kind, source.dtype)
  shareOf(kind, options)
  const dtype = foldedDType(source.dtype, kind)
  const chunks = new ChunkGrid(axes)
  const one = withOneMissing(source, options)
  const windows: Windows = { source: one, sizes, steps, kind, options }
  const readBlock: BlockSource['readBlock'] = async (box, out, { signal } = {}) => {
    const { foldWindows } = await import('./window-fold.ts')
    await foldWindows(windows, chunks, box, out, signal)
  }
  const { fillValue, missing } = kindOf(one, dtype, kind, options)
  return deriveSource<DType>(source, { chunks, capabilities: {}, readBlock }, { dtype, fillValue, missing })
}
