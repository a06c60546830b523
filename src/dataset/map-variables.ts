import { DiskArray } from '../array/disk-array.ts'
import type { Coords, DatasetParts, Labelled } from './coords.ts'
import { Variable } from './variable.ts'

/** Variables and coordinates of a dataset, with the length of each dimension. */
export interface Mapped {
  readonly variables: ReadonlyMap<string, Variable>
  readonly coords: Coords
  readonly dims: Readonly<Record<string, number>>
}

/**
 * Applies an operation to each variable of a dataset that it is for. Others stay unchanged, except that
 * reductions drop text, as in xarray.
 * @param isFor whether the operation is for a variable
 * @param kind of a reduction
 */
export function mapVariables(
  { variables, coords, dims }: Mapped,
  isFor: (variable: Variable) => boolean,
  apply: (array: Labelled) => Labelled,
  kind?: string,
): Pick<DatasetParts, 'variables' | 'coords'> {
  const drops = ({ array: { dtype } }: Variable): boolean =>
    kind !== undefined && (dtype === 'string' || dtype === 'binary') && !/^(count|countNonzero|any|all)$/.test(kind)
  const mapped = [...variables].flatMap(([name, variable]): [string, Variable][] => {
    if (!isFor(variable)) return [[name, variable]]
    return drops(variable) ? [] : [[name, apply({ variable, coordinates: coords }).variable]]
  })
  // Along all dimensions, so that its coordinates are those of the whole dataset. It is never read.
  const every = new DiskArray({ dtype: 'float64', shape: Object.values(dims), readBlock: () => undefined }) as DiskArray
  const whole = new Variable({ name: '', array: every, dims: Object.keys(dims), attrs: {} })
  return { variables: new Map(mapped), coords: apply({ variable: whole, coordinates: coords }).coordinates }
}
