import { HyperslabError, invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { quoted } from '../core/quoted.ts'
import { MIN_PERIODS_CHECKS, type MinPeriodsOption, type PositionGroups } from './group-by.ts'
import type { Divided } from './grouped-reductions.ts'
import { withInstants } from './replace-times.ts'
import { parseFrequency, resampleBins } from './time/frequency.ts'
import { parseDuration } from './time/instant.ts'

/** Options of `resample`. */
export interface ResampleOptions extends MinPeriodsOption {
  /** Edge that belongs to a period. Default: `right` for `W`, `ME`, `QE` and `YE`, otherwise `left`. */
  readonly closed?: 'left' | 'right'
  /** Edge that labels a period. Default: `right` for `W`, `ME`, `QE` and `YE`, otherwise `left`. */
  readonly label?: 'left' | 'right'
  /** Time from midnight to the first edge of steps such as `D`: text like `6h` or `-30min`. Default: none. */
  readonly offset?: string
}

const CHECKS: Checks<ResampleOptions> = {
  ...MIN_PERIODS_CHECKS,
  closed: ['left', 'right'],
  label: ['left', 'right'],
  offset: 'string',
}

/**
 * Groups positions by the periods of their times, with the labels of pandas. Empty periods in between are
 * included.
 * @throws InvalidArgumentError for an unknown frequency, and for dimensions without times
 */
export function resampledGroups(
  { label, coordinates }: Divided,
  by: Readonly<Record<string, string>>,
  options: ResampleOptions = {},
): PositionGroups {
  checkOptions('resample', options, CHECKS, label)
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
  const { closed, label: side, offset, minPeriods } = options
  const { labels, bins } = resampleBins(index.values as ArrayLike<bigint>, parseFrequency(frequency), calendar, {
    closed,
    label: side,
    offset: offset === undefined ? undefined : parseOffset(offset),
  })
  return { dim, of: bins, coord: withInstants(coord, labels), minPeriods }
}

/** @throws InvalidArgumentError for text that is no duration */
function parseOffset(offset: string): bigint {
  const sign = offset.startsWith('-') ? -1n : 1n
  const duration = parseDuration(offset.replace(/^-/, ''))
  return duration === undefined ? invalidArgument("an offset is text like '6h' or '-30min'", offset) : sign * duration
}
