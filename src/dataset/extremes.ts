import type { DiskArray } from '../array/disk-array.ts'
import type { DType } from '../core/dtype.ts'
import { isBigInt, isFloat } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import { computedOnce } from './computed.ts'
import { coordsAlong, type Labelled, labelledDims } from './coords.ts'
import {
  axesOf,
  checkReduction,
  KEEP_CHECKS,
  type KeepDimsOptions,
  keepingMissing,
  reducedTo,
  reduceOrNaN,
  skipping,
  withoutQuantity,
} from './reductions.ts'
import { NAT } from './time/instant.ts'
import type { Variable } from './variable.ts'

/** Positions and labels of extremes. */
export type ExtremeKind = 'argMin' | 'argMax' | 'idxMin' | 'idxMax'

/** Options of reductions along one dimension. */
export interface OneDimOptions extends Pick<KeepDimsOptions, 'skipMissing' | 'keepDims'> {
  /** Name of the dimension; may be omitted if there is only one. */
  readonly axis?: string
}

/**
 * Finds the positions of extremes along a dimension, or their labels. Cells without values have none, so they
 * are missing. Labels have the type and the attributes of their coordinate.
 * @throws InvalidArgumentError unless one dimension is named, and for labels if it has none
 */
export function extremesAlong({ variable, coordinates }: Labelled, kind: ExtremeKind, options: OneDimOptions = {}): Labelled {
  const { name, dims } = variable
  checkReduction(kind, options, { ...KEEP_CHECKS, axis: 'string' }, { array: name })
  const { skipMissing, keepDims } = options
  if (options.axis === undefined && dims.length !== 1) {
    const text = `${kind} takes one dimension, { axis: … }: there are ${dims.join(', ') || 'none'}`
    throw new HyperslabError('InvalidArgumentError', text, { array: name, expected: dims })
  }
  const { axis, kept, shape, others } = axesOf(variable, options.axis, keepDims)
  const dim = dims[axis[0]!]!
  const array = keepingMissing(variable.array, skipMissing)
  const how = { axis: axis[0]!, ...(keepDims && { keepDims }), ...skipping(array, skipMissing) }
  const method = kind.endsWith('Min') ? 'argMin' : 'argMax'
  const compute = async (signal: Signal): Promise<Tensor<'float64'>> => {
    const found = await reduceOrNaN(() => array[method]({ ...how, signal }), 'float64', shape)
    // Arrays have no missing positions.
    return { ...found, data: (found.data as Float64Array).map((at) => (at < 0 ? Number.NaN : at)) } as Tensor<'float64'>
  }
  const known = coordsAlong(coordinates, others)
  if (kind === method) {
    const positions = reducedTo(withoutQuantity(variable), computedOnce([array], 'float64', shape, compute), kept)
    return { variable: positions, coordinates: known }
  }
  const coord = coordinates.get(dim)
  if (coord?.index === undefined) {
    const labelled = labelledDims(coordinates)
    const text = `${dim} has no labels: labels are along ${labelled.join(', ') || 'no dimension'}; ${method} returns positions`
    throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: dim, expected: labelled })
  }
  return { variable: labelsAt(coord, array, kept, shape, compute), coordinates: known }
}

/** Returns the labels of computed positions, as the coordinate stores them. */
function labelsAt(
  coord: Variable,
  searched: DiskArray,
  dims: readonly string[],
  shape: readonly number[],
  positionsOf: (signal: Signal) => Promise<Tensor<'float64'>>,
): Variable {
  const own = coord.array.dtype
  const isTime = own === 'timestamp_ns'
  const dtype: DType = isBigInt(own) || own === 'string' || isFloat(own) ? own : 'float64'
  const compute = async (signal: Signal): Promise<Tensor> => {
    const positions = await positionsOf(signal)
    const { data } = await coord.array.toTensor({ signal })
    const { readLabelsAt } = await import('./extreme-labels.ts')
    return readLabelsAt(data as ArrayLike<unknown>, positions, dtype, coord.name)
  }
  const missing = isTime ? { values: [NAT as never], nan: false } : undefined
  const array = computedOnce([searched, coord.array], dtype, shape, compute as never, missing)
  const parts = { index: undefined, scalar: undefined, stored: undefined, grouped: undefined, repeated: undefined }
  return coord.with({ ...parts, array, dims, encoding: {} })
}
