import type { DatasetParts } from './coords.ts'
import type { Variable } from './variable.ts'

/** All that has values in a dataset, coordinates behind the others. */
export const allVariables = ({ variables, coords }: Pick<DatasetParts, 'variables' | 'coords'>): Variable[] => [
  ...variables.values(),
  ...coords.values(),
]

/** The dimensions of a dataset, each once. */
export const allDims = (parts: DatasetParts): string[] => [...new Set(allVariables(parts).flatMap(({ dims }) => dims))]
