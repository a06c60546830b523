import fc from 'fast-check'
import { expect } from 'vitest'
import { allocate, type DataOf, elementBytes, type NumericDType, type TypedArray, toBytes } from '../../src/core/dtype.ts'
import type { Arena } from '../../src/kernels/arena.ts'

/** Guard bytes on both sides of a destination: a kernel may neither write them nor care what they are. */
const GUARD = 0xa5
const GUARD_BYTES = 64

/** A destination of `bytes` bytes between guards; `check` fails when a guard was written. */
export function guarded(arena: Arena, bytes: number, misalign = 0): { pointer: number; check: () => void } {
  const start = arena.alloc(bytes + 2 * GUARD_BYTES + misalign)
  const total = bytes + 2 * GUARD_BYTES + misalign
  arena.bytes(start, total).fill(GUARD)
  const pointer = start + GUARD_BYTES + misalign
  return {
    pointer,
    check: () => {
      const all = arena.bytes(start, total)
      const before = all.subarray(0, pointer - start)
      const after = all.subarray(pointer - start + bytes)
      expect(before.some((byte) => byte !== GUARD) && before.join(), 'written before the destination').toBe(false)
      expect(after.some((byte) => byte !== GUARD) && after.join(), 'written behind the destination').toBe(false)
    },
  }
}

/** Address of a copy of `data`, `misalign` bytes off alignment. */
export function putAt(arena: Arena, data: TypedArray, misalign = 0): number {
  const start = arena.alloc(data.byteLength + misalign)
  arena.bytes(start + misalign, data.byteLength).set(toBytes(data))
  return start + misalign
}

/** Elements at an address that need not be aligned. */
export function take<D extends NumericDType>(arena: Arena, dtype: D, pointer: number, length: number): DataOf<D> {
  const copy = allocate(dtype, length)
  toBytes(copy as TypedArray).set(arena.bytes(pointer, length * elementBytes(dtype)))
  return copy
}

/**
 * Fails, showing the first difference, unless both hold the same bytes. (`toEqual` looks at every element and
 * takes a thousand times as long.)
 */
export function expectSameBytes(actual: Uint8Array, expected: Uint8Array): void {
  expect(differenceOf(actual, expected)).toBeUndefined()
}

function differenceOf(actual: Uint8Array, expected: Uint8Array): string | undefined {
  if (Buffer.compare(actual, expected) === 0) return undefined
  const at = actual.findIndex((byte, i) => byte !== expected[i])
  const shown = (bytes: Uint8Array) => bytes.subarray(Math.max(at - 8, 0), at + 8).join(' ')
  return `${actual.length} bytes, ${expected.length} expected; first difference at ${at}: ${shown(actual)}, expected ${shown(expected)}`
}

const NOISE = 1 << 20
let pool: Uint8Array | undefined

