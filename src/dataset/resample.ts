import { HyperslabError, invalidArgument } from '../core/errors.ts'
import type { Labelled } from './coords.ts'
import type { PositionGroups } from './group-by.ts'
import { LabelIndex } from './label-index.ts'
import { parseFrequency, resampleBins } from './time/frequency.ts'
import { encodeTimes } from './time/units.ts'
import { arrayOfLabels } from './variable.ts'

/**
 * The positions along times by the periods they lie in, with the label that pandas gives each; periods
 * without any times between others are there, too.
 * @throws InvalidArgumentError for what is no frequency of pandas, and for dimensions without times
 */
export function resampledGroups({ variable, coordinates }: Labelled, by: Readonly<Record<string, string>>): PositionGroups {
  const [[dim, frequency] = ['', ''], ...more] = Object.entries(by)
  if (more.length > 0 || dim === '') invalidArgument("resample takes one dimension, { time: 'MS' }", by)
  const coord = coordinates.get(dim)
  const { index, times } = coord ?? {}
  const calendar = index?.kind.calendar
  if (coord === undefined || index === undefined || calendar === undefined) {
    const text = `there are no times along ${JSON.stringify(dim)} to resample`
    throw new HyperslabError('InvalidArgumentError', text, { array: variable.name, actual: dim })
  }
  const { labels, bins } = resampleBins(index.values as ArrayLike<bigint>, parseFrequency(frequency), calendar)
  const periods = new LabelIndex(dim, labels, { dtype: index.kind.dtype, calendar })
  const isDecoded = coord.array.dtype === 'timestamp_ns'
  const array = isDecoded
    ? arrayOfLabels(periods, 'timestamp_ns')
    : arrayOfLabels(new LabelIndex(dim, encodeTimes(labels, times!, { as: 'float64' }), { dtype: 'float64' }), 'float64')
  return { dim, of: bins, coord: coord.with({ array, index: periods }) }
}
