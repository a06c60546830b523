import { DiskArray } from '../array/disk-array.ts'
import { viewAxes } from '../array/lazy/axes-view.ts'
import { deriveSource } from '../array/lazy/derive.ts'
import { elementwise } from '../array/lazy/elementwise.ts'
import { missingElements, NOT_A_NUMBER, NOTHING } from '../array/missing.ts'
import { checkFoldable, foldedDType } from '../array/reductions/fold-kinds.ts'
import { type BlockSource, bytesOf } from '../array/source.ts'
import { type DType, isFloat, toElement } from '../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { sizeOf } from '../core/shape.ts'
import { wholeAxis } from '../core/tensor.ts'
import { toTimestamp } from '../core/timestamp.ts'
import { ChunkGrid, READ_BYTES, RegularChunks } from '../grid/chunks.ts'
import { subsetChunks } from '../grid/derived-chunks.ts'
import { dropAttributes } from './attributes.ts'
import { asFloats } from './cast-float.ts'
import { type Labelled, takeCoords } from './coords.ts'
import type { Replacement } from './elements.ts'
import type { Taken } from './label-selectors.ts'
import {
  asNumbers,
  checkDim,
  keepingMissing,
  namedDims,
  REDUCE_CHECKS,
  type ReduceDimsOptions,
  reducedKind,
  reducedTo,
  skipping,
} from './reductions.ts'
import { NAT } from './time/instant.ts'
import type { Variable } from './variable.ts'

/** Options of `diff`. */
export interface DiffOptions {
  /** Number of times that differences are formed. Default: 1. */
  readonly n?: number
  /**
   * Whether a difference has the label of its second value (`upper`, default) or of its first. For `n` above
   * 1, `lower` applies to the first differences alone, as in xarray.
   */
  readonly label?: 'upper' | 'lower'
}

/** Options of `shift`. */
export interface ShiftOptions {
  /** Value at the positions that become free. Default: they are missing, so integers become floats. */
  readonly fillValue?: Replacement
}

const DIFF: Checks<DiffOptions> = { n: 'integer from 0', label: ['upper', 'lower'] }
const SHIFT: Checks<ShiftOptions> = { fillValue: 'value' }
const CUMSUM: Checks<Pick<ReduceDimsOptions, 'skipMissing'>> = { skipMissing: 'boolean' }

/** Parts of a variable that its old axes describe. */
const reordered = (variable: Variable, array: DiskArray, dims: readonly string[]): Variable =>
  variable.with({ array, dims, stored: undefined, encoding: dropAttributes(variable.encoding, ['chunks']) })

/**
 * Reorders the dimensions; by default, it reverses them.
 * @throws InvalidArgumentError unless each dimension is named once
 */
export function transposed({ variable, coordinates }: Labelled, order?: readonly string[]): Labelled {
  const { name, dims } = variable
  const to = order ?? [...dims].reverse()
  checkValue('transpose', 'order', to, 'list of strings', { array: name })
  for (const dim of to) checkDim(dim, dims, { array: name })
  if (new Set(to).size < to.length || to.length < dims.length) {
    const text = `transpose takes each of the dimensions ${dims.join(', ')} once, got ${to.join(', ')}`
    throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: to, expected: dims })
  }
  const turned = (each: Variable): Variable => {
    const own = to.filter((dim) => each.dims.includes(dim))
    if (own.every((dim, axis) => dim === each.dims[axis])) return each
    return reordered(each, each.array.transpose(own.map((dim) => each.dims.indexOf(dim))), own)
  }
  return { variable: turned(variable), coordinates: new Map([...coordinates].map(([key, coord]) => [key, turned(coord)])) }
}

/**
 * Returns the selection that drops dimensions of length 1: the named ones, or all.
 * @throws InvalidArgumentError for dimensions that do not exist or have another length
 */
export function squeezed({ name, dims, array }: Variable, axis?: string | readonly string[]): Map<string, Taken> {
  const lengthOf = (dim: string): number => array.shape[dims.indexOf(dim)]!
  const given = axis === undefined ? dims.filter((dim) => lengthOf(dim) === 1) : typeof axis === 'string' ? [axis] : axis
  checkValue('squeeze', 'axis', given, 'list of strings', { array: name })
  for (const dim of given) {
    checkDim(dim, dims, { array: name })
    if (lengthOf(dim) === 1) continue
    const text = `${dim} is of length ${lengthOf(dim)}: squeeze drops dimensions of length 1`
    throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: lengthOf(dim), expected: 1 })
  }
  return new Map(given.map((dim) => [dim, { position: 0 }]))
}

