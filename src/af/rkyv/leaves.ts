import { elementBytes, type NumericDType, type ScalarOf, toElement } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Archived } from './layout.ts'

type Accessors<T> = { get(view: DataView, at: number): T; set(view: DataView, at: number, value: T): void }

const ACCESSORS: { [D in NumericDType]: Accessors<ScalarOf<D>> } = {
  int8: { get: (view, at) => view.getInt8(at), set: (view, at, value) => view.setInt8(at, value) },
  int16: { get: (view, at) => view.getInt16(at, true), set: (view, at, value) => view.setInt16(at, value, true) },
  int32: { get: (view, at) => view.getInt32(at, true), set: (view, at, value) => view.setInt32(at, value, true) },
  int64: { get: (view, at) => view.getBigInt64(at, true), set: (view, at, value) => view.setBigInt64(at, value, true) },
  uint8: { get: (view, at) => view.getUint8(at), set: (view, at, value) => view.setUint8(at, value) },
  uint16: { get: (view, at) => view.getUint16(at, true), set: (view, at, value) => view.setUint16(at, value, true) },
  uint32: { get: (view, at) => view.getUint32(at, true), set: (view, at, value) => view.setUint32(at, value, true) },
  uint64: { get: (view, at) => view.getBigUint64(at, true), set: (view, at, value) => view.setBigUint64(at, value, true) },
  float32: { get: (view, at) => view.getFloat32(at, true), set: (view, at, value) => view.setFloat32(at, value, true) },
  float64: { get: (view, at) => view.getFloat64(at, true), set: (view, at, value) => view.setFloat64(at, value, true) },
}

/** A number, aligned to its size. Engines may replace NaN bit patterns here: see {@link FloatWithBits}. */
export function scalar<D extends NumericDType>(dtype: D): Archived<ScalarOf<D>> {
  const { get, set }: Accessors<ScalarOf<D>> = ACCESSORS[dtype]
  return {
    size: elementBytes(dtype),
    align: elementBytes(dtype),
    read: (from, at) => get(from.view, at),
    write(to, value) {
      const element = toElement(dtype, value) as ScalarOf<D>
      return (at) => set(to.view, at, element)
    },
  }
}

export const uint16 = scalar('uint16')
export const uint32 = scalar('uint32')
export const int64 = scalar('int64')
export const uint64 = scalar('uint64')

/** A u64 that counts bytes or entries: a `number`, exact. */
export const safeUint64: Archived<number> = {
  size: 8,
  align: 8,
  read(from, at) {
    const value = from.count(at)
    if (value <= Number.MAX_SAFE_INTEGER) return value
    const exact = from.view.getBigUint64(at, true)
    return from.fail(at, `${exact} is more than 2^53 - 1`, exact, Number.MAX_SAFE_INTEGER)
  },
  write(to, value) {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new HyperslabError('InvalidArgumentError', `${value} is not an integer from 0 to 2^53 - 1`, { actual: value })
    }
    return (at) => to.uint64(at, value)
  },
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
  write(to, value) {
    const element = toElement('bool', value) as number
    return (at) => to.view.setUint8(at, element)
  },
}

const SCRATCH = new DataView(new ArrayBuffer(8))

export function bitsOfFloat32(value: number): number {
  SCRATCH.setFloat32(0, value)
  return SCRATCH.getUint32(0)
}

export function bitsOfFloat64(value: number): bigint {
  SCRATCH.setFloat64(0, value)
  return SCRATCH.getBigUint64(0)
}

/**
 * A float next to its bit pattern: one NaN of JavaScript stands for many patterns, and a file that is
 * rewritten must keep its own.
 */
export interface FloatWithBits<Bits extends number | bigint> {
  value: number
  bits: Bits
}

const isNaN32 = (bits: number): boolean => (bits & 0x7fffffff) > 0x7f800000
const isNaN64 = (bits: bigint): boolean => (bits & 0x7fffffffffffffffn) > 0x7ff0000000000000n

function checkBits(agree: boolean, value: number, bits: number | bigint): void {
  if (agree) return
  throw new HyperslabError('InvalidArgumentError', `the bits of ${value} are not 0x${bits.toString(16)}`, { actual: bits })
}

/** A float in 4 bytes. */
export const float32WithBits: Archived<FloatWithBits<number>> = {
  size: 4,
  align: 4,
  read: (from, at) => ({ value: from.view.getFloat32(at, true), bits: from.view.getUint32(at, true) }),
  write(to, { value, bits }) {
    checkBits(Number.isNaN(value) ? isNaN32(bits) : bitsOfFloat32(value) === bits, value, bits)
    return (at) => to.view.setUint32(at, bits, true)
  },
}

/** A float in 8 bytes. */
export const float64WithBits: Archived<FloatWithBits<bigint>> = {
  size: 8,
  align: 8,
  read: (from, at) => ({ value: from.view.getFloat64(at, true), bits: from.view.getBigUint64(at, true) }),
  write(to, { value, bits }) {
    checkBits(Number.isNaN(value) ? isNaN64(bits) : bitsOfFloat64(value) === bits, value, bits)
    return (at) => to.view.setBigUint64(at, bits, true)
  },
}
