import { type DType, isBigInt, isFloat, type ScalarOf, toElement } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type FillValue, floatFill } from './footer-values.ts'

/**
 * The fill value as the format stores it.
 * @throws InvalidArgumentError when the value does not fit the type, and for binaries, for which the format
 *   has none
 */
export function toFill<D extends DType>(dtype: D, value: ScalarOf<D>): FillValue {
  const element = toElement(dtype, value)
  if (dtype === 'bool') return { kind: 'bool', value: element === 1 }
  if (isFloat(dtype)) return floatFill(element as number)
  if (dtype === 'timestamp_ns') return { kind: 'timestamp_ns', value: element as bigint }
  if (dtype === 'string') return { kind: 'string', value: element as string }
  if (dtype === 'binary') throw new HyperslabError('InvalidArgumentError', 'binary arrays have no fill value in this format')
  return { kind: dtype.startsWith('uint') ? 'uint' : 'int', value: BigInt(element as number | bigint) }
}

/**
 * The fill value as an element of the array; `undefined` where its kind means nothing for the type, as other
 * readers have it.
 */
export function fromFill<D extends DType>(dtype: D, fill: FillValue): ScalarOf<D> | undefined {
  return convert(dtype, fill) as ScalarOf<D> | undefined
}

function convert(dtype: DType, fill: FillValue): unknown {
  if (dtype === 'bool') return fill.kind === 'bool' ? fill.value : undefined
  if (dtype === 'string') return fill.kind === 'string' ? fill.value : undefined
  if (dtype === 'binary') return undefined
  if (dtype === 'timestamp_ns')
    return fill.kind === 'timestamp_ns' || fill.kind === 'int' ? BigInt.asIntN(64, fill.value) : undefined
  if (isFloat(dtype)) {
    if (fill.kind !== 'float' && fill.kind !== 'int' && fill.kind !== 'uint') return undefined
    return dtype === 'float32' ? Math.fround(Number(fill.value)) : Number(fill.value)
  }
  const signed = dtype.startsWith('int')
  const bits = Number(dtype.replace(/\D/g, ''))
  const integer = toInteger(fill, signed, bits)
  if (integer === undefined) return undefined
  return isBigInt(dtype) ? integer : Number(integer)
}

/**
 * Integers of another kind wrap, floats saturate with NaN as 0: what the format's first implementation does.
 */
function toInteger(fill: FillValue, signed: boolean, bits: number): bigint | undefined {
  if (fill.kind === 'int' || fill.kind === 'uint')
    return signed ? BigInt.asIntN(bits, fill.value) : BigInt.asUintN(bits, fill.value)
  if (fill.kind === 'bool' && !signed) return fill.value ? 1n : 0n
  if (fill.kind !== 'float') return undefined
  if (Number.isNaN(fill.value)) return 0n
  const low = signed ? -(2n ** BigInt(bits - 1)) : 0n
  const high = 2n ** BigInt(signed ? bits - 1 : bits) - 1n
  if (fill.value <= Number(low)) return low
  if (fill.value >= Number(high)) return high
  return BigInt(Math.trunc(fill.value))
}
