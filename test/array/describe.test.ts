import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { encodeState, type StateValue } from '../../src/cluster/state-codec.ts'
import { allocate, type FixedDType, isBigInt, isFloat, NUMERIC_DTYPES, type TypedArray } from '../../src/core/dtype.ts'
import { sizeOf } from '../../src/core/shape.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import {
  create,
  createPool,
  type DescribeResult,
  type FileArray,
  type FileOptions,
  generate,
  MemoryStore,
  open,
  scaled,
} from '../../src/runtime/index.ts'
import { containers } from '../pool/support.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { cells, type Plain, plainGet, plainSet } from '../support/oracle.ts'

const pool = createPool({ size: 2 })
afterAll(() => pool.close())

type Value = number | bigint
interface Options {
  readonly axis?: number
  readonly skipMissing: boolean
  readonly skipNaN: boolean
}

const FIXED: readonly FixedDType[] = [...NUMERIC_DTYPES, 'bool', 'timestamp_ns']

/** Few values, so that missing cells, NaN, the ends of the type and integers beyond 2^53 are common. */
function palette(dtype: FixedDType): Value[] {
  if (dtype === 'bool') return [0, 1]
  if (isFloat(dtype)) return [Number.NaN, 0, -0, 0.1, -7, 3.5, 1e30]
  const bits = BigInt(8 * allocate(dtype, 1).BYTES_PER_ELEMENT)
  const unsigned = dtype.startsWith('u')
  const values = [0n, 1n, 2n, unsigned ? 2n ** bits - 1n : 2n ** (bits - 1n) - 1n, unsigned ? 3n : -(2n ** (bits - 1n))]
  return isBigInt(dtype) ? [...values, 2n ** 53n + 1n] : values.map(Number)
}

function filled(dtype: FixedDType, shape: readonly number[], value: (i: number) => Value): Plain {
  const data = allocate(dtype, sizeOf(shape)) as TypedArray
  for (let i = 0; i < data.length; i++) data[i] = value(i) as never
  return { dtype, shape, data } as Plain
}

type Listed = Readonly<Record<keyof DescribeResult, readonly unknown[]>>

/** Lists the members, with one value per cell. */
const listed = (found: DescribeResult<unknown>): Listed =>
  Object.fromEntries(
    Object.entries(found).map(([name, value]) => [
      name,
      typeof value === 'object' ? Array.from((value as { data: Float64Array }).data) : [value],
    ]),
  ) as unknown as Listed

/** Describes element by element: reads a plain array cell by cell. */
function plainly({ dtype, shape, data }: Plain, fill: Value, { axis, skipMissing, skipNaN }: Options): Listed[keyof Listed][] {
  const skipped = (value: Value): boolean =>
    (skipMissing && (value === fill || (Number.isNaN(value) && Number.isNaN(fill)))) || (skipNaN && Number.isNaN(value))
  const { members } = cells(shape, new Set(axis === undefined ? shape.keys() : [axis]))
  const noValue = axis === undefined ? undefined : isFloat(dtype) ? Number.NaN : fill
  const shown = (value: Value): unknown => (dtype === 'bool' && axis === undefined ? value === 1 : value)
  return members.map((flat) => {
    const taken = flat.map((at) => (data as ArrayLike<Value>)[at]!).filter((value) => !skipped(value))
    const numbers = taken.map(Number)
    const [count, missing] = [taken.length, flat.length - taken.length]
    if (count === 0) return [count, missing, noValue, noValue, Number.NaN, Number.NaN]
    const nan = taken.find(Number.isNaN)
    const sorted = taken.toSorted((a, b) => (a < b ? -1 : 1))
    const [min, max] = nan === undefined ? [sorted[0]!, sorted.at(-1)!] : [nan, nan]
    const sum = isBigInt(dtype) ? Number(taken.reduce<bigint>((a, b) => a + BigInt(b), 0n)) : numbers.reduce((a, b) => a + b, 0)
    const mean = sum / count
    const std = Math.sqrt(numbers.reduce((all, x) => all + (x - mean) ** 2, 0) / count)
    const isTime = dtype === 'timestamp_ns'
    return [count, missing, shown(min), shown(max), isTime ? Number.NaN : mean, isTime ? Number.NaN : std]
  })
}

function expectClose(found: unknown, expected: unknown, scale: number, what: string): void {
  if (typeof expected !== 'number' || Number.isNaN(expected)) expect(found, what).toEqual(expected)
  else expect(Math.abs((found as number) - expected), `${what}: ${found} for ${expected}`).toBeLessThanOrEqual(1e-9 * scale)
}