/**
 * Adds a dimension of length 1. A scalar coordinate of its name becomes its label.
 * @param axis position of the new dimension; negative ones count from the end
 * @throws InvalidArgumentError if the name is used, or the position is out of range
 */
export function expanded({ variable, coordinates }: Labelled, dim: string, axis = 0): Labelled {
  const { name, dims, array } = variable
  checkValue('expandDims', 'name', dim, 'string', { array: name })
  const coord = coordinates.get(dim)
  if (dims.includes(dim) || (coord !== undefined && coord.dims.length > 0))
    throw new HyperslabError('InvalidArgumentError', `there is a dimension or coordinate ${dim} already`, {
      array: name,
      actual: dim,
    })
  const more = array.expandDims(axis, dim)
  const all = [...dims]
  all.splice(axis < 0 ? dims.length + 1 + axis : axis, 0, dim)
  const known = new Map(coordinates)
  if (coord !== undefined) known.set(dim, labelOf(coord, dim))
  return { variable: reordered(variable, more, all).with({ index: undefined }), coordinates: known }
}

function labelOf(coord: Variable, dim: string): Variable {
  const { scalar, array } = coord
  if (scalar !== undefined)
    return coord.with({ array: array.expandDims(0, dim), dims: [dim], index: scalar.along(dim), scalar: undefined })
  const text = `the value of ${dim} is not in memory, so it labels no dimension: rename or drop the coordinate`
  throw new HyperslabError('UnsupportedError', text, { array: coord.name, actual: dim })
}

/**
 * Forms the differences of neighbours along a dimension, as {@link combineArrays} subtracts. Each read of
 * differences reads their values once.
 * @throws InvalidArgumentError for a dimension that does not exist, and for invalid options; UnsupportedError
 *   for values that are not numbers
 */
export function differences({ variable, coordinates }: Labelled, dim: string, options: DiffOptions = {}): Labelled {
  const { name, dims, array } = variable
  checkOptions('diff', options, DIFF, { array: name })
  checkDim(dim, dims, { array: name })
  const { n = 1, label = 'upper' } = options
  const axis = dims.indexOf(dim)
  const length = array.shape[axis]!
  const steps = Math.min(n, length)
  let { source } = asFloats(array, name)
  for (let i = 0; i < steps; i++) source = differenceSource(source, axis)
  const start = label === 'upper' ? steps : Math.max(0, steps - 1)
  const positions = { start, step: 1, length: length - steps }
  return {
    variable: reducedTo(asNumbers(variable), new DiskArray(source), dims),
    coordinates: takeCoords(coordinates, new Map([[dim, { parts: [{ positions, shift: 0 }] }]])),
  }
}

function differenceSource(source: BlockSource, axis: number): BlockSource {
  const axes = source.chunks.axes.map((chunks, each) =>
    each === axis
      ? subsetChunks(chunks, { start: Math.min(1, chunks.length), step: 1, length: Math.max(0, chunks.length - 1) })
      : chunks,
  )
  return deriveSource<DType>(
    source,
    {
      chunks: new ChunkGrid(axes),
      capabilities: {},
      readBlock: async (box, out, options) => {
        const { readDifferences } = await import('./along-reads.ts')
        await readDifferences(source, axis, box, out, options)
      },
    },
    { dtype: source.dtype, missing: NOT_A_NUMBER },
  )
}

/**
 * Moves values along dimensions; labels stay. Positions that become free are missing, or have a given value.
 * @param by number of positions for each dimension
 * @throws InvalidArgumentError for dimensions that do not exist, for numbers that are not integers, and for a
 *   value of another type; UnsupportedError for text without a value
 */
