import type { NamedValues } from '../../array/source.ts'
import { member } from '../../core/member.ts'
import type { StoredType } from './metadata.ts'

/** Attributes by name. Sources that store the types of attributes also return these. */
interface Named extends NamedValues {
  typed?(name: string): { readonly type: string; readonly value: unknown } | undefined
  isFloat?(name: string): boolean
}

const UNITS: Readonly<Record<string, string>> = {
  Y: 'years',
  M: 'months',
  W: 'weeks',
  D: 'days',
  h: 'hours',
  m: 'minutes',
  s: 'seconds',
  ms: 'milliseconds',
  us: 'microseconds',
  ns: 'nanoseconds',
}

/** Returns a unit of numpy in words: `10 milliseconds`. */
function unitWords(unit: string): string {
  const [, count = '', name = ''] = /^(\d*)(.*)$/s.exec(unit)!
  return `${count === '' || count === '1' ? '' : `${count} `}${member(UNITS, name) ?? name}`
}

/** Resolution that xarray uses for each unit. It reads coarser units in seconds. */
const RESOLUTIONS: Readonly<Record<string, string>> = { W: 's', D: 's', h: 's', m: 's', s: 's', ms: 'ms', us: 'us', ns: 'ns' }

/**
 * Adds the unit of the data type to the attributes of an array of durations, because writers store plain
 * numbers. The attributes are the ones that xarray writes.
 */
export function withDurationUnit<A extends Named | undefined>(attrs: A, { kind, unit }: StoredType): A | Named {
  if (kind !== 'timedelta' || unit === undefined || attrs === undefined || attrs.get('units') !== undefined) return attrs
  const resolution = member(RESOLUTIONS, unit)
  const added = new Map([
    ['units', unitWords(unit)],
    ...(resolution === undefined || attrs.get('dtype') !== undefined ? [] : [['dtype', `timedelta64[${resolution}]`] as const]),
  ])
  return {
    get: (name) => added.get(name) ?? attrs.get(name),
    keys: () => [...attrs.keys(), ...added.keys()],
    ...(attrs.typed !== undefined && { typed: (name: string) => attrs.typed!(name) }),
    ...(attrs.isFloat !== undefined && { isFloat: (name: string) => attrs.isFloat!(name) }),
  }
}
