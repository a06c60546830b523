import type { RawVariable } from '../dataset/cf/decode.ts'

/** An array as a variable; axes without names are numbered, as xarray does. */
export function variableOf(name: string, array: RawVariable['array']): RawVariable {
  const named = array.dimensionNames
  const dims = array.shape.map((_, axis) => named?.[axis] || `dim_${axis}`)
  return { name, array, dims }
}
