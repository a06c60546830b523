import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { copiedTo } from '../../src/array/lazy/missing-restated.ts'
import { copyTensor, type Tensor } from '../../src/core/tensor.ts'
import type { Box } from '../../src/grid/range.ts'
import {
  broadcast,
  coarsen,
  concat,
  create,
  DiskArray,
  findWhere,
  MemoryStore,
  type Missing,
  scaled,
} from '../../src/runtime/index.ts'
import { runs } from '../support/budget.ts'

/** Numbers of any of some types, those of `missing` among them. */
const of = <D extends 'int16' | 'float32' | 'float64'>(
  dtype: D,
  data: readonly number[],
  missing?: Missing<D>,
  fillValue?: number,
) =>
  new DiskArray<D>({
    dtype,
    shape: [data.length],
    chunks: [2],
    missing,
    fillValue: fillValue as never,
    readBlock: ([{ start }]: [{ start: number }], out: { data: number[]; shape: number[]; stride: number[]; offset: number }) => {
      for (let i = 0; i < out.shape[0]!; i++) out.data[out.offset + i * out.stride[0]!] = data[start + i] as never
    },
  } as never)

const all = async (array: { get(): Promise<unknown> }) => [...((await array.get()) as { data: Iterable<number> }).data]
const REFUSED = { tag: 'InvalidArgumentError' }

describe('reductions skip missing elements', () => {
  test('of several values, NaN or not, as plain loops do', async () => {
    const value = fc.constantFrom(-9, -1, 0, 1, 2, 7, Number.NaN)
    const cases = fc.record({
      data: fc.array(value, { minLength: 1, maxLength: 9 }),
      values: fc.uniqueArray(fc.constantFrom(-9, -1, 0, Number.NaN), { maxLength: 3 }),
      nan: fc.boolean(),
      dtype: fc.constantFrom('float32' as const, 'float64' as const, 'int16' as const),
      skipMissing: fc.constantFrom(undefined, true, false),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ data, values, nan, dtype, skipMissing }) => {
        const whole = dtype === 'int16'
        const elements = whole ? data.map((x) => (Number.isNaN(x) ? 3 : x)) : data
        const named = whole ? values.filter((x) => !Number.isNaN(x)) : values
        const array = of(dtype, elements, { values: named, nan })
        const isMissing = (x: number): boolean =>
          skipMissing !== false && (named.some((each) => each === x) || (Number.isNaN(x) && (nan || named.some(Number.isNaN))))
        const taken = elements.filter((x) => !isMissing(x))
        const options = skipMissing === undefined ? {} : { skipMissing }
        const sum = taken.reduce((a, b) => a + b, 0)
        expect(await array.sum(options)).toBe(sum)
        expect(await array.mean(options)).toBe(taken.length === 0 ? Number.NaN : sum / taken.length)
        expect(await array.count(options)).toBe(taken.length)
        const { counts } = await array.unique(options)
        expect([...counts.data].reduce((a, b) => a + b, 0)).toBe(taken.length)
        expect(await array.reduce((n) => n + 1, 0, options)).toBe(taken.length)
        expect(await findWhere(array, { min: -5 }, options).count()).toBe(taken.filter((x) => x >= -5).length)
        const least = array.min(options)
        if (taken.length === 0) await expect(least).rejects.toMatchObject({ tag: 'EmptyReductionError' })
        else expect(await least).toBe(taken.some(Number.isNaN) ? Number.NaN : Math.min(...taken) + 0)
      }),
      { numRuns: runs(200) },
    )
  })

  test('along axes: NaN, and the missing value of integers', async () => {
    expect([...(await of('float32', [-9, -9], { values: [-9], nan: false }).min({ axis: 0 })).data]).toEqual([Number.NaN])
    expect([...(await of('int16', [-9, -9], { values: [-9], nan: false }).max({ axis: 0 })).data]).toEqual([-9])
  })

  test('which a fill value need not be', async () => {
    expect(await of('int16', [0, 4], { values: [], nan: false }, 0).mean()).toBe(2)
    expect(await of('int16', [0, 4], undefined, 0).mean()).toBe(4)
    expect(await of('int16', [0, 4]).mean()).toBe(2)
    expect(of('int16', [0], undefined, 0).missing).toEqual({ values: [0], nan: false })
  })

  test('and what makes no sense is refused', () => {
    expect(() => of('int16', [0], { values: [1.5], nan: false })).toThrow('1.5 is not a int16 value')
    expect(() => of('int16', [0], { values: 5 } as never)).toThrow('`missing` takes')
  })
})

