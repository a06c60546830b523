import { allocate, type DataOf, type DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import type { BlockOptions, BlockSource } from '../source.ts'
import { type Row, RowReader, type SkipOptions, skippedOf } from './rows.ts'
import { addRows, foldRuns, oneCell, type Run } from './runs.ts'
import { type DividedReduction, unitsOf } from './units.ts'

/** Options of `unique`. */
export interface UniqueOptions extends BlockOptions, SkipOptions {
  /** Largest number of distinct values that may be held; default one million. */
  readonly limit?: number
}

/**
 * The distinct `values` of an array in ascending order, and the number of each (`counts`). All NaNs count as
 * one value, which is last.
 */
export interface Unique<D extends DType> {
  readonly values: Tensor<D>
  readonly counts: Tensor<'float64'>
}

const LIMIT = 1_000_000

/** Distinct values with the number of each. */
export interface CountedValues {
  readonly values: DataOf<DType>
  readonly counts: Float64Array
}

/** Divides the search for distinct values, within the limit. */
export function divideUnique(
  source: BlockSource,
  options: UniqueOptions,
  unitBytes: number,
): DividedReduction<CountedValues, Unique<DType>> {
  const { dtype } = source
  if (dtype === 'binary') throw new HyperslabError('UnsupportedError', 'there is no order of binary values', { actual: dtype })
  const { limit = LIMIT } = options
  const units = unitsOf(source, unitBytes)
  const checkCount = (count: number): void => {
    if (count <= limit) return
    const text = `there are more than ${limit} different values; raise \`limit\` to hold them`
    throw new HyperslabError('TooLargeError', text, { actual: count, expected: limit })
  }
  const sorted = (counts: ReadonlyMap<unknown, number>): CountedValues => {
    const list = [...counts].sort(([a], [b]) => compare(a as number, b as number))
    const values = allocate(dtype, list.length)
    for (const [i, [value]] of list.entries()) values[i] = value as never
    return { values, counts: Float64Array.from(list, ([, count]) => count) }
  }
  return {
    units,
    merge(parts) {
      const counts = new Map<unknown, number>()
      for (const { values, counts: more } of parts)
        for (let i = 0; i < values.length; i++) counts.set(values[i], (counts.get(values[i]) ?? 0) + more[i]!)
      checkCount(counts.size)
      return sorted(counts)
    },
    absorb: () => undefined,
    async reduce(from, to, tree, { signal }) {
      tree.add(sorted(await countValues(source, options, { runs: units, between: [from, to], signal }, checkCount)))
    },
    finish({ values, counts } = sorted(new Map())) {
      return { values: tensorOf(dtype, [values.length], values as never), counts: tensorOf('float64', [counts.length], counts) }
    },
  }
}

/** Counts each value of some units. */
async function countValues(
  source: BlockSource,
  options: UniqueOptions,
  {
    signal,
    ...reading
  }: { readonly runs: ChunkGrid; readonly between: readonly [number, number]; readonly signal?: Signal | undefined },
  checkCount: (count: number) => void,
): Promise<ReadonlyMap<unknown, number>> {
  const counts = new Map<unknown, number>()
  const reader = new RowReader(source.dtype, 'raw', skippedOf(source, options))
  const { fill, nan } = reader.skipped
  const count = (value: unknown, more: number): void => void counts.set(value, (counts.get(value) ?? 0) + more)
  // Equal values are often contiguous.
  let last: unknown
  let times = 0
  const note = (): void => {
    if (times > 0) count(last, times)
    times = 0
  }
  const row: Row<ArrayLike<unknown>> = (values, at, length) => {
    for (let i = at; i < at + length; i++) {
      const x = values[i]
      if (x === fill || (nan && Number.isNaN(x))) continue
      if (x !== last) {
        note()
        last = x
      }
      times++
    }
  }
  const one = oneCell(source)
  const addAll = addRows(reader, one, row as never)
  const add = (run: Run): void => {
    addAll(run)
    note()
    checkCount(counts.size)
  }
  await foldRuns(source, reader, one, { add, repeat: count }, { signal, ...reading })
  return counts
}

function compare(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b))
  return a < b ? -1 : a > b ? 1 : 0
}
