import type { Checks } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'

/** Options of joining datasets along a dimension. */
export interface ConcatDatasetsOptions {
  /**
   * Rule for labels that several datasets have, or whose ranges overlap. `error` (default) refuses them;
   * `first` or `last` uses the dataset given first or last among those with the label.
   */
  readonly overlap?: 'error' | 'first' | 'last'
  /**
   * Rule for labels that are missing between two datasets, judged by their regular spacing (for times, also
   * in months). `error` (default) refuses gaps; `keep` joins the datasets as they are.
   */
  readonly gaps?: 'error' | 'keep'
  /**
   * Rule for variables without the dimension. `equals` (default) reads them in all datasets and refuses
   * differences; `override` uses those of the first dataset.
   */
  readonly compat?: 'equals' | 'override'
  /**
   * Labels of a new dimension to join along, one for each dataset in order. Useful for members of an
   * ensemble, which have the same dimensions.
   */
  readonly labels?: readonly (number | string | Date)[]
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

export const CONCAT_DATASETS_CHECKS: Checks<ConcatDatasetsOptions> = {
  overlap: ['error', 'first', 'last'],
  gaps: ['error', 'keep'],
  compat: ['equals', 'override'],
  labels: 'list',
  signal: 'AbortSignal',
}
