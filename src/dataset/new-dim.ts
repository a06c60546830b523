import { invalidArgument } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import { allDims } from './all-variables.ts'
import { alongDims } from './arithmetic.ts'
import type { DatasetParts } from './coords.ts'
import { Dataset } from './dataset.ts'
import type { Variable } from './variable.ts'

/**
 * Adds a new leading dimension of length 1 to all variables of each dataset. It is labelled by `labels`, or
 * by the scalar coordinate of its name that a selection has left.
 * @throws InvalidArgumentError if the dimension exists, or not every dataset gets one label
 */
export function alongNewDim(
  dim: string,
  datasets: readonly DatasetParts[],
  labels: readonly (number | string | Date)[] | undefined,
): DatasetParts[] {
  if (datasets.some((each) => allDims(each).includes(dim)))
    invalidArgument(`labels are for a new dimension, and there is a dimension ${quoted(dim)} already`, dim)
  const known = labels && labelsAlong(dim, datasets, labels)
  return datasets.map((each, at) => {
    const own = known?.take(new Map([[dim, { parts: [{ positions: { start: at, step: 1, length: 1 }, shift: 0 }] }]]))
    const coord = own ?? scalarAlong(dim, each)
    const variables = new Map([...each.variables].map(([name, variable]) => [name, expanded(variable, dim)]))
    return { ...each, variables, coords: new Map(each.coords).set(dim, coord) }
  })
}

const expanded = (variable: Variable, dim: string): Variable => {
  const dims = [dim, ...variable.dims]
  return variable.with({ array: alongDims(variable, dims), dims, stored: undefined })
}

function labelsAlong(dim: string, datasets: readonly DatasetParts[], labels: readonly (number | string | Date)[]): Variable {
  if (labels.length !== datasets.length)
    invalidArgument(`${labels.length} labels are for ${datasets.length} datasets: each takes one`, labels)
  if (datasets.some(({ variables, coords }) => variables.has(dim) || coords.has(dim)))
    invalidArgument(`labels are for a new dimension, and there is a variable ${quoted(dim)} already: rename or drop it`, dim)
  return new Dataset({}, { coords: { [dim]: labels } }).parts.coords.get(dim)!
}

function scalarAlong(dim: string, { coords }: DatasetParts): Variable {
  const coord = coords.get(dim)
  if (coord?.scalar !== undefined && coord.dims.length === 0)
    return expanded(coord, dim).with({ index: coord.scalar.along(dim), scalar: undefined })
  const text = `no dataset has a dimension ${quoted(dim)}; \`labels: ['a', 'b']\`, one for each, makes one`
  return invalidArgument(text, dim)
}
