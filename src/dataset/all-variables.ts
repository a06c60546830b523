import type { DatasetParts } from './coords.ts'
import type { Variable } from './variable.ts'

/** Returns all variables of a dataset, followed by its coordinates. */
export const allVariables = ({ variables, coords }: Pick<DatasetParts, 'variables' | 'coords'>): Variable[] => [
  ...variables.values(),
  ...coords.values(),
]

/** Returns the dimensions of a dataset, each once. */
export const allDims = (parts: DatasetParts): string[] => [...new Set(allVariables(parts).flatMap(({ dims }) => dims))]