/** `length` pseudo-random bytes, the same for the same seed. */
export function noise(length: number, seed: number): Uint8Array {
  if (pool === undefined) {
    const next = randoms(42)
    pool = new Uint8Array(NOISE)
    for (let i = 0; i < NOISE; i++) pool[i] = next() >>> 24
  }
  const bytes = new Uint8Array(length)
  for (let at = 0, from = (seed * 7919) % NOISE; at < length; from = 0) {
    const part = pool.subarray(from, from + length - at)
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** Small, fast, repeatable pseudo-random numbers in [0, 2^32). */
export function randoms(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}

/** Values at which arithmetic goes wrong first. */
export function extremesOf(dtype: NumericDType): (number | bigint)[] {
  if (dtype === 'float32') return [NaN, Infinity, -Infinity, 0, -0, 1e38, -1e38, 1.401298464324817e-45]
  if (dtype === 'float64') return [NaN, Infinity, -Infinity, 0, -0, 1e290, -1e290, Number.MIN_VALUE]
  const bits = BigInt(8 * elementBytes(dtype))
  const signed = dtype.startsWith('int')
  const values = signed
    ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n, -1n, 0n, 1n]
    : [0n, 1n, 2n ** bits - 1n, 2n ** (bits - 1n)]
  return bits === 64n ? values : values.map(Number)
}

/**
 * `length` elements: noise, with a share of extreme values and of the value 3 (the tests' fill value).
 */
export function sample<D extends NumericDType>(dtype: D, length: number, seed: number): DataOf<D> {
  const key = `${dtype} ${length} ${seed}`
  const known = samples.get(key)
  if (known !== undefined) return known as DataOf<D>
  const next = randoms(seed)
  const extremes = extremesOf(dtype)
  const data = allocate(dtype, length) as TypedArray
  const share = next() % 3 // none, few, many extremes
  for (let i = 0; i < length; i++) {
    const kind = next() % 16
    const value: number | bigint =
      kind < share * 4
        ? extremes[next() % extremes.length]!
        : kind === 15
          ? 3
          : dtype.startsWith('float')
            ? (next() - 2 ** 31) / 2 ** 24
            : dtype.endsWith('64')
              ? (BigInt(next()) << 32n) | BigInt(next())
              : next()
    data[i] = (dtype.endsWith('int64') ? BigInt(value) : Number(value)) as never
  }
  if (length > 1000) samples.set(key, data)
  return data as DataOf<D>
}

/** The long samples: making them takes longer than using them. */
const samples = new Map<string, TypedArray>()

/**
 * A strided box in a buffer of `places` elements: any order of axes, gaps, negative and (where allowed) zero
 * strides.
 */
export interface Layout {
  readonly stride: number[]
  readonly first: number
  readonly places: number
}

/**
 * Lays `shape` out in the order, with the gaps and the directions given; axes in `broadcast` get stride 0.
 */
export function layOut(
  shape: readonly number[],
  order: readonly number[],
  gaps: readonly number[],
  flips: readonly boolean[],
  broadcast: readonly boolean[] = [],
): Layout {
  const stride = new Array<number>(shape.length).fill(0)
  let step = 1
  let first = 0
  for (const axis of order) {
    if (broadcast[axis]) continue
    const gap = step * gaps[axis]!
    stride[axis] = flips[axis] ? -gap : gap
    if (flips[axis]) first += gap * Math.max(shape[axis]! - 1, 0)
    step = gap * Math.max(shape[axis]!, 1)
  }
  return { stride, first, places: step }
}

/** Shapes of rank 0 to 5 with at most `most` elements, and a layout of each. */
export function boxes(most: number, broadcasts: boolean): fc.Arbitrary<{ shape: number[]; layout: Layout; other: Layout }> {
  const lengths = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 9 }) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 70 }) },
    { weight: 1, arbitrary: fc.constant(0) },
  )
  return fc
    .array(lengths, { maxLength: 5 })
    .map((shape) => {
      let size = 1
      return shape.map((length) => {
        const kept = size * length > most ? 1 : length
        size *= Math.max(kept, 1)
        return kept
      })
    })
    .chain((shape) => {
      const rank = shape.length
      const each = <T>(value: fc.Arbitrary<T>) => fc.array(value, { minLength: rank, maxLength: rank })
      const order = fc.shuffledSubarray([...shape.keys()], { minLength: rank, maxLength: rank })
      const natural = fc.constant([...shape.keys()].reverse())
      // one or two axes with gaps: with more the buffer is nearly all gap
      const gaps = fc
        .tuple(fc.nat(6), fc.constantFrom(1, 2, 3, 5), fc.nat(6), fc.constantFrom(1, 2, 3))
        .map(([i, a, j, b]) => shape.map((_, axis) => (axis === i ? a : 1) * (axis === j ? b : 1)))
      const layout = (zero: boolean) =>
        fc
          .tuple(
            fc.oneof(natural, order),
            gaps,
            each(fc.boolean()),
            each(zero ? fc.integer({ min: 0, max: 5 }).map((n) => n === 0) : fc.constant(false)),
            fc.boolean(),
          )
          .map(([axes, gaps, flips, zeros, forward]) =>
            layOut(shape, axes, gaps, forward ? shape.map(() => false) : flips, zeros),
          )
      return fc.record({ shape: fc.constant(shape), layout: layout(broadcasts), other: layout(false) })
    })
}

/** Place of an index in a layout. */
export const placeOf = ({ stride, first }: Pick<Layout, 'stride' | 'first'>, index: readonly number[]): number =>
  index.reduce((place, at, axis) => place + at * stride[axis]!, first)

const FLOAT = new DataView(new ArrayBuffer(8))

/**
 * The exact sum of finite numbers, times `repeats`, rounded once: every float64 is a whole multiple of
 * 2^-1074.
 */
export function exactSum(values: readonly number[], repeats = 1): number {
  let sum = 0n
  for (const value of values) {
    FLOAT.setFloat64(0, value)
    const bits = FLOAT.getBigUint64(0)
    const exponent = (bits >> 52n) & 0x7ffn
    const fraction = bits & 0xfffffffffffffn
    const units = exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n)
    sum += bits >> 63n ? -units : units
  }
  sum *= BigInt(repeats)
  const negative = sum < 0n
  if (negative) sum = -sum
  // 64 leading bits are plenty for one rounding; the rest goes into the exponent
  const shift = BigInt(Math.max(sum.toString(2).length - 64, 0))
  const scaled = Number(sum >> shift)
  const exponent = Number(shift) - 1074
  const value = scaled * 2 ** Math.trunc(exponent / 2) * 2 ** (exponent - Math.trunc(exponent / 2))
  return negative ? -value : value
}
