import type { RawVariable } from '../cf/decode.ts'

/** Returns an array as a variable. Axes without names are numbered, as in xarray. */
export function toRawVariable(name: string, array: RawVariable['array']): RawVariable {
  const named = array.dimensionNames
  const dims = array.shape.map((_, axis) => named?.[axis] || `dim_${axis}`)
  return { name, array, dims }
}
