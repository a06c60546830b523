import fc from 'fast-check'
import type { AttributeValue } from '../../src/af/format/footer.ts'
import { allocate, type DataOf, DTYPES, type DType, isBigInt, isFloat, NUMERIC_DTYPES } from '../../src/core/dtype.ts'
import { elements } from '../support/arbitraries.ts'
import type { ModelArray } from './model.ts'

/** One change of a container. What it applies to is chosen when it runs: the array that is `pick`th then. */
export type Step =
  | { readonly kind: 'define'; readonly name: string; readonly options: ModelArray['options'] }
  | { readonly kind: 'write'; readonly pick: number; readonly corners: readonly number[]; readonly values: readonly number[] }
  | { readonly kind: 'attribute'; readonly pick: number; readonly key: string; readonly value: AttributeValue }
  | { readonly kind: 'unset'; readonly pick: number; readonly key: string }
  | { readonly kind: 'delete'; readonly pick: number }
  /** New lengths of the first axes. */
  | { readonly kind: 'resize'; readonly pick: number; readonly lengths: readonly number[] }

/** Changes by one side, flushed together. */
export interface Session {
  readonly side: 'ours' | 'crate'
  readonly codec: string
  readonly blockBytes: number
  readonly steps: readonly Step[]
  readonly compact: boolean
}

const NAMES = ['a', 'b', 'an array with a long name', 'é漢😀', '__file__']
export const KEYS = ['units', 'title', 'a key of more than 16 bytes', 'ключ', '_FillValue']

/** No fill value for strings and binaries: the crate ignores it on reading. */
const fills = (dtype: DType): fc.Arbitrary<ModelArray['options']['fillValue']> =>
  dtype === 'string' || dtype === 'binary'
    ? fc.constant(undefined)
    : (fc.option(
        elements(dtype).map((value) => (dtype === 'bool' ? value === 1 : value)),
        { nil: undefined },
      ) as fc.Arbitrary<ModelArray['options']['fillValue']>)

const axes = fc.record({
  length: fc.oneof({ weight: 14, arbitrary: fc.integer({ min: 1, max: 7 }) }, { weight: 1, arbitrary: fc.constant(0) }),
  chunk: fc.integer({ min: 1, max: 8 }),
  name: fc.constantFrom('x', 'y', 'a dimension with a long name', ''),
})

const definitions = fc.constantFrom(...DTYPES).chain((dtype) =>
  fc
    .record({ axes: fc.array(axes, { maxLength: 4 }), fillValue: fills(dtype) })
    .map(({ axes, fillValue }): ModelArray['options'] => ({
      dtype,
      shape: axes.map(({ length }) => length),
      chunks: axes.map(({ chunk }) => chunk),
      dimensionNames: axes.map(({ name }) => name),
      ...(fillValue === undefined ? {} : { fillValue }),
    })),
)

const scalarAttributes = NUMERIC_DTYPES.map((type) => elements(type).map((value) => ({ type, value }) as AttributeValue))
const listAttributes = NUMERIC_DTYPES.map((type) =>
  fc.array(elements(type), { maxLength: 4 }).map((values) => {
    const value = allocate(type, values.length)
    values.forEach((each, i) => {
      value[i] = each as never
    })
    return { type: `${type}[]`, value } as AttributeValue
  }),
)
const text = fc.string({ unit: 'grapheme', maxLength: 20 })
const bytes = fc.uint8Array({ maxLength: 20 })

const attributes: fc.Arbitrary<AttributeValue> = fc.oneof(
  ...scalarAttributes,
  ...listAttributes,
  fc.record({ type: fc.constant('bool' as const), value: fc.boolean() }),
  fc.record({ type: fc.constant('string' as const), value: text }),
  fc.record({ type: fc.constant('binary' as const), value: bytes }),
  fc.record({ type: fc.constant('bool[]' as const), value: fc.array(fc.boolean(), { maxLength: 4 }) }),
  fc.record({ type: fc.constant('string[]' as const), value: fc.array(text, { maxLength: 4 }) }),
  fc.record({ type: fc.constant('binary[]' as const), value: fc.array(bytes, { maxLength: 4 }) }),
)

const pick = fc.nat(20)
const key = fc.constantFrom(...KEYS)

/** Steps for all containers, files that are written once included. */
const writing = [
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('define' as const), name: fc.constantFrom(...NAMES), options: definitions }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      pick,
      corners: fc.array(fc.nat(100), { minLength: 8, maxLength: 8 }),
      values: fc.array(fc.nat(1000), { minLength: 1, maxLength: 9 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('attribute' as const), pick, key, value: attributes }) },
] as const

/** A file that is written once: its steps, and how they are stored. */
export interface Program extends Pick<Session, 'codec' | 'blockBytes'> {
  readonly steps: readonly Extract<Step, { kind: 'define' | 'write' | 'attribute' }>[]
}

export const programs: fc.Arbitrary<Program> = fc.record({
  codec: fc.constantFrom('none', 'lz4', 'zstd'),
  blockBytes: fc.constantFrom(1, 40, 1 << 20),
  steps: fc.array(fc.oneof(...writing), { minLength: 1, maxLength: 16 }),
})

const steps: fc.Arbitrary<Step> = fc.oneof(
  ...writing,
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('unset' as const), pick, key }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), pick }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('resize' as const),
      pick,
      lengths: fc.array(fc.nat(9), { minLength: 1, maxLength: 4 }),
    }),
  },
)

export const histories: fc.Arbitrary<Session[]> = fc.array(
  fc.record({
    side: fc.constantFrom('ours' as const, 'crate' as const),
    codec: fc.constantFrom('none', 'lz4', 'zstd'),
    blockBytes: fc.constantFrom(1, 40, 1 << 20),
    steps: fc.array(steps, { minLength: 1, maxLength: 8 }),
    compact: fc.nat(4).map((n) => n === 0),
  }),
  { minLength: 1, maxLength: 7 },
)

/** The box that a write step means in an array. */
export function boxOf(shape: readonly number[], corners: readonly number[]): { start: number[]; shape: number[] } {
  const start = shape.map((length, axis) => corners[2 * axis]! % Math.max(1, length))
  return {
    start,
    shape: shape.map((length, axis) => (length === 0 ? 0 : 1 + (corners[2 * axis + 1]! % (length - start[axis]!)))),
  }
}

/** Elements for a write step: extremes, fill values, ordinary ones. */
export function valuesOf({ dtype, options }: ModelArray, count: number, numbers: readonly number[]): DataOf<DType> {
  const data = allocate(dtype, count)
  for (let i = 0; i < count; i++) data[i] = element(dtype, numbers[i % numbers.length]! + i, options.fillValue) as never
  return data
}

function element(dtype: DType, n: number, fill: unknown): unknown {
  if (n % 5 === 0 && fill !== undefined) return dtype === 'bool' ? Number(fill) : fill
  if (dtype === 'bool') return n % 2
  if (dtype === 'string') return ['', 'é漢😀', 'cat', `${n}`.repeat(n % 9)][n % 4]
  if (dtype === 'binary') return Uint8Array.from({ length: n % 6 }, (_, i) => n * (i + 1))
  if (isFloat(dtype)) return [Number.NaN, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY][n % 16] ?? n / 3 - 100
  const bits = dtype === 'timestamp_ns' ? 64n : BigInt(dtype.replace(/\D/g, ''))
  const wide = BigInt(n) * 0x9e3779b97f4a7c15n
  const value = dtype.startsWith('uint') ? BigInt.asUintN(Number(bits), wide) : BigInt.asIntN(Number(bits), wide)
  return isBigInt(dtype) ? value : Number(value)
}
