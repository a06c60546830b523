import { invalidArgument } from '../../core/errors.ts'
import { type Calendar, type CalendarDate, dateFromDays, daysInMonth } from './calendar.ts'
import { NAT, type Season, splitInstant, toSeason } from './instant.ts'

/** Value of {@link timeComponent} for a missing time. */
export const NO_COMPONENT = -(2 ** 31)

/**
 * Weekday of 1970-01-01, starting with 0 for Monday. As in cftime, calendars of models have weekdays, too.
 */
const FIRST_WEEKDAY: Readonly<Record<Calendar, number>> = {
  standard: 3,
  proleptic_gregorian: 3,
  noleap: 3,
  all_leap: 6,
  '360_day': 2,
  julian: 2,
}

type Component = (date: CalendarDate, nanoseconds: number, days: number, calendar: Calendar) => number

const weekday: Component = (_date, _nanoseconds, days, calendar) => (((days + FIRST_WEEKDAY[calendar]) % 7) + 7) % 7
const monthLength: Component = ({ year, month }, _nanoseconds, _days, calendar) => daysInMonth(calendar, year, month)

/** Components by their names in xarray. */
const COMPONENTS = {
  year: ({ year }) => year,
  quarter: ({ month }) => Math.ceil(month / 3),
  month: ({ month }) => month,
  day: ({ day }) => day,
  dayofyear: ({ dayOfYear }) => dayOfYear,
  weekday,
  dayofweek: weekday,
  days_in_month: monthLength,
  daysinmonth: monthLength,
  hour: (_date, nanoseconds) => Math.floor(nanoseconds / 3.6e12),
  minute: (_date, nanoseconds) => Math.floor(nanoseconds / 6e10) % 60,
  second: (_date, nanoseconds) => Math.floor(nanoseconds / 1e9) % 60,
  microsecond: (_date, nanoseconds) => Math.floor(nanoseconds / 1e3) % 1e6,
  nanosecond: (_date, nanoseconds) => nanoseconds % 1e3,
} satisfies Record<string, Component>

/** Name of a component of times, as in xarray. */
export type TimeComponent = keyof typeof COMPONENTS | 'season'

/**
 * Returns one component of each instant, by its name in xarray. Months and days start at 1, and days of the
 * week at 0 for Monday. Microseconds count within the second, and nanoseconds within the microsecond. A
 * missing time yields {@link NO_COMPONENT}, or `undefined` for seasons.
 * @throws InvalidArgumentError for other components
 */
export function timeComponent(instants: ArrayLike<bigint>, calendar: Calendar, name: 'season'): (Season | undefined)[]
export function timeComponent(instants: ArrayLike<bigint>, calendar: Calendar, name: keyof typeof COMPONENTS): Int32Array
export function timeComponent(
  instants: ArrayLike<bigint>,
  calendar: Calendar,
  name: TimeComponent,
): Int32Array | (Season | undefined)[]
export function timeComponent(
  instants: ArrayLike<bigint>,
  calendar: Calendar,
  name: TimeComponent,
): Int32Array | (Season | undefined)[] {
  if (name === 'season')
    return Array.from(timeComponent(instants, calendar, 'month'), (month) =>
      month === NO_COMPONENT ? undefined : toSeason(month),
    )
  if (!Object.hasOwn(COMPONENTS, name))
    invalidArgument(`times have no '${name}', but ${[...Object.keys(COMPONENTS), 'season'].join(', ')}`, name)
  const component: Component = COMPONENTS[name]
  let [lastDays, date] = [0, dateFromDays(calendar, 0)]
  const values = new Int32Array(instants.length)
  for (let i = 0; i < values.length; i++) {
    const instant = instants[i]!
    if (instant === NAT) {
      values[i] = NO_COMPONENT
      continue
    }
    const { days, nanoseconds } = splitInstant(instant)
    if (days !== lastDays) date = dateFromDays(calendar, days)
    lastDays = days
    values[i] = component(date, nanoseconds, days, calendar)
  }
  return values
}
