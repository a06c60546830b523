import { HyperslabError } from '../core/errors.ts'
import { checkValue } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { findCoordinateMemory } from './coordinate-memory.ts'
import type { DatasetParts } from './coords.ts'
import type { Variable } from './variable.ts'
import { storedArray, withReadIndex } from './with-times.ts'

/**
 * Labels and renames dimensions by coordinates along them. Their former labels stay as coordinates.
 * @throws InvalidArgumentError for a coordinate that does not lie along the dimension alone
 */
export async function swappedDims(parts: DatasetParts, names: Readonly<Record<string, string>>): Promise<DatasetParts> {
  checkValue('swapDims', 'names', names, 'object')
  const nameOf = (dim: string): string => (Object.hasOwn(names, dim) ? names[dim]! : dim)
  const renamed = (variable: Variable): Variable =>
    variable.with({ dims: variable.dims.map(nameOf), unlimited: variable.unlimited.map(nameOf) })
  const labelled = new Map<string, Variable>()
  for (const [dim, name] of Object.entries(names)) {
    const variable = parts.coords.get(name) ?? parts.variables.get(name)
    if (variable === undefined || variable.dims.length !== 1 || variable.dims[0] !== dim) {
      const found = variable === undefined ? 'is not there' : `lies along [${variable.dims.join(', ')}]`
      const text = `labels of ${dim} are to be ${quoted(name)}, which ${found}: it has to lie along ${dim} alone`
      throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: variable?.dims, expected: [dim] })
    }
    findCoordinateMemory(variable.array).take(variable)
    const { data } = await storedArray(variable).toTensor()
    labelled.set(name, withReadIndex(renamed(variable), data as ArrayLike<unknown>))
  }
  const swapped = (variable: Variable): Variable => {
    const isSwapped = variable.dims.some((dim) => nameOf(dim) !== dim)
    return labelled.get(variable.name) ?? (isSwapped ? renamed(variable).with({ index: undefined }) : variable)
  }
  const all = (map: ReadonlyMap<string, Variable>) => [...map].map(([name, each]) => [name, swapped(each)] as const)
  const variables = all(parts.variables).filter(([name]) => !labelled.has(name))
  return { ...parts, variables: new Map(variables), coords: new Map([...all(parts.coords), ...labelled]) }
}