describe('what is made of missing elements is missing', () => {
  const source = () => of('int16', [1, -9, 3, -1], { values: [-9, -1], nan: false })

  test('by a function, which is not called with them', async () => {
    const seen: number[] = []
    const half = source().map((x) => seen.push(x) && x / 2, { dtype: 'float64' })
    expect(await all(half)).toEqual([0.5, Number.NaN, 1.5, Number.NaN])
    expect([seen, await half.sum(), half.missing]).toEqual([[1, 3, 1, 3], 2, { values: [], nan: true }])
    expect(await all(source().map((x) => x + 1))).toEqual([2, -9, 4, -9])
    expect(await all(source().map((x) => x + 1, { keepMissing: false }))).toEqual([2, -8, 4, 0])
    expect(await all(source().map((x) => (x > 2) as never, { dtype: 'bool', fillValue: false } as never))).toEqual([0, 0, 1, 0])
    expect(() => source().map((x) => (x > 2) as never, { dtype: 'bool' } as never)).toThrow('give a `fillValue`')
  })

  test('of several arrays', async () => {
    const other = of('float32', [Number.NaN, 1, 1, 1], { values: [], nan: true })
    const sum = broadcast((a, b) => a + b, source(), other)
    expect(await all(sum)).toEqual([Number.NaN, Number.NaN, 4, Number.NaN])
    expect(await sum.sum()).toBe(4)
  })

  test('unpacked, cast and in windows', async () => {
    expect(await all(scaled(source(), { scaleFactor: 2 }))).toEqual([2, Number.NaN, 6, Number.NaN])
    expect(await source().astype('float64').sum()).toBe(4)
    expect(await all(coarsen(of('int16', [-9, -9, 1, 3], { values: [-9], nan: false }), { 0: 2 }, 'mean'))).toEqual([
      Number.NaN,
      2,
    ])
    expect(await coarsen(of('int16', [-9, -9, 1, 3], { values: [-9], nan: false }), { 0: 2 }, 'mean').sum()).toBe(2)
    // 0.5 would become 0, which is missing.
    await expect(
      of('float64', [0.5], { values: [0], nan: false })
        .astype('int16')
        .get(),
    ).rejects.toMatchObject(REFUSED)
  })

  test('in views, permutations, chunks of another shape and caches', async () => {
    const array = source()
    for (const made of [
      array.view([null]),
      array.flip(),
      array.transpose(),
      array.rechunk([3]),
      array.cache(),
      array.reshape([2, 2]),
    ])
      expect(await made.sum()).toBe(4)
    expect(await array.pad(1).sum()).toBe(4)
  })
})

