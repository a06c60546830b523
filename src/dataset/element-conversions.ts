import type { Converting } from '../array/lazy/converted.ts'
import { type Element, missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import type { BlockSource } from '../array/source.ts'
import { type DType, toElement } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { NAT } from './time/instant.ts'

/** Returns a function that recognises missing elements, NaN and NaT. */
export function nullTest(source: BlockSource): (element: unknown) => boolean {
  const isMissing = missingTest(missingElements(source))
  const isNone = source.dtype === 'timestamp_ns' ? (element: unknown) => element === NAT : Number.isNaN
  return isMissing === undefined ? isNone : (element) => isMissing(element) || isNone(element)
}

/** Replaces missing elements by one element. */
export function filling(source: BlockSource, fill: Element): Converting {
  const isNull = nullTest(source)
  return { forth: (element: Element) => (isNull(element) ? fill : element) }
}

/** Limits elements to a range; of a minimum above the maximum, the latter counts. */
export function clipping(dtype: DType, min: number | undefined, max: number | undefined): Converting {
  const [low, high] = [min, max].map((bound) => (bound === undefined ? undefined : (toElement(dtype, bound) as number)))
  const forth = (element: number): number => {
    if (Number.isNaN(element)) return element
    const raised = low === undefined || element > low ? element : low
    return high === undefined || raised < high ? raised : high
  }
  return { forth, treatment: 'spare' }
}

/** Rounds floats to some decimals, with the roundings of numpy in the type of the elements. */
export function rounding(dtype: DType, decimals: number): Converting {
  const stored = dtype === 'float32' ? Math.fround : (value: number) => value
  const scale = 10 ** Math.abs(decimals)
  const forth = (element: number): number => {
    if (decimals === 0) return toEven(element)
    const scaled = stored(decimals < 0 ? element / scale : element * scale)
    // Beyond the largest float, there are no decimals.
    if (!Number.isFinite(scaled)) return element
    return stored(decimals < 0 ? toEven(scaled) * scale : toEven(scaled) / scale)
  }
  return { forth, treatment: 'spare' }
}

/** Rounds to the nearest integer, halves to the even one. Keeps the sign of zero. */
function toEven(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  // Infinity and NaN have no rest.
  if (rest === 0 || Number.isNaN(rest)) return value
  const rounded = rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1
  return rounded === 0 && value < 0 ? -0 : rounded
}

/** Converts numbers to bool, of which none may be missing. */
export function truth(): Converting {
  const forth = (value: number): number => {
    if (!Number.isNaN(value)) return Number(value !== 0)
    const text = 'a missing value is neither true nor false: replace missing values with fillna first'
    throw new HyperslabError('InvalidArgumentError', text, { actual: value, expected: 'bool' })
  }
  return { forth }
}
