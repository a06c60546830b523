import { type DType, isBigInt, isFloat, NUMERIC_DTYPES, type ScalarOf, toElement } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type Archived, nothing, struct, union } from '../rkyv/layout.ts'
import { bool, float64WithBits, floatBits, int64, uint32, uint64 } from '../rkyv/leaves.ts'
import { box } from '../rkyv/pointers.ts'
import { string } from '../rkyv/string.ts'

/** A float. `bits` has its stored bits, which distinguish NaNs. */
type FloatValue = { kind: 'float'; value: number; bits: bigint }
type IntegerValue = { kind: 'int' | 'uint' | 'timestamp_ns'; value: bigint }

/** Value of unwritten elements, as stored. Its kind is wider than the array's type, so readers convert it. */
export type FillValue = { kind: 'bool'; value: boolean } | IntegerValue | FloatValue | { kind: 'string'; value: string }

/** A minimum or maximum. */
export type StatValue = IntegerValue | FloatValue | { kind: 'bytes'; value: Uint8Array }

/** Returns the `float` value of a number, for fill values and statistics. */
export const floatFill = (value: number): FloatValue => ({ kind: 'float', value, bits: floatBits('float64', value) as bigint })

/** 24 bytes; the boolean at +1, all other fields at +8. */
export const fillValueLayout: Archived<FillValue> = union('fill value', 'kind', {
  bool: struct({ value: bool }),
  int: struct({ value: int64 }),
  uint: struct({ value: uint64 }),
  float: float64WithBits,
  string: struct({ value: string }),
  timestamp_ns: struct({ value: int64 }),
}) as Archived<FillValue>

/**
 * Element type of an array. Lists exist in the metadata only, because the format does not define their data.
 */
export type AfDType =
  | { kind: DType }
  | { kind: 'list'; child: AfDType }
  | { kind: 'fixed_size_list'; child: AfDType; size: number }

const child = box((): Archived<AfDType> => dtypeLayout)

/** 24 bytes. `timestamp_ns` is last because it was added last. */
export const dtypeLayout: Archived<AfDType> = union('dtype', 'kind', {
  ...Object.fromEntries(['bool', ...NUMERIC_DTYPES, 'string', 'binary'].map((kind) => [kind, nothing])),
  /** +8 box of the child, +16 u32 size */
  fixed_size_list: struct({ child, size: uint32 }),
  /** +8 box of the child */
  list: struct({ child }),
  timestamp_ns: nothing,
}) as Archived<AfDType>

/**
 * Returns the fill value as the format stores it.
 * @throws InvalidArgumentError if the value does not fit the type, and for binaries, which have no fill value
 *   in the format
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
 * Returns the fill value as an element of the array; `undefined` if its kind does not apply to the type.
 * Other readers do the same.
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
 * Converts as the first implementation of the format does: integers of another kind wrap, floats saturate,
 * and NaN becomes 0.
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
