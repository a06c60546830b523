import { DiskArray } from '../array/disk-array.ts'
import { viewAxes } from '../array/lazy/axes-view.ts'
import { inMemory } from '../array/lazy/generate.ts'
import { type AxisIndices, indexAt } from '../core/axis-indices.ts'
import type { DType } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { showShape } from '../core/shape.ts'
import { tensorOf, wholeAxis } from '../core/tensor.ts'
import type { Attrs } from './attributes.ts'
import { LabelIndex } from './label-index.ts'
import type { Taken } from './label-selectors.ts'
import type { TimeUnits } from './time/units.ts'

/** Parts of a variable. */
export interface VariableParts {
  readonly name: string
  readonly array: DiskArray
  readonly dims: readonly string[]
  readonly attrs: Attrs
  /** Encoding in xarray's words: the attributes that decoding has used. */
  readonly encoding?: Attrs | undefined
  /** Labels, for a coordinate that labels its dimension. */
  readonly index?: LabelIndex | undefined
  /** Label of a scalar coordinate that a selection has left. */
  readonly scalar?: LabelIndex | undefined
  /** Stored array, for decoded times. */
  readonly stored?: DiskArray | undefined
  /** Stored units, for times. If the array is not `timestamp_ns`, its numbers have these units. */
  readonly times?: TimeUnits | undefined
  /** Attributes that decoding has ignored, each with the reason. */
  readonly warnings?: readonly string[] | undefined
  /** Dimensions that could grow in its file. It may lie along other ones by now. */
  readonly unlimited?: readonly string[] | undefined
  /** For an array with a repeated dimension: original name by the name it has here. */
  readonly repeated?: ReadonlyMap<string, string> | undefined
  /** Grouped dimension and the key of the groups, for a coordinate of groups. */
  readonly grouped?: { readonly dim: string; readonly key: string } | undefined
}

/** A decoded array with dimension names and attributes, lazy. */
export class Variable implements VariableParts {
  readonly name: string
  readonly array: DiskArray
  readonly dims: readonly string[]
  readonly attrs: Attrs
  readonly encoding: Attrs
  readonly index: LabelIndex | undefined
  readonly scalar: LabelIndex | undefined
  readonly stored: DiskArray | undefined
  readonly times: TimeUnits | undefined
  readonly grouped: VariableParts['grouped']
  readonly warnings: readonly string[]
  readonly unlimited: readonly string[]
  readonly repeated: VariableParts['repeated']

  /** @throws InvalidArgumentError unless each axis has a different name */
  constructor({
    name,
    array,
    dims,
    attrs,
    encoding = {},
    index,
    scalar,
    stored,
    times,
    grouped,
    warnings = [],
    unlimited = [],
    repeated,
  }: VariableParts) {
    if (dims.length !== array.rank || new Set(dims).size < dims.length) {
      const text = `dimensions [${dims.join(', ')}] of an array of shape ${showShape(array.shape)}: each axis needs a name of its own`
      throw new HyperslabError('InvalidArgumentError', text, { ...array.source.label, array: name, actual: dims })
    }
    this.name = name
    this.array = array
    this.dims = dims
    this.attrs = attrs
    this.encoding = encoding
    this.index = index
    this.scalar = scalar
    this.stored = stored
    this.times = times
    this.grouped = grouped
    this.warnings = warnings
    this.unlimited = unlimited
    this.repeated = repeated
  }

  /** Returns the variable with some parts replaced. */
  with(parts: Partial<VariableParts>): Variable {
    return new Variable({ ...this.#parts, ...parts })
  }

  /** Selects along some dimensions; a position drops its dimension. */
  take(taken: ReadonlyMap<string, Taken>): Variable {
    const own = this.dims.filter((dim) => taken.has(dim))
    if (own.length === 0) return this
    let result: Variable = this
    for (const dim of own) result = result.#takeOne(dim, taken.get(dim)!)
    return result
  }

  #takeOne(dim: string, taken: Taken): Variable {
    const axis = this.dims.indexOf(dim)
    if ('position' in taken) {
      const positions = { start: taken.position, step: 1, length: 1 }
      const array = alongAxis(this.array, axis, positions, true)
      const dims = this.dims.filter((each) => each !== dim)
      return this.with({ array, dims, index: undefined, stored: undefined, scalar: this.index?.take(positions) })
    }
    const array = alongAxis(this.array, axis, joinPositions(taken.parts.map(({ positions }) => positions)), false)
    const { index } = this
    if (index === undefined) return this.with({ array, stored: undefined })
    const shifted = ({ positions, shift }: (typeof taken.parts)[number]): LabelIndex =>
      shift === 0 ? index.take(positions) : index.take(positions).map((label) => (label as number) + shift)
    const labels = LabelIndex.join(taken.parts.map(shifted))
    const isShifted = taken.parts.some(({ shift }) => shift !== 0)
    return this.with({ array: isShifted ? arrayOfLabels(labels, this.array.dtype) : array, index: labels })
  }

  get #parts(): VariableParts {
    const { name, array, dims, attrs, encoding, index, scalar, stored, times, grouped, warnings, unlimited, repeated } = this
    return { name, array, dims, attrs, encoding, index, scalar, stored, times, grouped, warnings, unlimited, repeated }
  }
}

/** Selects positions of one axis, which `drop` removes. */
function alongAxis(array: DiskArray, axis: number, positions: AxisIndices<Float64Array>, drop: boolean): DiskArray {
  const picks = array.shape.map((length, each) => (each === axis ? positions : wholeAxis(length)))
  const order = [...array.shape.keys()].filter((each) => !drop || each !== axis)
  return new DiskArray(viewAxes(array.source, { picks, order }))
}

function joinPositions(parts: readonly AxisIndices<Float64Array>[]): AxisIndices<Float64Array> {
  if (parts.length === 1) return parts[0]!
  return Float64Array.from(parts.flatMap((part) => Array.from({ length: part.length }, (_, i) => indexAt(part, i))))
}

/** Returns the labels of an index as an array in memory. */
export const arrayOfLabels = ({ values }: LabelIndex, dtype: DType): DiskArray =>
  listArray(dtype, ArrayBuffer.isView(values) ? values : Array.from(values as ArrayLike<unknown>))

/** Returns a one-dimensional array of data in memory: a typed array, or a list of strings or binaries. */
export const listArray = (dtype: DType, data: ArrayLike<unknown>): DiskArray =>
  new DiskArray({ ...inMemory(tensorOf(dtype, [data.length], data as never)), dtype })
