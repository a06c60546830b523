import type { ClassicDimension } from '../adapters/netcdf/header.ts'
import { checkedName } from '../adapters/netcdf/write/names.ts'
import { HyperslabError, invalidArgument } from '../core/errors.ts'
import type { StoredVariable } from './netcdf-variables.ts'

/** Dimensions of a file, and the dimensions of each of its variables. */
export interface NewDimensions {
  readonly dimensions: readonly ClassicDimension[]
  readonly recordId: number | undefined
  /** Ids of the dimensions of each variable, including the dimension of text lengths. */
  readonly ids: readonly (readonly number[])[]
}

/**
 * Collects the dimensions of some variables, and chooses the record dimension: the dimension of length 0 or,
 * if there is none, the first unlimited dimension that variables have only as their first. The other
 * unlimited dimensions become fixed.
 * @param unlimited names of unlimited dimensions
 * @throws InvalidArgumentError for unknown names, and if a dimension has two lengths; UnsupportedError for
 *   dimensions of length 0 that the format cannot hold
 */
export function collectDimensions(
  variables: readonly StoredVariable[],
  unlimited: readonly string[],
  warnings: string[],
): NewDimensions {
  const dimensions: ClassicDimension[] = []
  const known = new Map<string, number>()
  const findId = (name: string, length: number, array: string): number => {
    const own = checkedName(name, 'the dimension', array)
    const id = known.get(own)
    if (id === undefined) {
      known.set(own, dimensions.length)
      return dimensions.push({ name: own, length }) - 1
    }
    if (dimensions[id]!.length === length) return id
    const text = `dimension '${own}' has the lengths ${dimensions[id]!.length} and ${length}, and has one in NetCDF: rename one of them`
    throw new HyperslabError('InvalidArgumentError', text, { array, actual: length, expected: dimensions[id]!.length })
  }
  const own = variables.map(({ exported: { name, array, dimensionNames } }) =>
    array.shape.map((length, axis) => findId(dimensionNames[axis]!, length, name)),
  )
  const names = new Set(variables.map(({ exported: { name } }) => checkedName(name, 'the variable', undefined)))
  const recordId = chooseRecords(dimensions, own, unlimited, warnings)
  const ids = variables.map(({ exported: { name }, textBytes }, i) => {
    if (textBytes === undefined) return own[i]!
    let dim = `${name}_strlen`
    // A variable of that name would make the lengths of texts its labels.
    while (known.has(dim) || names.has(dim)) dim += '_'
    return [...own[i]!, findId(dim, textBytes, name)]
  })
  return { dimensions, recordId, ids }
}

function chooseRecords(
  dimensions: readonly ClassicDimension[],
  ids: readonly (readonly number[])[],
  unlimited: readonly string[],
  warnings: string[],
): number | undefined {
  const isFirst = (id: number): boolean => ids.every((own) => own.lastIndexOf(id) <= 0)
  const wanted = unlimited.map((name) => {
    const id = dimensions.findIndex((each) => each.name === name.normalize('NFC'))
    if (id >= 0) return id
    const names = dimensions.map((each) => each.name)
    return invalidArgument(`unlimited: there is no dimension '${name}'; there are ${names.join(', ') || 'none'}`, name)
  })
  const empty = dimensions.flatMap(({ length }, id) => (length === 0 ? [id] : []))
  const chosen = empty[0] ?? wanted.find(isFirst)
  const impossible = empty.find((id) => id !== chosen || !isFirst(id))
  if (impossible !== undefined) {
    const { name } = dimensions[impossible]!
    const why = isFirst(impossible) ? `'${dimensions[chosen!]!.name}' has it already` : 'some variables have it at another place'
    const text = `dimension '${name}' has the length 0, which in NetCDF only one dimension may have, as the first of its variables, and ${why}; leave out the variables along it`
    throw new HyperslabError('UnsupportedError', text, { actual: name })
  }
  for (const id of wanted) {
    if (id === chosen) continue
    const why = isFirst(id)
      ? `'${dimensions[chosen!]!.name}' is the one that NetCDF has`
      : 'it is not the first one of all variables that have it'
    warnings.push(`dimension '${dimensions[id]!.name}' has a fixed length, not an unlimited one, because ${why}`)
  }
  if (empty.length > 0 && !wanted.includes(chosen!))
    warnings.push(`dimension '${dimensions[chosen!]!.name}' becomes unlimited, because no other can have the length 0 in NetCDF`)
  return chosen
}