describe('what is copied', () => {
  const value = fc.constantFrom(-9, -1, 0, 3, Number.NaN)
  const missing = fc.record({ values: fc.uniqueArray(fc.constantFrom<number>(-9, -1), { maxLength: 2 }), nan: fc.boolean() })

  /** An array in memory that takes writes. */
  const target = (dtype: 'int16' | 'float32', length: number, missing: Missing) => {
    const data = dtype === 'int16' ? new Int16Array(length) : new Float32Array(length)
    const box = (at: Box) => data.subarray(at[0]!.start, at[0]!.stop)
    const array = new DiskArray({
      dtype,
      shape: [length],
      chunks: [3],
      missing: missing as Missing<never>,
      label: { file: 'to.af', array: 'y' },
      readBlock: (at: Box, out: Tensor) => copyTensor({ ...out, data: box(at), stride: [1], offset: 0 } as Tensor, out),
      writeBlock: (at: Box, values: Tensor) => copyTensor(values, { ...values, data: box(at), stride: [1], offset: 0 } as Tensor),
    })
    return { array: array as unknown as DiskArray, data }
  }

  test('missing elements stay missing in a copy, or the copy is refused', async () => {
    const outcomes = { raw: 0, copied: 0, refused: 0 }
    const cases = fc.record({
      given: fc.array(value, { minLength: 1, maxLength: 7 }),
      from: missing,
      to: missing,
      dtype: fc.constantFrom('int16' as const, 'float32' as const),
      by: fc.constantFrom('copyFrom', 'copyTo', 'rechunkTo'),
    })
    await fc.assert(
      fc.asyncProperty(cases, async ({ given, from, to, dtype, by }) => {
        const known = (of: typeof from) => ({ values: of.values, nan: of.nan && dtype !== 'int16' })
        const is = (of: typeof from, x: number) => of.values.includes(x) || (Number.isNaN(x) && known(of).nan)
        const elements = dtype === 'int16' ? given.map((x) => (Number.isNaN(x) ? 5 : x)) : given
        const source = of(dtype, elements, from)
        const { array, data } = target(dtype, elements.length, to)
        const copy =
          by === 'copyFrom' ? array.copyFrom(source) : by === 'copyTo' ? source.copyTo(array) : source.rechunkTo(array as never)
        const [any, anyThere] = [from, to].map((of) => of.values.length > 0 || known(of).nan)
        const free =
          !any ||
          (known(from).nan === known(to).nan &&
            from.values.length === to.values.length &&
            from.values.every((x) => to.values.includes(x)))
        if (free) {
          await copy
          outcomes.raw++
          expect([...data]).toEqual(elements)
          expect(copiedTo(source.source as never, array.source)).toBe(source.source)
          return
        }
        const wrong = (x: number) => (is(from, x) ? !anyThere && !Number.isNaN(x) : is(to, x))
        if (elements.some(wrong)) {
          outcomes.refused++
          await expect(copy).rejects.toMatchObject({ ...REFUSED, message: expect.stringContaining("array 'y' of to.af") })
          return
        }
        await copy
        outcomes.copied++
        elements.forEach((x, i) => {
          if (!is(from, x) || !anyThere) expect(data[i]).toBe(x)
          else expect(is(to, data[i]!)).toBe(true)
        })
        expect(await array.count()).toBe(elements.filter((x) => !anyThere || !is(from, x)).length)
      }),
      { numRuns: runs(600) },
    )
    expect(Math.min(...Object.values(outcomes))).toBeGreaterThan(runs(30))
  })

  test('between containers: an error names both arrays and the element', async () => {
    const file = await create({ store: new MemoryStore(), path: 'a.af' })
    const from = file.createArray('from', { dtype: 'int32', shape: [3], fillValue: -9 })
    await from.set(null, [1, -9, 3])
    const to = file.createArray('to', { dtype: 'int32', shape: [3] })
    await expect(from.copyTo(to)).rejects.toMatchObject({
      ...REFUSED,
      details: { array: 'from', actual: -9 },
      message: /'from': an element is -9, which is missing, and array 'to' of .* has no value for missing elements/,
    })
    const other = file.createArray('other', { dtype: 'int32', shape: [3], fillValue: -1 })
    await from.copyTo(other)
    expect(await all(other)).toEqual([1, -1, 3])
    const clash = file.createArray('clash', { dtype: 'int32', shape: [3], fillValue: 3 })
    await expect(from.copyTo(clash)).rejects.toMatchObject({
      ...REFUSED,
      message: expect.stringContaining('is 3, which is not missing'),
    })
  })
})

describe('arrays put together', () => {
  const ours = () => of('int16', [1, -9], { values: [-9], nan: false })

  test('agree on what is missing', async () => {
    const joined = concat([ours(), of('int16', [2, -1], { values: [-1], nan: false })])
    expect([await all(joined), await joined.sum()]).toEqual([[1, -9, 2, -9], 3])
    expect(await all(concat([ours(), of('int16', [2, -1], { values: [-1], nan: false })], { fillValue: 0 }))).toEqual([
      1, 0, 2, 0,
    ])
  })

  test('or are refused where a number would become missing', async () => {
    await expect(concat([ours(), of('int16', [2, -9])]).get()).rejects.toMatchObject(REFUSED)
    expect(await concat([ours(), of('int16', [2, 4])]).sum()).toBe(7)
  })
})
