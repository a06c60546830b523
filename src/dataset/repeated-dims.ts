import type { RawVariable } from './cf/decode.ts'
import type { Variable } from './variable.ts'

/** Dimensions that an array has again, by the names that they have instead. */
export type RepeatedDims = ReadonlyMap<string, string>

/** A variable each of whose axes has a name of its own. */
export type DistinctVariable = RawVariable & { readonly repeated?: RepeatedDims }

/**
 * Variables each of whose axes has a name of its own. A dimension that is there again has a suffix,
 * `cov(x, x_2)`, with a number that no other name has.
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

/** The dimensions of a variable as they were, where those that were the same still are of one length. */
export function originalDims({ dims, array: { shape }, repeated }: Variable): readonly string[] {
  if (repeated === undefined) return dims
  return dims.map((dim, axis) => {
    const original = repeated.get(dim)
    const at = original === undefined ? -1 : dims.indexOf(original)
    return at >= 0 && shape[at] === shape[axis] ? original! : dim
  })
}
