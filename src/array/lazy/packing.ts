import { isNumeric } from '../../core/dtype.ts'
import { type ErrorDetails, HyperslabError } from '../../core/errors.ts'
import { type MissingOf, missingElements } from '../missing.ts'
import type { NamedValues } from '../source.ts'
import type { ScaledOptions } from './scaled.ts'
import { elementOfSign, parseSign } from './signs.ts'

interface Attributed extends MissingOf {
  readonly label?: ErrorDetails
}

/**
 * Returns the packing of an array by its CF attributes: `scale_factor`, `add_offset`, `_FillValue`,
 * `missing_value` and NetCDF's `_Unsigned`. The array's own missing values stay missing, too.
 * @throws InvalidArgumentError for attributes that are not numbers, or not values of the packed type;
 *   UnsupportedError unless the array is numeric
 */
export function parsePacking(array: Attributed, attrs: NamedValues): ScaledOptions {
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
    // Some writers store every attribute as a list.
    const list = ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<number | bigint>) : [value]
    return list.map((each) => (typeof each === 'number' || typeof each === 'bigint' ? each : fail(name, 'numbers', value)))
  }
  const one = (name: string): number | bigint | undefined => {
    const list = numbers(name)
    return list.length > 1 ? fail(name, 'one number', attrs.get(name)) : list[0]
  }
  const sign = parseSign(dtype, attrs.get('_Unsigned'))
  if (sign === null) fail('_Unsigned', "'true' or 'false'", attrs.get('_Unsigned'))
  const packed = (name: string, value: number | bigint): number | bigint => {
    try {
      return elementOfSign(dtype, value, sign !== undefined)
    } catch {
      return fail(name, `a ${dtype} value, as the packed ones are`, value)
    }
  }
  const [scale, offset] = [one('scale_factor'), one('add_offset')]
  const [fill, ...fills] = numbers('_FillValue').map((value) => packed('_FillValue', value))
  const named = [...fills, ...numbers('missing_value').map((value) => packed('missing_value', value))]
  const { values, nan } = missingElements(array)
  const own = [...(values as (number | bigint)[]), ...(nan ? [Number.NaN] : [])]
  return {
    ...(scale !== undefined && { scaleFactor: Number(scale) }),
    ...(offset !== undefined && { addOffset: Number(offset) }),
    ...(fill !== undefined && { fillValue: fill }),
    ...(fill === undefined && own[0] !== undefined && { fillValue: own[0] }),
    missingValues: [...named, ...own],
    ...(sign === 'unsigned' && { unsigned: true }),
    ...(sign === 'signed' && { signed: true }),
  }
}
