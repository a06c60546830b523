import { isNumeric, toElement } from '../../core/dtype.ts'
import { type ErrorDetails, HyperslabError } from '../../core/errors.ts'
import { type MissingOf, missingElements } from '../missing.ts'
import type { NamedValues } from '../source.ts'
import type { ScaledOptions } from './scaled.ts'

interface Attributed extends MissingOf {
  readonly label?: ErrorDetails
}

/**
 * How an array is packed, by the attributes that the CF conventions have for it: `scale_factor`,
 * `add_offset`, `_FillValue`, `missing_value` and NetCDF's `_Unsigned`. What is missing in it by itself is,
 * too.
 * @throws InvalidArgumentError for attributes that are no numbers, or no values of the packed type;
 *   UnsupportedError unless the array is of numbers
 */
export function packingOf(array: Attributed, attrs: NamedValues): ScaledOptions {
  const { dtype, label = {} } = array
  if (!isNumeric(dtype))
    throw new HyperslabError('UnsupportedError', `${dtype} values cannot be scaled`, { ...label, actual: dtype })
  const fail = (name: string, what: string, actual: unknown): never => {
    const text = `attribute '${name}' must be ${what}, got ${typeof actual === 'string' ? `the text '${actual}'` : String(actual)}`
    throw new HyperslabError('InvalidArgumentError', text, { ...label, actual })
  }
  const numbers = (name: string): (number | bigint)[] => {
    const value = attrs.get(name)
    if (value === undefined) return []
    // Some writers make every attribute a list.
    const list = ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<number | bigint>) : [value]
    return list.map((each) => (typeof each === 'number' || typeof each === 'bigint' ? each : fail(name, 'numbers', value)))
  }
  const one = (name: string): number | bigint | undefined => {
    const list = numbers(name)
    return list.length > 1 ? fail(name, 'one number', attrs.get(name)) : list[0]
  }
  const packed = (name: string, value: number | bigint): number | bigint => {
    try {
      return toElement(dtype, value) as number | bigint
    } catch {
      return fail(name, `a ${dtype} value, as the packed ones are`, value)
    }
  }
  const [scale, offset, fill] = [one('scale_factor'), one('add_offset'), one('_FillValue')]
  const unsigned = attrs.get('_Unsigned')
  if (unsigned !== undefined && !/^(true|false)$/.test(String(unsigned))) fail('_Unsigned', "'true' or 'false'", unsigned)
  const named = numbers('missing_value').map((value) => packed('missing_value', value))
  const { values, nan } = missingElements(array)
  const own = [...(values as (number | bigint)[]), ...(nan ? [Number.NaN] : [])]
  return {
    ...(scale !== undefined && { scaleFactor: Number(scale) }),
    ...(offset !== undefined && { addOffset: Number(offset) }),
    ...(fill !== undefined && { fillValue: packed('_FillValue', fill) }),
    ...(fill === undefined && own[0] !== undefined && { fillValue: own[0] }),
    missingValues: [...named, ...own],
    ...(String(unsigned) === 'true' && dtype.startsWith('int') && { unsigned: true }),
  }
}
