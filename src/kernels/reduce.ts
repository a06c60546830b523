import { elementBytes, type FixedDType, isBigInt, isFloat, type NumericDType } from '../core/dtype.ts'
import type { Arena } from './arena.ts'
import { compute } from './compute.ts'

/** Reductions that kernels compute. */
export type ReduceOp = 'sum' | 'min' | 'max'

/**
 * Elements that a reduction skips: none; NaNs (integers have none); or those equal to a fill value, and with
 * `nan` also NaNs. For floats, the fill value is rounded to the type, -0 equals 0, and a fill value of NaN
 * matches every NaN.
 */
export type SkipRule = 'none' | 'nan' | { readonly fill: number | bigint; readonly nan?: boolean }

const OPS: Record<ReduceOp | 'squares', number> = { sum: 0, min: 1, max: 2, squares: 3 }
/** Bits of a kernel's skip code. */
const SKIP_FILL = 1
const SKIP_NANS = 2
const CODES: Record<NumericDType, number> = {
  int8: 0,
  int16: 1,
  int32: 2,
  int64: 3,
  uint8: 4,
  uint16: 5,
  uint32: 6,
  uint64: 7,
  float32: 8,
  float64: 9,
}

/** Returns the numeric type that a type is reduced as: uint8 for bools, int64 for timestamps. */
const numeric = (dtype: FixedDType): NumericDType => (dtype === 'bool' ? 'uint8' : dtype === 'timestamp_ns' ? 'int64' : dtype)

/** Returns the kernels' code of a type. */
export const typeCode = (dtype: FixedDType): number => CODES[numeric(dtype)]

const isWide = (dtype: FixedDType, op: ReduceOp): boolean => op === 'sum' && isBigInt(dtype)

/** Returns the bytes of one accumulator cell. */
export function cellBytes(op: ReduceOp, dtype: FixedDType): number {
  return op === 'sum' ? (isWide(dtype, op) ? 16 : 8) : elementBytes(dtype)
}

/**
 * Allocates `count` cells with the identity of the reduction, and returns their address. The identity is 0
 * for a sum, otherwise {@link identityOf}.
 * @throws OutOfMemoryError if the memory cannot hold them
 */
export function accumulators(arena: Arena, op: ReduceOp, dtype: FixedDType, count: number): number {
  const bytes = count * cellBytes(op, dtype)
  const pointer = arena.alloc(bytes)
  if (op === 'sum') arena.bytes(pointer, bytes).fill(0)
  else arena.view(numeric(dtype), pointer, count).fill(identityOf(op, dtype) as never)
  return pointer
}

/** Returns the identity of minimum or maximum: the limit of the type's range, infinite for floats. */
export function identityOf(op: 'min' | 'max', type: FixedDType): number | bigint {
  const dtype = numeric(type)
  if (isFloat(dtype)) return op === 'min' ? Infinity : -Infinity
  const signed = dtype.startsWith('int')
  const bits = 8 * elementBytes(dtype)
  const greatest = 2n ** BigInt(signed ? bits - 1 : bits) - 1n
  const limit = op === 'min' ? greatest : signed ? -greatest - 1n : 0n
  return isBigInt(dtype) ? limit : Number(limit)
}

/** Allocates `count` zeroed counters of elements, and returns their address. */
export function counters(arena: Arena, count: number): number {
  const pointer = arena.alloc(8 * count)
  arena.bytes(pointer, 8 * count).fill(0)
  return pointer
}

/**
 * Reduces a strided box in kernel memory into accumulator cells, on top of their current values. Sums of
 * integers are exact. A NaN that is not skipped makes its cell NaN. Floats are summed in float64, in an order
 * that depends on the layout: long runs blockwise and then pairwise (assembly/reduce.ts states the bound).
 * Grows the memory only if a few descriptors do not fit; views become invalid then.
 *
 * `squares` adds (x - shift)^2 in float64; `x` of 64-bit integers is rounded to it. All terms are positive.
 * For runs of n elements along the innermost axis, the relative error of a sum is at most (580 + n / 32768) *
 * 2^-53. Each run added to a cell adds 2^-53. A NaN that is not skipped, and an infinity minus an infinite
 * shift, make their cell NaN.
 * @param src address of the element at index 0 of every axis; strides count elements
 * @param cells from {@link accumulators}, for squares float64 cells from {@link counters}; `cellStride`
 *   counts cells and is 0 for reduced axes
 * @param counts from {@link counters}: number of elements taken per cell; 0 disables counting. For squares:
 *   the shifts, as float64
 */
