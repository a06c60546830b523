import type { Converting } from '../array/lazy/converted.ts'
import { unpacking } from '../array/lazy/unpacking.ts'
import { isAnyMissing, missingElements } from '../array/missing.ts'
import type { BlockSource } from '../array/source.ts'
import { isBigInt } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'

/** Returns the conversion of a source's elements to floats. This module is loaded on the first conversion. */
export function toFloats(source: BlockSource, dtype: 'float32' | 'float64'): Converting {
  const missing = missingElements(source)
  const { forth, forthAll, statsOf } = unpacking(source, {
    scaleFactor: 1,
    addOffset: 0,
    unsigned: false,
    signed: false,
    dtype,
    missing,
    validRange: undefined,
  })
  if (!isBigInt(source.dtype))
    return isAnyMissing(missing) ? { forth, forthAll, statsOf } : { forth: (value: number) => value, statsOf }
  const isMissing = new Set<unknown>(missing.values)
  return {
    forth: (value: bigint) => {
      if (isMissing.has(value)) return Number.NaN
      if (BigInt(Number(value)) === value) return Number(value)
      throw new HyperslabError('OverflowError', `no float is exactly ${value}`, { ...source.label, actual: value })
    },
  }
}
