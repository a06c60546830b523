import type { Checks } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'

/** Options of joining datasets along a dimension. */
export interface ConcatDatasetsOptions {
  /**
   * The rule where several have a label, or reach into one another: `error`, the default, refuses; of those
   * that have a label, `first` takes the one given first, `last` the one given last.
   */
  readonly overlap?: 'error' | 'first' | 'last'
  /**
   * The rule where labels are missing between two, as regular spacing in them tells, of times also by months:
   * `error`, the default, refuses; `keep` joins them as they are.
   */
  readonly gaps?: 'error' | 'keep'
  /**
   * The rule for what does not lie along the dimension: `equals`, the default, reads it everywhere and
   * refuses what differs; `override` takes that of the first.
   */
  readonly compat?: 'equals' | 'override'
  /**
   * The labels of a new dimension to join along, one for each dataset, in this order: of members of an
   * ensemble, say, each of which has the same dimensions.
   */
  readonly labels?: readonly (number | string | Date)[]
  /** Ends reading when it is aborted. */
  readonly signal?: Signal | undefined
}

export const CONCAT_DATASETS_CHECKS: Checks<ConcatDatasetsOptions> = {
  overlap: ['error', 'first', 'last'],
  gaps: ['error', 'keep'],
  compat: ['equals', 'override'],
  labels: 'list',
  signal: 'AbortSignal',
}
