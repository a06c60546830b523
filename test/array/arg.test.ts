import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { allocate, type FixedDType, isBigInt, isFloat, NUMERIC_DTYPES, type TypedArray } from '../../src/core/dtype.ts'
import { coordsAt, sizeOf, stridesOf } from '../../src/core/shape.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import {
  create,
  createPool,
  type FileArray,
  type FileOptions,
  linear,
  MemoryStore,
  open,
  slice,
} from '../../src/runtime/index.ts'
import { containers } from '../pool/support.ts'
import { selections } from '../support/arbitraries.ts'
import { runs, some } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { cells, type Plain, plainGet, plainSet, type Selector } from '../support/oracle.ts'

const pool = createPool({ size: 2 })
afterAll(() => pool.close())

type Value = number | bigint
type Outcome = number[] | string
interface Options {
  readonly axis?: number
  readonly skipMissing?: boolean
  readonly skipNaN?: boolean
  readonly keepDims?: boolean
}
const KINDS = ['argMin', 'argMax'] as const

const none = (value: Value): boolean => Number.isNaN(value)

/** Element by element: a NaN is beyond all, and the first of equal ones counts. */
function plainly({ dtype, shape, data }: Plain, kind: 'argMin' | 'argMax', fill: Value | undefined, options: Options): Outcome {
  const { axis, skipMissing, skipNaN } = options
  const skipped = (value: Value): boolean =>
    (skipMissing === true && fill !== undefined && (value === fill || (none(value) && none(fill)))) ||
    (skipNaN === true && none(value))
  const beyond = (a: Value, b: Value): boolean => !none(b) && (none(a) || (kind === 'argMin' ? a < b : a > b))
  const { members } = cells(shape, new Set(axis === undefined ? shape.keys() : [axis]))
  const found = members.map((flat) => {
    let best = -1
    for (const at of flat) {
      const value = (data as ArrayLike<Value>)[at]!
      if (!skipped(value) && (best < 0 || beyond(value, (data as ArrayLike<Value>)[best]!))) best = at
    }
    return best
  })
  const skips = (skipMissing === true && fill !== undefined) || (skipNaN === true && isFloat(dtype))
  if (found.includes(-1) && (axis === undefined || !skips)) return 'EmptyReductionError'
  const stride = stridesOf(shape)
  const along = (at: number, k: number): number => Math.floor(at / stride[k]!) % shape[k]!
  if (axis === undefined) return [found[0]!]
  return found.map((at) => (at < 0 ? -1 : along(at, axis)))
}

async function outcome(array: DiskArray, kind: 'argMin' | 'argMax', options: Options): Promise<Outcome> {
  try {
    const result: unknown = await array[kind](options)
    return typeof result === 'number' ? [result] : [...(result as { data: Float64Array }).data]
  } catch (error) {
    return (error as { tag?: string }).tag ?? String(error)
  }
}

/** Few values, so that ties, fill values, NaN and the ends of the type are common. */
const palette = (dtype: FixedDType): Value[] =>
  dtype === 'bool' ? [0, 1] : isFloat(dtype) ? [Number.NaN, 0, -0, 1, -7, 3.5, Infinity, -Infinity] : ends(dtype)

function ends(dtype: FixedDType): Value[] {
  const bits = BigInt(8 * allocate(dtype, 1).BYTES_PER_ELEMENT)
  const unsigned = dtype.startsWith('u')
  const values = [0n, 1n, 2n, unsigned ? 2n ** bits - 1n : 2n ** (bits - 1n) - 1n, unsigned ? 3n : -(2n ** (bits - 1n))]
  return isBigInt(dtype) ? values : values.map(Number)
}

function filled(dtype: FixedDType, shape: readonly number[], value: (i: number) => Value): Plain {
  const data = allocate(dtype, sizeOf(shape)) as TypedArray
  for (let i = 0; i < data.length; i++) data[i] = value(i) as never
  return { dtype, shape, data } as Plain
}

const FIXED: readonly FixedDType[] = [...NUMERIC_DTYPES, 'bool', 'timestamp_ns']

/** View of an array: all of it, a selection with steps of any sign, or a transposed array. */
interface View {
  readonly of: (array: DiskArray) => DiskArray
  readonly plain: (plain: Plain) => Plain
}

