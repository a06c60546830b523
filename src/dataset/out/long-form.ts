import { missingElements } from '../../array/missing.ts'
import { missingTest } from '../../array/missing-test.ts'
import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import type { Tensor } from '../../core/tensor.ts'
import type { Selector } from '../../grid/selection.ts'
import { slice } from '../../grid/slice.ts'
import type { Coords } from '../coords.ts'
import type { Calendar } from '../time/calendar.ts'
import { decodeTimes } from '../time/units.ts'
import type { Variable } from '../variable.ts'

/** A column of the long form: labels of a dimension, or values. */
export interface LongColumn {
  readonly name: string
  readonly dtype: DType
  /** Calendar of times, which are instants. */
  readonly calendar: Calendar | undefined
  /** Whether the column has labels of a dimension. */
  readonly isLabel: boolean
}

/** Values of each column in some rows; missing values are undefined. */
export interface LongRows {
  readonly count: number
  readonly columns: readonly (readonly unknown[])[]
}

/** A table of all positions along some dimensions, with a row for each, in C order. */
export interface LongForm {
  readonly columns: readonly LongColumn[]
  /** Yields the rows in parts of some tens of thousands. */
  rows(signal: Signal | undefined): AsyncGenerator<LongRows, void, undefined>
}

/** Number of rows per part. */
const ROWS = 2 ** 16

/** Source of the values of a column. */
interface Source {
  readonly column: LongColumn
  read(ranges: readonly Range[], signal: Signal | undefined): Promise<unknown[]>
}

interface Range {
  readonly start: number
  readonly length: number
}

/**
 * Returns variables in long form, as in pandas. Columns are the labels of each dimension (or its positions),
 * then coordinates, then values. Values are repeated along dimensions that they lack. Coordinates along other
 * dimensions, such as bounds, are omitted. Without variables, all coordinates are values.
 * @throws UnsupportedError for binaries
 */
export function longForm(given: readonly Variable[], coords: Coords): LongForm {
  const variables = given.length > 0 ? given : [...coords.values()]
  const dims = [...new Set(variables.flatMap((variable) => variable.dims))]
  const lengthOf = (dim: string): number => {
    const variable = variables.find((each) => each.dims.includes(dim))!
    return variable.array.shape[variable.dims.indexOf(dim)]!
  }
  const shape = dims.map(lengthOf)
  const names = new Set([...dims, ...variables.map(({ name }) => name)])
  const others = [...coords.values()].filter((coord) => !names.has(coord.name) && coord.dims.every((dim) => dims.includes(dim)))
  const sources = [
    ...dims.map((dim, axis) => labelSource(dim, axis, coords.get(dim))),
    ...[...others, ...variables.filter(({ name }) => !dims.includes(name))].map((variable) => valueSource(variable, dims)),
  ]
  return {
    columns: sources.map(({ column }) => column),
    async *rows(signal) {
      for (const ranges of slabs(shape, variables, dims)) {
        signal?.throwIfAborted()
        const columns = await Promise.all(sources.map((source) => source.read(ranges, signal)))
        yield { count: sizeOf(ranges.map(({ length }) => length)), columns }
      }
    },
  }
}

/**
 * Yields ranges of rows in C order: single positions along the first dimensions, a range along the next, all
 * of the rest.
 */
function* slabs(shape: readonly number[], variables: readonly Variable[], dims: readonly string[]): Generator<Range[]> {
  if (shape.includes(0)) return
  const rowsFrom = (axis: number): number => sizeOf(shape.slice(axis))
  const axis = Math.max(0, shape.findIndex((_, each) => rowsFrom(each + 1) <= ROWS)) // biome-ignore format: one line
  const most = Math.max(1, Math.floor(ROWS / rowsFrom(axis + 1)))
  // Cut at chunk boundaries, so that each chunk serves as few parts as possible.
  const chunk = Math.max(1, ...variables.flatMap(({ array, dims: own }) => array.chunks.axes[own.indexOf(dims[axis]!)]?.chunkLength ?? [])) // biome-ignore format: one line
  const step = most > chunk ? most - (most % chunk) : most
  const outer = shape.slice(0, axis)
  const length = shape[axis] ?? 1
  for (let row = 0; row < sizeOf(outer); row++) {
    let rest = row
    const fixed = outer.map((_, each) => {
      const below = sizeOf(outer.slice(each + 1))
      const start = Math.floor(rest / below)
      rest -= start * below
      return { start, length: 1 }
    })
    for (let start = 0; start < length; start += step) {
      const own = shape.length === 0 ? [] : [{ start, length: Math.min(step, length - start) }]
      yield [...fixed, ...own, ...shape.slice(axis + 1).map((length) => ({ start: 0, length }))]
    }
  }
}

/** Repeats values along the dimensions that they lack, in C order. */
function repeated(
  values: readonly unknown[] | ArrayLike<unknown>,
  ranges: readonly Range[],
  strides: readonly number[],
  offset: number,
): unknown[] {
  let at = Float64Array.of(offset)
  for (const [axis, { length }] of ranges.entries()) {
    const next = new Float64Array(at.length * length)
    for (let i = 0; i < at.length; i++) for (let k = 0; k < length; k++) next[i * length + k] = at[i]! + k * strides[axis]!
    at = next
  }
  return Array.from(at, (place) => values[place])
}

function labelSource(dim: string, axis: number, coord: Variable | undefined): Source {
  const index = coord?.index
  const column = {
    name: dim,
    dtype: index?.kind.calendar ? 'timestamp_ns' : (index?.kind.dtype ?? 'float64'),
    calendar: index?.kind.calendar,
    isLabel: true,
  } as const
  return {
    column,
    read: async (ranges) => {
      const { start, length } = ranges[axis]!
      const labels = Array.from({ length }, (_, i) => (index === undefined ? start + i : index.at(start + i)))
      return repeated(labels, ranges, ranges.map((_, each) => Number(each === axis)), 0) // biome-ignore format: one line
    },
  }
}

function valueSource({ name, array, dims: own, times }: Variable, dims: readonly string[]): Source {
  const { dtype } = array
  if (dtype === 'binary')
    throw new HyperslabError('UnsupportedError', 'binary values are in no table: drop the variable', {
      array: name,
      actual: dtype,
    })
  const isTime = dtype === 'timestamp_ns'
  const column: LongColumn = {
    name,
    dtype: times === undefined ? dtype : 'timestamp_ns',
    calendar: times?.calendar ?? (isTime ? 'proleptic_gregorian' : undefined),
    isLabel: false,
  }
  const isMissing = missingTest(missingElements(array.source)) ?? (() => false)
  // A chunk with many rows also serves the next parts, so it is cached.
  const kept = array.cache()
  const read: Source['read'] = async (ranges, signal) => {
    const picks = own.map((dim): Selector => {
      const { start, length } = ranges[dims.indexOf(dim)]!
      return slice(start, start + length)
    })
    const asked = signal ? { signal } : {}
    const { data, stride, offset } = picks.length === 0 ? await kept.toTensor(asked) : ((await kept.get(picks, asked)) as Tensor)
    const strides = dims.map((dim) => stride[own.indexOf(dim)] ?? 0)
    const elements = repeated(data as ArrayLike<unknown>, ranges, strides, offset)
    const known = elements.map((element) => (isMissing(element) || Number.isNaN(element) ? undefined : element))
    if (times === undefined || isTime)
      return dtype === 'bool' ? known.map((each) => (each === undefined ? each : each !== 0)) : known
    return known.map((each) => (each === undefined ? each : decodeTimes([each as number], times)[0]))
  }
  return { column, read }
}