export function reduceElements(
  arena: Arena,
  op: ReduceOp | 'squares',
  dtype: FixedDType,
  skip: SkipRule,
  shape: readonly number[],
  src: number,
  srcStride: readonly number[],
  cells: number,
  cellStride: readonly number[],
  counts = 0,
): void {
  const rank = shape.length
  arena.scratch(() => {
    const axes = arena.int32s([...shape, ...srcStride, ...cellStride])
    const { code, fill } = putSkip(arena, dtype, skip)
    // Squares compare elements as float64, except integers of 64 bits, which would be rounded.
    if (op === 'squares' && fill !== 0 && !isBigInt(dtype))
      arena.view('float64', fill, 1)[0] = arena.view(numeric(dtype), fill, 1)[0] as number
    compute(arena).reduce(OPS[op], typeCode(dtype), code, fill, rank, axes, src, axes + 4 * rank, cells, axes + 8 * rank, counts)
  })
}

function putSkip(arena: Arena, dtype: FixedDType, skip: SkipRule): { code: number; fill: number } {
  const nothing = { code: 0, fill: 0 }
  if (skip === 'none') return nothing
  if (skip === 'nan' || Number.isNaN(skip.fill)) return { code: isFloat(dtype) ? SKIP_NANS : 0, fill: 0 }
  if (isBigInt(dtype) && typeof skip.fill === 'number' && !Number.isInteger(skip.fill)) return nothing
  const value = isBigInt(dtype) ? BigInt(skip.fill) : Number(skip.fill)
  const fill = arena.alloc(8) // the kernel takes an address
  const view = arena.view(numeric(dtype), fill, 1)
  view.fill(value as never)
  // No integer equals a fill value that its type cannot represent.
  if (!isFloat(dtype)) return view[0] === value ? { code: SKIP_FILL, fill } : nothing
  return { code: skip.nan ? SKIP_FILL | SKIP_NANS : SKIP_FILL, fill }
}

/**
 * Results in the cells of a reduction, as JavaScript values: bigints for 64-bit integers, numbers for other
 * types.
 */
export type Reduced<D extends FixedDType> = D extends 'int64' | 'uint64' | 'timestamp_ns' ? bigint : number

/**
 * Returns the results in `count` cells. Sums of 64-bit integers are exact bigints of any size. Sums of
 * smaller integers are exact up to 2^53 and rounded to the nearest number beyond.
 */
export function results<D extends FixedDType>(arena: Arena, op: ReduceOp, dtype: D, cells: number, count: number): Reduced<D>[] {
  const found: (number | bigint)[] = new Array(count)
  if (isWide(dtype, op)) {
    const halves = arena.view('int64', cells, 2 * count)
    for (let i = 0; i < count; i++) found[i] = (halves[2 * i + 1]! << 32n) + halves[2 * i]!
  } else {
    const exact = op === 'sum' && !isFloat(dtype)
    const values = arena.view(op !== 'sum' ? numeric(dtype) : exact ? 'int64' : 'float64', cells, count)
    for (let i = 0; i < count; i++) found[i] = exact ? Number(values[i]) : values[i]!
  }
  return found as Reduced<D>[]
}

/**
 * Minimum and maximum of the elements that are not skipped, and their number. Both are meaningless if `taken`
 * is 0.
 */
export interface KernelStats<D extends FixedDType = FixedDType> {
  readonly min: Reduced<D>
  readonly max: Reduced<D>
  readonly taken: number
}

/**
 * Returns minimum, maximum and number of `count` contiguous elements at `src`, in one pass. Floats are
 * compared in IEEE totalOrder: -NaN < -Infinity < ... < -0 < 0 < ... < Infinity < NaN. A NaN that is not
 * skipped is therefore a minimum or maximum.
 * @param fill elements equal to it are skipped; by default none
 */
export function chunkStats<D extends FixedDType>(
  arena: Arena,
  dtype: D,
  src: number,
  count: number,
  fill?: number | bigint,
): KernelStats<D> {
  return arena.scratch(() => {
    const out = arena.alloc(24)
    const skip = putSkip(arena, dtype, fill === undefined ? 'none' : { fill })
    compute(arena).stats(typeCode(dtype), skip.code, skip.fill, src, count, out)
    return {
      min: arena.view(numeric(dtype), out, 1)[0] as Reduced<D>,
      max: arena.view(numeric(dtype), out + 8, 1)[0] as Reduced<D>,
      taken: arena.view('float64', out + 16, 1)[0]!,
    }
  })
}
