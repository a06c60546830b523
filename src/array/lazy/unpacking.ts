import { elementBytes, isBigInt, type NumericDType, toElement } from '../../core/dtype.ts'
import { type MissingElements, missingElement, missingElements } from '../missing.ts'
import { missingTest } from '../missing-test.ts'
import { isBetween, restateFill } from '../part-stats.ts'
import type { BlockSource, PartStats } from '../source.ts'
import { casting } from './astype.ts'
import type { Converting } from './converted.ts'
import { elementOfSign, restoreSign } from './signs.ts'

/** Complete definition of how values are packed. */
export interface Packing {
  readonly scaleFactor: number
  readonly addOffset: number
  readonly unsigned: boolean
  readonly signed: boolean
  /** Data type of the unpacked values. */
  readonly dtype: 'float32' | 'float64'
  /** Packed values that mark missing elements. */
  readonly missing: MissingElements
  readonly validRange: readonly [number | bigint, number | bigint] | undefined
}

/** Returns the conversion that unpacks the elements of a source, and its reverse. */
export function unpacking(
  source: BlockSource,
  { scaleFactor, addOffset, unsigned, signed, dtype, missing, validRange }: Packing,
): Converting {
  const packed = source.dtype as NumericDType
  const isMissing = missingTest(missing) ?? (() => false)
  const fill = missingElement(missing)
  const pack = casting('float64', packed, true)
  const rounds = packed !== 'float32' && packed !== 'float64'
  const bits = 8 * elementBytes(packed)
  const wrap = 2 ** bits
  const back = (value: number): unknown => {
    if (Number.isNaN(value)) return fill ?? pack(value as never)
    const exact = (value - addOffset) / scaleFactor
    const whole = rounds ? Math.round(exact) + 0 : exact
    if (sign === undefined || !Number.isInteger(whole)) return pack(whole as never)
    const [low, high] = sign === 'unsigned' ? [0, wrap] : [-half, half]
    if (whole >= low && whole < high) return elementOfSign(packed, isBigInt(packed) ? BigInt(whole) : whole, true)
    // Values without an element are moved outside the packed type, which then rejects them.
    return pack((whole < 0 ? whole - wrap : whole + wrap) as never)
  }
  const half = wrap / 2
  const sign = unsigned ? 'unsigned' : signed ? 'signed' : undefined
  const toValue = (element: number | bigint): number | bigint => (sign === undefined ? element : restoreSign(element, bits, sign))
  // Bounds are stored like the values: for unsigned ones, -1 is the largest.
  const [lowest, highest] = (validRange ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]).map(toValue) as [number, number]
  const isOutside =
    validRange === undefined
      ? () => false
      : (element: number | bigint): boolean => toValue(element) < lowest || toValue(element) > highest
  const unpack = (element: number | bigint): number => Number(toValue(element)) * scaleFactor + addOffset
  const forth = (element: number | bigint): number => (isMissing(element) || isOutside(element) ? Number.NaN : unpack(element))
  const forthAll: Converting['forthAll'] = (below, above, count) => {
    const [input, output] = [below.data as ArrayLike<number>, above.data as number[]]
    // NaN equals nothing, so it matches no value.
    const [one = Number.NaN, other = Number.NaN] = missing.values as readonly number[]
    let [a, b] = [below.at, above.at]
    for (let i = 0; i < count; i++, a += below.step, b += above.step) {
      const value = input[a]!
      const number = unsigned && value < 0 ? value + wrap : signed && value >= half ? value - wrap : value
      const isNone = value === one || value === other || number < lowest || number > highest
      output[b] = isNone ? Number.NaN : number * scaleFactor + addOffset
    }
  }
  const end = (element: number | bigint): number => toElement(dtype, unpack(element)) as number
  const statsOf = (stats: PartStats): PartStats | undefined => {
    const [fillBelow] = missingElements({ dtype: packed, fillValue: source.fillValue }).values
    const isNone = isMissing(source.fillValue === undefined ? undefined : (fillBelow ?? Number.NaN))
    const known = isNone ? { ...stats, fillCount: 0 } : restateFill(stats, source, { dtype: packed })
    if (known === undefined || known.count === 0) return known
    const [min, max] = [known.min!, known.max!]
    // Reinterpreted values change their order across the sign bit.
    if ((unsigned && min < 0 !== max < 0) || (signed && min >= half !== max >= half)) return undefined
    const [first, last] = scaleFactor > 0 ? [min, max] : [max, min]
    if (isOutside(min) || isOutside(max)) return undefined
    const others = missing.values.some((value) => value !== fillBelow && isBetween(known, value))
    return { ...known, min: end(first), max: end(last), exact: known.exact && !others }
  }
  const isInOneLoop = !isBigInt(packed) && missing.values.length <= 2
  return { forth, forthAll: isInOneLoop ? forthAll : undefined, back, statsOf }
}
