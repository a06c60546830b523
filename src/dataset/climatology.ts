import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { type Between, between, type LabelLike } from './between.ts'
import type { Labelled } from './coords.ts'

/** Options of `climatology` and `anomaly`. */
export interface ClimatologyOptions {
  /**
   * The first and the last time of the years that are averaged, `['1961', '1990']`; all of them when left
   * out.
   */
  readonly period?: readonly [LabelLike, LabelLike]
}

const CLIMATOLOGY_CHECKS: Checks<ClimatologyOptions> = { period: 'list' }

/** What it takes of labelled arrays. */
interface Grouping<A> extends Labelled {
  sel(labels: Readonly<Record<string, LabelLike | Between>>): A
  groupBy(key: string): { mean(): A }
}

/**
 * The means of the times of one unit, such as those of all Januaries.
 * @throws InvalidArgumentError where there are not times along one dimension; InvalidSelectionError where the
 *   data do not reach to an end of the period that is told as text
 */
export function climatologyOf<A extends Grouping<A>>(
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
  // Less than the period would pass for all of it.
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
