import type { RawVariable } from './cf/decode.ts'
import type { Variable } from './variable.ts'

/** New names of repeated dimensions, mapped to the original ones. */
export type RepeatedDims = ReadonlyMap<string, string>

/** A variable whose axes all have different names. */
export type DistinctVariable = RawVariable & { readonly repeated?: RepeatedDims }

/**
 * Returns variables whose axes all have different names. A repeated dimension gets a suffix, `cov(x, x_2)`,
 * with a number that no other name uses.
 */
export function withDistinctDims(variables: readonly RawVariable[]): DistinctVariable[] {
  const names = new Set(variables.flatMap(({ name, dims }) => [name, ...dims]))
  const suffixed = new Map<string, string>()
  const nameOf = (dim: string, count: number): string => {
    const key = JSON.stringify([dim, count])
    const known = suffixed.get(key)
    if (known !== undefined) return known
    let number = count
    while (names.has(`${dim}_${number}`)) number++
    const name = `${dim}_${number}`
    names.add(name)
    suffixed.set(key, name)
    return name
  }
  return variables.map((variable) => {
    if (new Set(variable.dims).size === variable.dims.length) return variable
    const repeated = new Map<string, string>()
    const counts = new Map<string, number>()
    const dims = variable.dims.map((dim) => {
      const count = (counts.get(dim) ?? 0) + 1
      counts.set(dim, count)
      if (count === 1) return dim
      const name = nameOf(dim, count)
      repeated.set(name, dim)
      return name
    })
    return { ...variable, dims, repeated }
  })
}

/**
 * Returns the original dimensions of a variable, if axes with the same original name still have the same
 * length.
 */
export function originalDims({ dims, array: { shape }, repeated }: Variable): readonly string[] {
  if (repeated === undefined) return dims
  return dims.map((dim, axis) => {
    const original = repeated.get(dim)
    const at = original === undefined ? -1 : dims.indexOf(original)
    return at >= 0 && shape[at] === shape[axis] ? original! : dim
  })
}