const views = (shape: readonly number[]): fc.Arbitrary<View> =>
  fc
    .tuple(selections(shape), fc.shuffledSubarray([...shape.keys()], { minLength: shape.length }), fc.nat(3))
    .map(([selection, order, which]) =>
      which === 0
        ? { of: (array: DiskArray) => array, plain: (plain: Plain) => plain }
        : which === 1
          ? { of: (array: DiskArray) => array.transpose(order), plain: (plain: Plain) => permuted(plain, order) }
          : {
              of: (array: DiskArray) => array.view(selection as never) as DiskArray,
              plain: (plain: Plain) => plainGet(plain, selection as Selector[]),
            },
    )

function permuted({ dtype, shape, data }: Plain, order: readonly number[]): Plain {
  const stride = stridesOf(shape)
  const to = order.map((axis) => shape[axis]!)
  const dense = stridesOf(to)
  return filled(dtype as FixedDType, to, (i) => {
    const at = order.reduce((sum, axis, k) => sum + (Math.floor(i / dense[k]!) % to[k]!) * stride[axis]!, 0)
    return (data as ArrayLike<Value>)[at]!
  })
}

const cases = containers.chain((container) =>
  fc.constantFrom(...FIXED).chain((dtype) =>
    fc.record({
      container: fc.constant(container),
      dtype: fc.constant(dtype),
      picks: fc.array(fc.nat(7), { minLength: sizeOf(container.shape), maxLength: sizeOf(container.shape) }),
      fill: fc.constantFrom(...palette(dtype)),
      view: views(container.shape),
      axis: fc.option(fc.nat(4)),
      skipMissing: fc.boolean(),
      skipNaN: fc.boolean(),
      all: fc.boolean(),
    }),
  ),
)

test('positions of extremes of a container, with and without workers, and of its views', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ container, dtype, picks, fill, view, axis, skipMissing, skipNaN, all }) => {
      const { shape, grid, selection, codec, blockBytes, segmentBytes, cacheBytes } = container
      const values = palette(dtype)
      const plain = filled(dtype, shape, (i) => values[picks[i]! % values.length]!)
      const current = filled(dtype, shape, () => fill)
      const where = { store: new MemoryStore(), path: 'a.af' }
      const fillValue = (dtype === 'bool' ? fill === 1 : fill) as never
      await using writer = await create(where, { codec, blockBytes, segmentBytes })
      const array = writer.createArray('x', { dtype, shape, chunks: grid.chunkShape, fillValue })
      const part = all ? [] : selection
      const written = plainGet(plain, part).data
      await array.set(part, written as never)
      plainSet(current, part, written)
      const seen = view.plain(current)
      const options = { skipMissing, skipNaN, ...(axis !== null && seen.shape.length > 0 && { axis: axis % seen.shape.length }) }
      const check = async (whole: DiskArray): Promise<void> => {
        for (const kind of KINDS) expect(await outcome(view.of(whole), kind, options)).toEqual(plainly(seen, kind, fill, options))
      }
      await check(array as DiskArray)
      await check(
        new DiskArray(new CountingSource(current, ChunkGrid.regular(shape, grid.chunkShape), { fillValue })) as DiskArray,
      )
      await writer.flush()
      const blocksOf = async (more: FileOptions, run: (array: FileArray) => Promise<unknown>): Promise<number> => {
        await using file = await open(where, { cacheBytes, ...more })
        await run(file.array('x'))
        return file.readCost.blocks
      }
      // The same as for the minimum, of which each chunk is reduced once.
      const minimum = (one: FileArray) =>
        view
          .of(one as DiskArray)
          .min({ ...options, ignoreStats: true })
          .catch(() => undefined)
      const blocks = await blocksOf({}, minimum)
      for (const more of [{}, { pool }])
        for (const kind of KINDS) {
          const own = await blocksOf(more, async (one) => {
            expect(await outcome(view.of(one as DiskArray), kind, options)).toEqual(plainly(seen, kind, fill, options))
          })
          expect(own).toBe(blocks)
        }
    }),
    { numRuns: runs(300) },
  )
  expect(pool.inlineReason).toBeUndefined()
})