function expectDescription(found: DescribeResult<unknown>, plain: Plain, fill: Value, options: Options): void {
  const { count, missing, min, max, mean, std } = listed(found)
  for (const [cell, expected] of plainly(plain, fill, options).entries()) {
    const exact = [count[cell], missing[cell], min[cell], max[cell]]
    for (const [i, value] of exact.entries())
      expect(Number.isNaN(value) || value === expected[i], `${value} for ${expected[i]}`).toBe(true)
    for (const i of [2, 3]) if (Number.isNaN(exact[i])) expect(expected[i]).toBeNaN()
    const scale = Math.abs(Number(min[cell]) || 0) + Math.abs(Number(max[cell]) || 0)
    expectClose(mean[cell], expected[4], scale, 'mean')
    expectClose(std[cell], expected[5], scale, 'std')
  }
}

const bitsOf = (value: unknown): string => Buffer.from(encodeState(value as StateValue)).toString('latin1')

const tagOf = (error: unknown): unknown => (error as { tag?: string }).tag ?? String(error)

/** Asserts that each member has the bits of the method of its name. */
async function expectBitsOfMethods(array: DiskArray, found: DescribeResult<unknown>, options: Options): Promise<void> {
  const isTime = array.dtype === 'timestamp_ns'
  for (const name of ['count', 'min', 'max', 'mean', 'std'] as const) {
    if (isTime && (name === 'mean' || name === 'std')) continue
    const own: unknown = await (array[name] as DiskArray['std'])(options).catch(tagOf)
    expect(bitsOf(found[name]), name).toBe(bitsOf(own === 'EmptyReductionError' ? undefined : own))
  }
}

const cases = containers.chain((container) =>
  fc.constantFrom(...FIXED).chain((dtype) =>
    fc.record({
      container: fc.constant(container),
      dtype: fc.constant(dtype),
      picks: fc.array(fc.nat(7), { minLength: sizeOf(container.shape), maxLength: sizeOf(container.shape) }),
      fill: fc.constantFrom(...palette(dtype)),
      axis: fc.option(fc.nat(4)),
      skipMissing: fc.boolean(),
      skipNaN: fc.boolean(),
      all: fc.boolean(),
    }),
  ),
)

test('a description agrees with the elements and has the bits of single reductions, and each block is read once', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ container, dtype, picks, fill: given, axis, all, ...skips }) => {
      // Rounded to the type.
      const fill = (filled(dtype, [1], () => given).data as ArrayLike<Value>)[0]!
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
      const options: Options = { ...skips, ...(axis !== null && shape.length > 0 && { axis: axis % shape.length }) }
      const read = { ...options, ignoreStats: true }
      const source = new CountingSource(current, ChunkGrid.regular(shape, grid.chunkShape), { fillValue })
      // Cells without elements have no extremes, unless they can be missing.
      const expected = await array.min({ ...options, axis: options.axis! }).then(() => undefined, tagOf)
      if (options.axis !== undefined && expected !== undefined) {
        await expect(array.describe(options as { axis: number })).rejects.toMatchObject({ tag: expected })
        return
      }
      const check = async (one: DiskArray): Promise<void> => {
        const found = await one.describe(read)
        expectDescription(found, current, fill, options)
        await expectBitsOfMethods(one, found, read)
      }
      await check(array as DiskArray)
      const inMemory = new DiskArray(source) as DiskArray
      expectDescription(await inMemory.describe(read), current, fill, options)
      expect(source.reads.reduce((sum, box) => sum + box.reduce((n, { start, stop }) => n * (stop - start), 1), 0)).toBe(
        sizeOf(shape),
      )
      await check(inMemory)
      await writer.flush()
      const blocksOf = async (more: FileOptions, run: (array: FileArray) => Promise<unknown>): Promise<number> => {
        await using file = await open(where, { cacheBytes, ...more })
        await run(file.array('x'))
        return file.readCost.blocks
      }
      const blocks = await blocksOf({}, (one) => one.min(read).catch(tagOf))
      for (const more of [{}, { pool }]) {
        const own = await blocksOf(more, async (one) => expectDescription(await one.describe(read), current, fill, options))
        expect(own).toBe(blocks)
        await blocksOf(more, (one) => check(one as DiskArray))
      }
      // Without the deviation, statistics suffice as they do for a mean.
      if (dtype === 'timestamp_ns') return
      const ofMean = await blocksOf({}, (one) => one.mean(options))
      const quick = await blocksOf({}, async (one) => {
        const found = await one.describe({ ...options, std: false })
        expect(listed(found).std.every(Number.isNaN)).toBe(true)
        await expectBitsOfMethods(one as DiskArray, { ...found, std: await one.std(options) }, options)
      })
      expect(quick).toBeGreaterThanOrEqual(ofMean)
    }),
    { numRuns: runs(300) },
  )
  expect(pool.inlineReason).toBeUndefined()
})

