const UNIT_SECONDS: Record<string, number> = {
  second: 1,
  sec: 1,
  s: 1,
  minute: 60,
  min: 60,
  hour: 3600,
  hr: 3600,
  h: 3600,
  day: 86400,
  d: 86400,
}

const SINCE =
  /^\s*([a-z]+?)s?\s+since\s+(\d{4})-(\d{1,2})-(\d{1,2})(?:[T\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.0*)?)?)?\s*(?:Z|UTC)?\s*$/i
/** From this day on the calendars `standard` and `proleptic_gregorian` are one. */
const GREGORIAN_START = Date.UTC(1582, 9, 15)

/**
 * A time of the CF conventions (`days since 1850-01-01`) as `2005-01-16 12:00`; `undefined` for units and
 * calendars in which this would take more than arithmetic.
 */
export function showTime(value: number, units: string, calendar = 'standard'): string | undefined {
  const match = SINCE.exec(units)
  const seconds = UNIT_SECONDS[match?.[1]?.toLowerCase() ?? '']
  if (match === null || seconds === undefined || !Number.isFinite(value)) return undefined
  const [year, month, day, hour = 0, minute = 0, second = 0] = match
    .slice(2)
    .map((part) => (part === undefined ? undefined : Number(part)))
  const start = new Date(0)
  start.setUTCFullYear(year!, month! - 1, day!)
  start.setUTCHours(hour, minute, second)
  const time = Math.round(start.getTime() / 1000 + value * seconds) * 1000
  const mixed = calendar === 'standard' || calendar === 'gregorian'
  if (!mixed && calendar !== 'proleptic_gregorian') return undefined
  if (mixed && Math.min(start.getTime(), time) < GREGORIAN_START) return undefined
  const date = new Date(time)
  if (Number.isNaN(date.getTime())) return undefined
  const text = date.toISOString().replace('T', ' ').replace('.000Z', '')
  return text.endsWith(':00') ? text.slice(0, -3) : text
}