export function shifted(
  { variable, coordinates }: Labelled,
  by: Readonly<Record<string, number>>,
  options: ShiftOptions = {},
): Labelled {
  const { name, dims } = variable
  checkOptions('shift', options, SHIFT, { array: name })
  checkValue('shift', 'by', by, 'plain object', { array: name })
  const [own, fill] = surrounded(variable, options.fillValue)
  let array = own
  for (const [dim, count] of Object.entries(by)) {
    checkDim(dim, dims, { array: name })
    checkValue('shift', dim, count, 'integer', { array: name })
    const along = dims.indexOf(dim)
    const length = array.shape[along]!
    const free = Math.min(Math.abs(count), length)
    const kept = { start: count < 0 ? free : 0, step: 1, length: length - free }
    const picks = array.shape.map((each, axis) => (axis === along ? kept : wholeAxis(each)))
    const view = new DiskArray(viewAxes(array.source, { picks, order: [...dims.keys()] }))
    const widths = dims.map((_, axis): [number, number] => (axis !== along ? [0, 0] : count < 0 ? [0, free] : [free, 0]))
    array = view.pad(widths, { value: fill as never })
  }
  return { variable: reducedTo(variable, array, dims), coordinates }
}

/** Returns the array to be shifted, and the value of positions that become free. */
function surrounded({ name, array, times }: Variable, fillValue: Replacement | undefined): readonly [DiskArray, unknown] {
  const isTime = array.dtype === 'timestamp_ns'
  if (fillValue === undefined) return isTime ? [withNaT(array), NAT] : [asFloats(array, name), Number.NaN]
  if (times !== undefined && !isTime) invalidArgument(`times of ${name} cannot be ${String(fillValue)}`, fillValue)
  const value = fillValue instanceof Date && isTime ? toTimestamp(fillValue) : fillValue
  toElement(array.dtype, value)
  return [array, value]
}

/** Returns times of which NaT is missing. */
function withNaT(array: DiskArray): DiskArray {
  const { source, dtype } = array
  const { values } = missingElements(source)
  if (values.includes(NAT)) return array
  const kind = { dtype, missing: { values: [NAT, ...(values as bigint[])], nan: false } }
  return new DiskArray(elementwise(source, kind, { forth: (time: bigint) => time, back: undefined }))
}

/**
 * Sums values up to each position along some dimensions, one after another; by default along all. Skipped
 * values add nothing.
 * @throws UnsupportedError for times, text and binaries; InvalidArgumentError for dimensions that do not
 *   exist
 */
export function cumulated(
  { variable, coordinates }: Labelled,
  axis: string | readonly string[] | undefined,
  options: Pick<ReduceDimsOptions, 'skipMissing'> = {},
): Labelled {
  checkOptions('cumsum', options, CUMSUM, { array: variable.name })
  if (axis !== undefined) checkValue('cumsum', 'axis', axis, REDUCE_CHECKS.axis, { array: variable.name })
  reducedKind(variable, 'sum')
  checkFoldable('cumsum', variable.array.dtype)
  let array = keepingMissing(variable.array, options.skipMissing)
  for (const dim of namedDims(variable.dims, axis, { array: variable.name }))
    array = cumulative(array, variable.dims.indexOf(dim), options.skipMissing)
  return { variable: reducedTo(variable, array, variable.dims), coordinates }
}

/**
 * Returns the cumulative sums along an axis. Chunks of the result span the axis, because each sum needs all
 * values before it. Along the other axes, they are the chunks of the array, or parts of them that fit into
 * some MiB.
 */
function cumulative(array: DiskArray, axis: number, skipMissing: boolean | undefined): DiskArray {
  const { source, shape } = array
  const dtype = foldedDType(array.dtype, 'sum')
  const axes = source.chunks.axes.map((chunks, each) =>
    each === axis ? new RegularChunks(Math.max(1, chunks.length), chunks.length) : chunks,
  )
  const lengths = (): number[] => axes.map(({ chunkLength, length }) => Math.min(chunkLength, length))
  for (let each = 0; each < axes.length; each++) {
    const excess = (sizeOf(lengths()) * bytesOf(dtype)) / READ_BYTES
    if (each === axis || excess <= 1) continue
    axes[each] = new RegularChunks(Math.max(1, Math.floor(lengths()[each]! / excess)), shape[each]!)
  }
  const skip = skipping(array, skipMissing)
  return new DiskArray(
    deriveSource<DType>(
      source,
      {
        chunks: new ChunkGrid(axes),
        capabilities: {},
        readBlock: async (box, out, options) => {
          const { readCumulative } = await import('./along-reads.ts')
          await readCumulative(array, axis, skip, { dtype }, box, out, options)
        },
      },
      { dtype, missing: isFloat(dtype) && skipMissing === false ? NOT_A_NUMBER : NOTHING },
    ),
  )
}
