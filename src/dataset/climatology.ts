import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { type Between, between, type LabelLike } from './between.ts'
import type { Labelled } from './coords.ts'

/** Options of `climatology` and `anomaly`. */
export interface ClimatologyOptions {
  /** First and last time of the averaged years, such as `['1961', '1990']`. Default: all years. */
  readonly period?: readonly [LabelLike, LabelLike]
}

const CLIMATOLOGY_CHECKS: Checks<ClimatologyOptions> = { period: 'list' }

/** The used members of a labelled array. */
interface Grouping<A> extends Labelled {
  sel(labels: Readonly<Record<string, LabelLike | Between>>): A
  groupBy(key: string): { mean(): A }
}

/**
 * Returns the means over all times that share one component, such as all Januaries.
 * @throws InvalidArgumentError unless exactly one dimension has times; InvalidSelectionError if the data do
 *   not reach a textual end of the period
 */
export function computeClimatology<A extends Grouping<A>>(
  array: A,
  unit: string,
  options: ClimatologyOptions = {},
  call: 'climatology' | 'anomaly' = 'climatology',
): A {
  checkOptions(call, options, CLIMATOLOGY_CHECKS, { array: array.variable.name })
  if (typeof unit !== 'string') invalidArgument(`${call} takes a component of times, such as 'month'`, unit)
  const time = timeDimension(array, call)
  const { period } = options
  if (period === undefined) return array.groupBy(`${time}.${unit}`).mean()
  if (period.length !== 2) invalidArgument(`a period of ${call} is its first and its last time`, period)
  // Otherwise a part of the period would pass for all of it.
  for (const end of period) if (typeof end === 'string') array.sel({ [time]: end })
  return array
    .sel({ [time]: between(...period) })
    .groupBy(`${time}.${unit}`)
    .mean()
}

function timeDimension({ variable: { name, dims }, coordinates }: Labelled, call: string): string {
  const found = dims.filter((dim) => coordinates.get(dim)?.index?.kind.calendar !== undefined)
  if (found.length === 1) return found[0]!
  const text = `${call} takes times along one dimension, and of ${dims.join(', ') || 'none'} ${found.join(', ') || 'none'} has them`
  throw new HyperslabError('InvalidArgumentError', text, { array: name, actual: found })
}
