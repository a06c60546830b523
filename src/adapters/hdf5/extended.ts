import { DiskArray } from '../../array/disk-array.ts'
import { pad } from '../../array/lazy/pad.ts'
import { NOTHING } from '../../array/missing.ts'
import { NETCDF4_FILL } from '../../core/default-fill.ts'
import { type DType, elementBytes, isFixed, type ScalarOf } from '../../core/dtype.ts'
import { refuse } from './cursor.ts'
import type { Hdf5Array, LabelledArray } from './group.ts'

/**
 * Returns an array at the lengths of its dimensions. Elements behind its own end are unwritten ones, as
 * netCDF has it: without a fill value, they have the default fill value of netCDF, which is missing.
 */
export function extendArray({ array, shape }: LabelledArray): DiskArray {
  const source = pad(
    array.source,
    array.shape.map((length, axis): [number, number] => [0, shape[axis]! - length]),
    { value: fillOf(array) },
  )
  return new DiskArray({ ...source, missing: withFill(array) })
}

const defaultFill = (dtype: DType): ScalarOf<DType> => {
  if (dtype === 'string') return ''
  if (dtype === 'binary') return new Uint8Array(0)
  if (dtype === 'bool') return false
  return NETCDF4_FILL[dtype as keyof typeof NETCDF4_FILL]
}

function fillOf({ index, dtype }: Hdf5Array): ScalarOf<DType> {
  const { fill } = index.dataset
  if (!fill.isSet) return defaultFill(dtype)
  return index.fillValue ?? refuse('the array is shorter than its dimension, and its fill value has several parts')
}

/** Returns the missing values of an array: if it names none, the default fill value of its type. */
function withFill({ source, index, dtype }: Hdf5Array): typeof source.missing {
  const missing = source.missing ?? NOTHING
  const isImplied = !index.dataset.fill.isSet && isFixed(dtype) && dtype !== 'bool' && elementBytes(dtype) > 1
  if (!isImplied || missing.values.length > 0) return source.missing
  const implied = defaultFill(dtype)
  return { ...missing, values: [implied], implied }
}
