import { elementBytes, type NumericDType, type ScalarOf } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Archived } from './layout.ts'

const GETTERS: { [D in NumericDType]: (view: DataView, at: number) => ScalarOf<D> } = {
  int8: (view, at) => view.getInt8(at),
  int16: (view, at) => view.getInt16(at, true),
  int32: (view, at) => view.getInt32(at, true),
  int64: (view, at) => view.getBigInt64(at, true),
  uint8: (view, at) => view.getUint8(at),
  uint16: (view, at) => view.getUint16(at, true),
  uint32: (view, at) => view.getUint32(at, true),
  uint64: (view, at) => view.getBigUint64(at, true),
  float32: (view, at) => view.getFloat32(at, true),
  float64: (view, at) => view.getFloat64(at, true),
}

/** A number, aligned to its size. Engines may replace NaN bit patterns here: see {@link FloatWithBits}. */
export function scalar<D extends NumericDType>(dtype: D): Archived<ScalarOf<D>> {
  const get: (view: DataView, at: number) => ScalarOf<D> = GETTERS[dtype]
  const size = elementBytes(dtype)
  return { size, align: size, read: (from, at) => get(from.view, at), form: ['scalar', dtype] }
}

export const uint16 = scalar('uint16')
export const uint32 = scalar('uint32')
export const int64 = scalar('int64')
export const uint64 = scalar('uint64')

/** A u64 that counts bytes or entries, as an exact `number`. */
export const safeUint64: Archived<number> = {
  size: 8,
  align: 8,
  read(from, at) {
    const value = from.count(at)
    if (value <= Number.MAX_SAFE_INTEGER) return value
    const exact = from.view.getBigUint64(at, true)
    return from.fail(at, `${exact} is more than 2^53 - 1`, exact, Number.MAX_SAFE_INTEGER)
  },
  form: ['safeUint64'],
}

/** One byte, 0 or 1. */
export const bool: Archived<boolean> = {
  size: 1,
  align: 1,
  read(from, at) {
    const byte = from.view.getUint8(at)
    if (byte > 1) from.fail(at, `boolean ${byte}, expected 0 or 1`, byte, [0, 1])
    return byte === 1
  },
  form: ['bool'],
}

/**
 * A float with its bit pattern. JavaScript does not distinguish NaNs, but a rewritten file must keep their
 * bit patterns.
 */
export interface FloatWithBits<Bits extends number | bigint> {
  value: number
  bits: Bits
}

/** A float in 4 bytes. */
export const float32WithBits: Archived<FloatWithBits<number>> = {
  size: 4,
  align: 4,
  read: (from, at) => ({ value: from.view.getFloat32(at, true), bits: from.view.getUint32(at, true) }),
  form: ['float', 'float32'],
}

/** A float in 8 bytes. */
export const float64WithBits: Archived<FloatWithBits<bigint>> = {
  size: 8,
  align: 8,
  read: (from, at) => ({ value: from.view.getFloat64(at, true), bits: from.view.getBigUint64(at, true) }),
  form: ['float', 'float64'],
}

const SCRATCH = new DataView(new ArrayBuffer(8))

/** Returns the bit pattern of a float. */
export function floatBits(dtype: 'float32' | 'float64', value: number): number | bigint {
  if (dtype === 'float32') {
    SCRATCH.setFloat32(0, value)
    return SCRATCH.getUint32(0)
  }
  SCRATCH.setFloat64(0, value)
  return SCRATCH.getBigUint64(0)
}

/**
 * Returns the bit pattern of a float. Returns `given` if it is a pattern of this float, because NaN has many.
 * @throws InvalidArgumentError if it is the pattern of another float
 */
export function checkedBits(dtype: 'float32' | 'float64', value: number, given?: number | bigint): number | bigint {
  const own = floatBits(dtype, value)
  if (given === undefined || given === own) return own
  if (Number.isNaN(value) && typeof given === typeof own && isNaNPattern(given)) return given
  throw new HyperslabError('InvalidArgumentError', `the bits of ${value} are not 0x${given.toString(16)}`, { actual: given })
}

const isNaNPattern = (bits: number | bigint): boolean =>
  typeof bits === 'number' ? (bits & 0x7fffffff) > 0x7f800000 : (bits & 0x7fffffffffffffffn) > 0x7ff0000000000000n