describe('a description', () => {
  const values = [1e6, 1e6 + 2, -9, 1e6 + 4, Number.NaN, 1e6 + 8]
  async function written(dtype: 'float32' | 'timestamp_ns' = 'float32'): Promise<{ store: MemoryStore; path: string }> {
    const where = { store: new MemoryStore(), path: 'a.af' }
    await using file = await create(where, { blockBytes: 1 })
    const fillValue = (dtype === 'float32' ? -9 : -9n) as never
    const x = file.createArray('x', { dtype, shape: [6], chunks: [2], fillValue })
    await x.set(null, (dtype === 'float32' ? values : values.map((x) => BigInt(x || 0))) as never)
    await file.flush()
    return where
  }

  test('without the deviation is answered by statistics, and with it reads each block once', async () => {
    await using file = await open(await written())
    const x = file.array('x')
    const known = { count: 4, missing: 2, min: 1e6, max: 1e6 + 8, mean: 1e6 + 3.5 }
    expect(await x.describe({ skipNaN: true, std: false })).toEqual({ ...known, std: Number.NaN })
    expect(file.readCost.blocks).toBe(0)
    const std = Math.sqrt([-3.5, -1.5, 0.5, 4.5].reduce((sum, each) => sum + each * each, 0) / 4)
    expect(await x.describe({ skipNaN: true })).toEqual({ ...known, std: expect.closeTo(std, 9) })
    expect(file.readCost.blocks).toBe(3)
    expect(await x.describe()).toEqual({ ...known, count: 5, missing: 1, ...nans('min', 'max', 'mean', 'std') })
    const sample = Math.sqrt((std * std * 4) / 3)
    expect((await x.describe({ skipNaN: true, ddof: 1 })).std).toBeCloseTo(sample, 9)
  })

  const nans = (...names: string[]) => Object.fromEntries(names.map((name) => [name, Number.NaN]))

  test('of times has extremes from statistics, but neither mean nor deviation', async () => {
    await using file = await open(await written('timestamp_ns'))
    const found = await file.array('x').describe()
    expect(found).toEqual({ count: 5, missing: 1, min: 0n, max: 10n ** 6n + 8n, ...nans('mean', 'std') })
    expect(file.readCost.blocks).toBe(0)
  })

  test('of no elements has no extremes, and of an empty axis as many cells as are left', async () => {
    const none = { count: 0, missing: 0, min: undefined, max: undefined, ...nans('mean', 'std') }
    expect(await generate(() => 0n, { dtype: 'int64', shape: [0] }).describe()).toEqual(none)
    const floats = generate(() => 0, { dtype: 'float32', shape: [0, 2], fillValue: Number.NaN })
    expect(await floats.describe()).toEqual(none)
    const { count, min, mean } = await floats.describe({ axis: 0 })
    expect([[...count.data], [...min.data], [...mean.data]]).toEqual([
      [0, 0],
      [Number.NaN, Number.NaN],
      [Number.NaN, Number.NaN],
    ])
    expect((await floats.describe({ axis: 1, keepDims: true })).count.shape).toEqual([0, 1])
    await expect(generate(() => 0, { dtype: 'int8', shape: [0, 2] }).describe({ axis: 0 })).rejects.toMatchObject({
      tag: 'EmptyReductionError',
    })
  })

  test.each([2, -0.5])('of packed values unpacks the result by a scale of %d', async (scaleFactor) => {
    await using file = await open(await written())
    const array = scaled(file.array('x'), { scaleFactor, addOffset: 10 }) as DiskArray
    const options = { skipMissing: true, skipNaN: true, ignoreStats: true }
    const found = await array.describe(options)
    const ends = [1e6, 1e6 + 8].map((value) => value * scaleFactor + 10).sort((a, b) => a - b)
    expect([found.min, found.max, found.count, found.missing]).toEqual([...ends, 4, 2])
    await expectBitsOfMethods(array, found, options)
    expect((await array.describe({ ...options, ignoreStats: false, std: false })).min).toBe(ends[0])
  })

  test('of text is refused with the reason', async () => {
    const text = generate(() => 'a', { dtype: 'string', shape: [2] })
    await expect(text.describe()).rejects.toMatchObject({ tag: 'UnsupportedError', message: 'there is no mean of string values' })
    await expect(text.describe({ quantiles: true } as never)).rejects.toThrow('quantiles')
  })
})
