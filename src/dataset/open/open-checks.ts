import { SCALAR_CHECKS } from '../../array/source.ts'
import type { Checks } from '../../core/options.ts'
import { URL_CHECKS } from '../../tree/url-options.ts'
import { DECODE_CHECKS, type DecodeOptions } from '../dataset-file.ts'
import type { DatasetFileOptions } from './dataset-file.ts'

/**
 * Checks of the options of `openDataset`. They have a module of their own, because the file of
 * `hyperslab/dataset` may export public calls only.
 */
export const OPEN_DATASET_CHECKS: Checks<DatasetFileOptions & DecodeOptions & { readonly variables?: object }> = {
  ...DECODE_CHECKS,
  ...SCALAR_CHECKS,
  ...URL_CHECKS,
  pool: 'WorkerPool',
  budget: 'MemoryBudget',
  cache: 'BlockCache',
  names: 'list of strings',
  external: 'boolean or object',
  codecs: 'list',
  group: 'string',
  level: 'integer from 0',
  variables: 'plain object',
}
