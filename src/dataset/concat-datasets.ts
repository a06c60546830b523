import type { ConcatDatasetsOptions } from './concat-options.ts'
import type { Dataset } from './dataset.ts'

/**
 * Joins datasets along a dimension, lazily. They are ordered by their labels, or stay in the given order
 * without labels. Variables without this dimension must be equal in all datasets. Closing the result closes
 * the datasets.
 * @param dim dimension to join along; default: the only dimension whose labels differ. It is new if `labels`
 *   are given, or if each dataset has a single label of it
 * @throws InvalidArgumentError if calendars, units, names or dimensions differ, labels overlap, or labels are
 *   missing in between; errors of reading the variables that must be equal
 * @example
 * const t = { dims: ['x'], data: [1, 2] }
 * const parts = [[30, 40], [10, 20]].map((x) => new Dataset({ t }, { coords: { x } }))
 * const ds = await concatDatasets(parts, 'x')
 * console.log(await ds.get('t').sel({ x: [20, 30] }).values()) // Float64Array(2) [ 2, 1 ]
 */
export async function concatDatasets(
  datasets: readonly Dataset[],
  dim?: string,
  options: ConcatDatasetsOptions = {},
): Promise<Dataset> {
  return (await import('./concat.ts')).concatenated(datasets, dim, options)
}
