import { LabelIndex } from './label-index.ts'
import { unitsSince } from './time/instant.ts'
import { arrayOfLabels, listArray, type Variable } from './variable.ts'

/** Returns a coordinate with other times. They are stored like the original ones, maybe as numbers. */
export function withInstants(coord: Variable, instants: BigInt64Array | bigint[]): Variable {
  const index = new LabelIndex(coord.dims[0]!, instants, coord.index!.kind)
  // The new times may lie between whole units.
  const encoding = { ...coord.encoding, ...(coord.times && { dtype: 'float64' }) }
  if (coord.array.dtype === 'timestamp_ns' && instants instanceof BigInt64Array)
    return coord.with({ index, array: arrayOfLabels(index, 'timestamp_ns'), encoding })
  const numbers = Float64Array.from(instants as bigint[], (instant) => unitsSince(instant, coord.times!))
  return coord.with({ index, encoding, array: listArray('float64', numbers) })
}
