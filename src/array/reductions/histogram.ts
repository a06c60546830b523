import { invalidArgument, isHyperslabError } from '../../core/errors.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import type { BlockOptions, BlockSource } from '../source.ts'
import { checkFoldable } from './fold-kinds.ts'
import { divideExtrema } from './reduce.ts'
import { type Row, RowReader, type SkipOptions, skippedOf } from './rows.ts'
import { addRows, foldRuns, oneCell } from './runs.ts'
import { type DividedReduction, reduceWhole, UNIT_BYTES, unitsOf } from './units.ts'

/** Options of `histogram`. */
export interface HistogramOptions extends BlockOptions, SkipOptions {
  /** Number of bins of equal width (default 10), or their ascending edges. */
  readonly bins?: number | ArrayLike<number>
  /**
   * First and last edge of bins of equal width; by default minimum and maximum of the array, which requires a
   * second pass over its chunks.
   */
  readonly range?: readonly [number, number]
}

/**
 * Elements counted by value (`counts`). Bin k counts values from `edges[k]` up to, but excluding, `edges[k +
 * 1]`. The last bin includes its upper edge.
 */
export interface Histogram {
  readonly counts: Tensor<'float64'>
  /** Edges of the bins; one more than bins. */
  readonly edges: Tensor<'float64'>
}

export async function histogram(source: BlockSource, options: HistogramOptions): Promise<Histogram> {
  checkFoldable('histogram', source.dtype)
  const { bins = 10 } = options
  const { skipMissing = true, signal } = options
  const extrema = (): Promise<{ min: unknown; max: unknown }> => {
    const skips = { skipNaN: true, skipMissing, signal }
    return reduceWhole(divideExtrema(source, skips, UNIT_BYTES), skips)
  }
  const range = options.range ?? (isCount(bins) ? await histogramRange(extrema) : undefined)
  return reduceWhole(divideHistogram(source, { ...options, ...(range && { range }) }, UNIT_BYTES), options)
}

/** Divides a histogram whose bins are known in advance: by their edges, or by the range of equal bins. */
export function divideHistogram(
  source: BlockSource,
  options: HistogramOptions,
  unitBytes: number,
): DividedReduction<Float64Array, Histogram> {
  checkFoldable('histogram', source.dtype)
  const { bins = 10, range } = options
  if (isCount(bins) && range === undefined)
    invalidArgument(
      'a histogram in parts takes a `range`, or `bins` as their edges: finding it takes a reduction of its own',
      range,
    )
  const edges = isCount(bins) ? evenly(bins, range!) : checkEdges(bins)
  const units = unitsOf(source, unitBytes)
  return {
    units,
    merge: (parts) => parts.reduce((sum, part) => sum.map((count, bin) => count + part[bin]!)),
    absorb: () => undefined,
    async reduce(from, to, tree, { signal }) {
      const counts = new Float64Array(edges.length - 1)
      const reader = new RowReader(source.dtype, 'float', skippedOf(source, options))
      const { fill } = reader.skipped
      const find = isCount(bins) ? finder(edges) : (x: number) => search(edges, x)
      const [low, high] = [edges[0]!, edges.at(-1)!]
      const repeat = (value: number, times: number): void => {
        if (value >= low && value <= high) counts[find(value)]! += times
      }
      const row: Row<Float64Array> = (values, at, length) => {
        for (let i = at; i < at + length; i++) {
          const x = values[i]!
          // NaN belongs to no bin.
          if (x >= low && x <= high && x !== fill) counts[find(x)]!++
        }
      }
      const one = oneCell(source)
      await foldRuns(
        source,
        reader,
        one,
        { add: addRows(reader, one, row), repeat },
        { signal, runs: units, between: [from, to] },
      )
      tree.add(counts)
    },
    finish: (counts = new Float64Array(edges.length - 1)) => ({
      counts: tensorOf('float64', [counts.length], counts),
      edges: tensorOf('float64', [edges.length], edges),
    }),
  }
}

function isCount(bins: number | ArrayLike<number>): bins is number {
  if (typeof bins !== 'number') return false
  if (!(Number.isSafeInteger(bins) && bins >= 1))
    invalidArgument(`the number of bins must be a positive integer, got ${bins}`, bins)
  return true
}

function evenly(bins: number, [low, high]: readonly [number, number]): Float64Array {
  if (!(Number.isFinite(low) && Number.isFinite(high) && low <= high))
    invalidArgument(`there are no bins from ${low} to ${high}`, [low, high])
  // As in numpy, equal values get a range of width 1 around them; large numbers a range wide enough for
  // distinct edges.
  const margin = low < high ? 0 : Math.max(0.5, bins * Math.abs(low) * 2 ** -52)
  const [from, to] = [low - margin, high + margin]
  const width = to - from
  const edges = Float64Array.from({ length: bins + 1 }, (_, k) =>
    Number.isFinite(width) ? from + width * (k / bins) : from * (1 - k / bins) + to * (k / bins),
  )
  edges[bins] = to
  return edges
}

function checkEdges(given: ArrayLike<number>): Float64Array {
  const edges = Float64Array.from(given)
  const ascending = edges.length >= 2 && edges.every((edge, k) => k === 0 || edge > edges[k - 1]!)
  if (!ascending) invalidArgument('edges of bins must be two or more ascending numbers', Array.from(edges))
  return edges
}

/** Returns the range of the bins from the minimum and maximum, which exclude NaN. */
export async function histogramRange(extrema: () => Promise<{ min: unknown; max: unknown }>): Promise<[number, number]> {
  try {
    const { min, max } = await extrema()
    return [Number(min), Number(max)]
  } catch (error) {
    // As in numpy, an empty array has bins, too.
    if (isHyperslabError(error, 'EmptyReductionError')) return [0, 1]
    throw error
  }
}

/**
 * Returns a function that finds the bin of a value among equal bins. It divides, then corrects the result by
 * the edges, which are rounded.
 */
function finder(edges: Float64Array): (x: number) => number {
  const last = edges.length - 2
  const low = edges[0]!
  const scale = (last + 1) / (edges.at(-1)! - low)
  if (scale === 0) return (x) => search(edges, x)
  return (x) => {
    let k = Math.min(last, Math.floor((x - low) * scale))
    while (k > 0 && x < edges[k]!) k--
    while (k < last && x >= edges[k + 1]!) k++
    return k
  }
}

function search(edges: Float64Array, x: number): number {
  let [low, high] = [0, edges.length - 2]
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (x >= edges[middle]!) low = middle
    else high = middle - 1
  }
  return low
}