describe('large chunks', () => {
  const shapes: [number[], number[]][] = [
    [[100_003], [60_000]],
    [
      [7, 5_001],
      [7, 4_000],
    ],
    [
      [601, 33],
      [601, 20],
    ],
    [
      [301, 2],
      [300, 2],
    ],
    [
      [40, 9, 41],
      [40, 5, 41],
    ],
    [
      [3, 700, 11],
      [3, 700, 11],
    ],
  ]
  test.each(some(FIXED.flatMap((dtype) => shapes.map(([shape, chunkShape]) => [dtype, shape, chunkShape] as const))))(
    '%s, %j in chunks of %j',
    async (dtype, shape, chunkShape) => {
      const where = { store: new MemoryStore(), path: 'a.af' }
      await using writer = await create(where)
      const values = palette(dtype)
      const fill = values[1]!
      // Mostly one value, so that the ends are far apart, and the same ones in most rows.
      const random = (i: number): number => Math.imul(i + 1, 0x9e3779b1) >>> 8
      const plain = filled(dtype, shape, (i) =>
        random(i) % 97 < 96 ? values[2 % values.length]! : values[random(i) % values.length]!,
      )
      const fillValue = (dtype === 'bool' ? fill === 1 : fill) as never
      const array = writer.createArray('x', { dtype, shape, chunks: chunkShape, fillValue })
      await array.set(null, plain.data as never)
      await writer.flush()
      const steps = shape.map(() => slice(1, null, 2)) as Selector[]
      const plainSource = new DiskArray(new CountingSource(plain, ChunkGrid.regular(shape, chunkShape), { fillValue }))
      for (const axis of [undefined, ...shape.keys()])
        for (const kind of KINDS)
          for (const skipNaN of [false, true]) {
            const options = { skipNaN, skipMissing: skipNaN, ...(axis !== undefined && { axis }) }
            const expected = plainly(plain, kind, fill, options)
            expect(await outcome(array as DiskArray, kind, options)).toEqual(expected)
            expect(await outcome(plainSource as DiskArray, kind, options)).toEqual(expected)
            const part = plainly(plainGet(plain, steps), kind, fill, options)
            expect(await outcome(array.view(steps as never) as DiskArray, kind, options)).toEqual(part)
          }
    },
  )
})

test('positions beyond 2^31 are exact, and what nobody wrote is not gone through', async () => {
  await using file = await create({ store: new MemoryStore(), path: 'a.af' })
  const length = 2 ** 32 - 1
  const array = file.createArray('x', { dtype: 'int8', shape: [2, length], chunks: [1, 2 ** 20], fillValue: 5 })
  await array.set([1, slice(length - 3, length)], Int8Array.of(7, 4, 4))
  await file.flush()
  const before = file.readCost.blocks
  expect(await array.argMin({ skipMissing: false })).toBe(2 * length - 2)
  expect(await array.argMax({ skipMissing: false })).toBe(2 * length - 3)
  expect(await array.argMax()).toBe(2 * length - 3)
  expect((await array.argMin({ axis: 1, skipMissing: false })).data).toEqual(Float64Array.of(0, length - 2))
  expect((await array.argMax({ axis: 1 })).data).toEqual(Float64Array.of(-1, length - 3))
  // One for each call.
  expect(file.readCost.blocks - before).toBe(5)
})

test('the position of an extreme of a whole array is one that linear takes, also in arrays without axes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 }),
      fc.array(fc.nat(9), { minLength: 1 }),
      async (shape, picks) => {
        fc.pre(sizeOf(shape) > 0)
        const plain = filled('int32', shape, (i) => picks[i % picks.length]!)
        const array = new DiskArray(
          new CountingSource(
            plain,
            ChunkGrid.regular(
              shape,
              shape.map(() => 2),
            ),
          ),
        )
        expect(await array.get(linear(await array.argMin()))).toBe(await array.min())
        expect(await array.get(linear(await array.argMax()))).toBe(await array.max())
        expect(coordsAt(await array.argMin(), shape)).toEqual(coordsAt(plain.data.indexOf((await array.min()) as never), shape))
      },
    ),
  )
})
