import type { ConcatDatasetsOptions } from './concat-options.ts'
import type { Dataset } from './dataset.ts'

/**
 * Datasets one after another along a dimension, lazily, in the order of its labels, or as they are given
 * where it has none. What does not lie along it has to be the same in all. Closing the result closes them.
 * @param dim when left out, the only dimension along which labels differ; a new one where `labels` are given,
 *   or where each dataset is at one label of it
 * @throws InvalidArgumentError where calendars, units, names or dimensions differ, labels overlap, or some
 *   are missing in between; whatever reading what has to be the same throws
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
