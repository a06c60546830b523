import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { checkValue } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import type { PositionGroups } from './group-by.ts'
import type { Divided } from './grouped-reductions.ts'
import { withInstants } from './replace-times.ts'
import { parseFrequency, resampleBins } from './time/frequency.ts'

/**
 * Groups positions by the periods of their times, with the labels of pandas. Empty periods in between are
 * included.
 * @throws InvalidArgumentError for an unknown frequency, and for dimensions without times
 */
export function resampledGroups({ label, coordinates }: Divided, by: Readonly<Record<string, string>>): PositionGroups {
  checkValue('resample', 'by', by, 'object')
  const [[dim, frequency] = ['', ''], ...more] = Object.entries(by)
  if (more.length > 0 || dim === '') invalidArgument("resample takes one dimension, { time: 'MS' }", by)
  checkValue('resample', dim, frequency, 'string')
  const coord = coordinates.get(dim)
  const index = coord?.index
  const calendar = index?.kind.calendar
  if (coord === undefined || index === undefined || calendar === undefined) {
    const text = `there are no times along ${quoted(dim)} to resample`
    throw new HyperslabError('InvalidArgumentError', text, { ...label, actual: dim })
  }
  const { labels, bins } = resampleBins(index.values as ArrayLike<bigint>, parseFrequency(frequency), calendar)
  return { dim, of: bins, coord: withInstants(coord, labels) }
}
