import { startPython } from './python.ts'

/**
 * Year, month, day, hour, minute, second, microsecond, day of the year from 1, day of the week from 0 for
 * Monday.
 */
export type PeerFields = readonly [number, number, number, number, number, number, number, number, number]

/** cftime, pandas and xarray in a process of their own. */
export interface TimesPeer {
  /** Decodes numbers as cftime does, with null for missing ones. It may refuse. */
  decode(
    values: readonly (number | null)[],
    units: string,
    calendar: string,
    dtype: 'f8' | 'f4' | 'i8',
  ): Promise<readonly (PeerFields | null)[]>
  /** The numbers cftime makes of dates, each year to microsecond. */
  encode(dates: readonly (readonly number[])[], units: string, calendar: string): Promise<readonly number[]>
  /** Whether cftime has these days, each year, month and day. */
  exists(dates: readonly (readonly number[])[], calendar: string): Promise<readonly boolean[]>
  /**
   * The first and the last microsecond that partial dates mean in xarray, each year to microsecond; null
   * where it refuses one.
   */
  spans(texts: readonly string[], calendar: string): Promise<readonly (readonly [number[], number[]] | null)[]>
  /**
   * The bins xarray makes of ascending times, with pandas or without: labels, from year to microsecond, and
   * how many times are in each.
   */
  resample(
    values: readonly number[],
    units: string,
    calendar: string,
    frequency: string,
    options?: { readonly closed?: string; readonly label?: string; readonly offset?: string },
  ): Promise<{ labels: number[][]; counts: number[]; type: 'DatetimeIndex' | 'CFTimeIndex' }>
  /** A component of times as xarray gives it. */
  components(values: readonly number[], units: string, calendar: string, name: string): Promise<number[] | string[]>
  close(): void
}

/** Undefined, with a line that says so, where it cannot be had. */
export function startTimes(): TimesPeer | undefined {
  const python = startPython('./times_peer.py')
  if (python === undefined) return undefined
  // biome-ignore lint/suspicious/noExplicitAny: each operation has answers of its own.
  const ask = async (request: object): Promise<any> => {
    const { result, error } = await python.ask(request)
    if (error !== undefined) throw new Error(error)
    return result
  }
  return {
    decode: (values, units, calendar, dtype) => ask({ op: 'decode', values, units, calendar, dtype }),
    encode: (dates, units, calendar) => ask({ op: 'encode', dates, units, calendar }),
    exists: (dates, calendar) => ask({ op: 'exists', dates, calendar }),
    spans: (texts, calendar) => ask({ op: 'spans', texts, calendar }),
    resample: (values, units, calendar, frequency, options = {}) =>
      ask({ op: 'resample', values, units, calendar, frequency, options }),
    components: (values, units, calendar, name) => ask({ op: 'components', values, units, calendar, name }),
    close: () => python.close(),
  }
}
