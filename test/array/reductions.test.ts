import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { inMemory } from '../../src/array/lazy/generate.ts'
import { allocate, type DType, isBigInt, isFloat, type NumericDType } from '../../src/core/dtype.ts'
import { tensorOf } from '../../src/core/tensor.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { grids, numericDTypes, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { cells, type Plain } from '../support/oracle.ts'

type Value = number | bigint
type Answer = Value | boolean | 'throws'

/** Few different values, so that ties, fill values and NaN are common. */
const palette = (dtype: NumericDType): fc.Arbitrary<Value> =>
  isBigInt(dtype)
    ? fc.constantFrom(0n, 1n, 2n, 3n, 7n, dtype === 'int64' ? -(2n ** 63n) : 2n ** 64n - 1n, 2n ** 53n + 1n)
    : isFloat(dtype)
      ? fc.constantFrom(0, 1, 2, 3.5, -7, 0.25, 100.125, Number.NaN)
      : fc.constantFrom(0, 1, 2, 3, 100, 127)

interface Case {
  readonly plain: Plain<NumericDType>
  readonly grid: ChunkGrid
  readonly axes: number[] | null
  readonly keepDims: boolean
  readonly fill: Value | undefined
  readonly skipMissing: boolean
  readonly skipNaN: boolean
}

const cases: fc.Arbitrary<Case> = shapes.chain((shape) =>
  numericDTypes.chain((dtype) => {
    const size = shape.reduce((a, b) => a * b, 1)
    const data = fc.array(palette(dtype), { minLength: size, maxLength: size }).map((values) => {
      const array = allocate(dtype, size)
      values.forEach((value, i) => {
        array[i] = value as never
      })
      return { dtype, shape, data: array }
    })
    return fc.record({
      plain: data,
      grid: grids(shape),
      axes: fc.option(fc.uniqueArray(fc.integer({ min: 0, max: Math.max(0, shape.length - 1) }), { maxLength: shape.length })),
      keepDims: fc.boolean(),
      fill: fc.option(palette(dtype), { nil: undefined }),
      skipMissing: fc.boolean(),
      skipNaN: fc.boolean(),
    })
  }),
)

function sourceOf({ plain, grid, fill }: Pick<Case, 'plain' | 'grid' | 'fill'>): CountingSource<DType> {
  return new CountingSource(plain as Plain, grid, fill === undefined ? {} : { fillValue: fill as never })
}

const skipsOf = ({ skipMissing, skipNaN }: Case) => ({ skipMissing, skipNaN })

/** The elements of each cell that are not skipped, with their positions. */
function takenOf({ plain, axes, fill, skipMissing, skipNaN }: Case) {
  const skips = (value: Value): boolean =>
    (skipMissing && (value === fill || (Number.isNaN(value) && Number.isNaN(fill)))) || (skipNaN && Number.isNaN(value))
  const { shape, members } = cells(plain.shape, new Set(axes ?? plain.shape.keys()))
  const taken = members.map((flat) =>
    flat.map((at) => ({ at, value: plain.data[at] as Value })).filter(({ value }) => !skips(value)),
  )
  return { shape, taken }
}

const close = (actual: unknown, expected: unknown, scale = 1): boolean =>
  Object.is(actual, expected) ||
  actual === expected ||
  (typeof actual === 'number' && Math.abs(actual - (expected as number)) <= 1e-12 * Math.max(scale, Math.abs(actual)))

/**
 * Runs a reduction and compares it cell by cell; each chunk must be read once, or not at all after a stop.
 */
async function check(
  one: Case,
  run: (array: DiskArray, options: object) => Promise<unknown>,
  expected: (values: Value[], positions: number[]) => Answer,
  { stops = false, tag = 'EmptyReductionError', scale = 1 } = {},
): Promise<void> {
  const { plain, grid, axes, keepDims, skipMissing, skipNaN } = one
  const source = sourceOf(one)
  const { shape, taken } = takenOf(one)
  const answers = taken.map((list) =>
    expected(
      list.map(({ value }) => value),
      list.map(({ at }) => at),
    ),
  )
  const options = { keepDims, skipMissing, skipNaN, ...(axes === null ? {} : { axis: axes }) }
  const work = run(new DiskArray(source), options)
  if (answers.includes('throws')) {
    await expect(work).rejects.toMatchObject({ tag, details: { array: 'plain' } })
    return
  }
  const result = await work
  if (axes === null) expect(close(result, answers[0], scale), `${result} for ${answers[0]}`).toBe(true)
  else {
    const { data, shape: actual } = result as { data: ArrayLike<unknown>; shape: number[] }
    expect(actual).toEqual(keepDims ? plain.shape.map((length, axis) => (axes.includes(axis) ? 1 : length)) : shape)
    expect(data.length).toBe(answers.length)
    answers.forEach((answer, cell) => {
      const value = typeof answer === 'boolean' ? Number(answer) : answer
      expect(close(data[cell], value, scale), `${data[cell]} for ${value} in cell ${cell}`).toBe(true)
    })
  }
  const volume = source.reads.reduce((all, box) => all + box.reduce((n, { start, stop }) => n * (stop - start), 1), 0)
  if (stops) expect(volume).toBeLessThanOrEqual(plain.data.length)
  else expect(volume).toBe(plain.data.length)
  expect(source.reads.length).toBeLessThanOrEqual(grid.count)
}

const TRIED = { numRuns: runs(300) }
const numbers = (values: readonly Value[]): number[] => values.map(Number)

function varianceOf(values: readonly Value[], ddof: number): number {
  const list = numbers(values)
  if (list.length <= ddof) return Number.NaN
  const mean = list.reduce((a, b) => a + b, 0) / list.length
  return list.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (list.length - ddof)
}

function productOf(dtype: DType, values: readonly Value[]): Answer {
  if (!isBigInt(dtype)) return numbers(values).reduce((a, b) => a * b, 1)
  const product = (values as bigint[]).reduce((a, b) => a * b, 1n)
  return (dtype === 'uint64' ? BigInt.asUintN(64, product) : BigInt.asIntN(64, product)) === product ? product : 'throws'
}

const beyond = (less: boolean, a: Value, b: Value): boolean =>
  Number.isNaN(a) ? !Number.isNaN(b) : !Number.isNaN(b) && (less ? a < b : a > b)

describe('reductions in plain loops equal the oracle and read each chunk once', () => {
  test('product', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const { dtype } = one.plain
        await check(
          one,
          (array, o) => array.prod(o),
          (values) => productOf(dtype, values),
          { tag: 'OverflowError' },
        )
      }),
      TRIED,
    )
  })

  test('variance and standard deviation', async () => {
    await fc.assert(
      fc.asyncProperty(cases, fc.integer({ min: 0, max: 2 }), async (one, ddof) => {
        // The mean of 64-bit integers is theirs, the squares are of what they are rounded to: 2^-53 of 2^64,
        // squared.
        const scale = isBigInt(one.plain.dtype) ? 2 ** 22 * 1e12 : 1e4
        await check(
          one,
          (array, o) => array.variance({ ...o, ddof }),
          (values) => varianceOf(values, ddof),
          { scale },
        )
        await check(
          one,
          (array, o) => array.std({ ...o, ddof }),
          (values) => Math.sqrt(varianceOf(values, ddof)),
          { scale },
        )
      }),
      TRIED,
    )
  })

  test('extrema', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const source = sourceOf(one)
        const array = new DiskArray(source)
        const { skipMissing, skipNaN, keepDims, axes } = one
        const options = { skipMissing, skipNaN, keepDims, ...(axes && { axis: axes }) }
        const both = await array.extrema(options).catch((error) => error)
        const reads = source.reads.length
        expect(reads).toBeLessThanOrEqual(one.grid.count)
        const [min, max] = [await array.min(options).catch((error) => error), await array.max(options).catch((error) => error)]
        if (min instanceof Error) expect(both).toEqual(min)
        else expect(both).toEqual({ min, max })
      }),
      TRIED,
    )
  })

  test('sum, mean, minimum and maximum that skip NaN', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const { dtype } = one.plain
        const whole = one.axes === null
        const empty = (): Answer => {
          if (whole) return 'throws'
          const skips = one.skipMissing && one.fill !== undefined
          if (isFloat(dtype)) return skips || one.skipNaN ? Number.NaN : 'throws'
          return skips ? one.fill! : 'throws'
        }
        const extreme = (less: boolean) => (values: Value[]) =>
          values.length === 0 ? empty() : values.reduce((a, b) => (beyond(less, b, a) ? b : a))
        await check(one, (array, o) => array.min(o), extreme(true))
        await check(one, (array, o) => array.max(o), extreme(false))
        if (isBigInt(dtype)) return
        const sum = (values: Value[]): number => numbers(values).reduce((a, b) => a + b, 0)
        await check(one, (array, o) => array.sum(o), sum)
        await check(
          one,
          (array, o) => array.mean(o),
          (values) => sum(values) / values.length,
        )
      }),
      TRIED,
    )
  })

  test('count, countNonzero, any and all', async () => {
    await fc.assert(
      fc.asyncProperty(cases, fc.boolean(), async (one, asked) => {
        const limit = isBigInt(one.plain.dtype) ? 2n : 2
        const where = (value: Value): boolean => value > limit
        const holds = asked ? where : (value: Value): boolean => Number.isNaN(value) || Number(value) !== 0
        const given: object = asked ? { where } : {}
        await check(
          one,
          (array, o) => array.count({ ...o, ...given }),
          (values) => (asked ? values.filter(holds) : values).length,
        )
        await check(
          one,
          (array, o) => array.countNonzero(o),
          (values) => values.filter((value) => Number.isNaN(value) || Number(value) !== 0).length,
        )
        await check(
          one,
          (array, o) => array.any({ ...o, ...given }),
          (values) => values.some(holds),
          { stops: true },
        )
        await check(
          one,
          (array, o) => array.all({ ...o, ...given }),
          (values) => values.every(holds),
          { stops: true },
        )
      }),
      TRIED,
    )
  })

  test('positions of extremes', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const axis = given.axes?.[0]
        const one = { ...given, axes: axis === undefined ? null : [axis] }
        const { shape } = one.plain
        const skips = (one.skipNaN && isFloat(one.plain.dtype)) || (one.skipMissing && one.fill !== undefined)
        const inner = axis === undefined ? 1 : shape.slice(axis + 1).reduce((a, b) => a * b, 1)
        for (const [kind, less] of [
          ['argMin', true],
          ['argMax', false],
        ] as const) {
          const found = (values: Value[], positions: number[]): Answer => {
            if (values.length === 0) return axis === undefined || !skips ? 'throws' : -1
            const best = values.reduce<number>((at, value, i) => (beyond(less, value, values[at]!) ? i : at), 0)
            return axis === undefined ? positions[best]! : Math.floor(positions[best]! / inner) % shape[axis]!
          }
          await check(one, (array, o) => array[kind](o), found)
        }
      }),
      TRIED,
    )
  })

  test('quantiles', async () => {
    await fc.assert(
      fc.asyncProperty(cases, fc.constantFrom(0, 0.1, 0.5, 0.9, 1), async (one, q) => {
        const expected = (values: Value[]): number => {
          const sorted = Float64Array.from(numbers(values)).sort()
          if (sorted.length === 0 || Number.isNaN(sorted.at(-1))) return Number.NaN
          const low = Math.floor(q * (sorted.length - 1))
          const part = q * (sorted.length - 1) - low
          return sorted[low]! * (1 - part) + (sorted[low + 1] ?? 0) * part
        }
        await check(one, (array, o) => array.quantile(q, o), expected)
      }),
      TRIED,
    )
  })

  test('mapReduce', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const run = (array: DiskArray, o: object): Promise<unknown> =>
          array.mapReduce(
            (value) => (Number.isNaN(value) ? 1 : Number(value) % 8),
            (a, b) => a + b,
            0,
            o,
          )
        await check(one, run, (values) => numbers(values).reduce((a, b) => a + (Number.isNaN(b) ? 1 : b % 8), 0))
      }),
      TRIED,
    )
  })

  test('weighted means', async () => {
    await fc.assert(
      fc.asyncProperty(cases, fc.uniqueArray(fc.nat(4)), async (one, weighted) => {
        const { shape } = one.plain
        const axes = weighted.filter((axis) => axis < shape.length)
        const weightOf = (axis: number, position: number): number => ((position * 7 + axis) % 5) + 0.5
        const weights = Object.fromEntries(
          axes.map((axis) => [axis, Array.from({ length: shape[axis]! }, (_, i) => weightOf(axis, i))]),
        )
        const expected = (values: Value[], positions: number[]): number => {
          let [sum, total] = [0, 0]
          values.forEach((value, i) => {
            let weight = 1
            for (let axis = shape.length - 1, rest = positions[i]!; axis >= 0; rest = Math.floor(rest / shape[axis]!), axis--)
              if (axes.includes(axis)) weight *= weightOf(axis, rest % shape[axis]!)
            sum += weight * Number(value)
            total += weight
          })
          return sum / total
        }
        await check(one, (array, o) => array.weightedMean(weights, o), expected, { scale: 1e4 })
      }),
      TRIED,
    )
  })

  test('there is no weighted mean where weights add up to 0', async () => {
    const array = inMemory(tensorOf('float64', [2], Float64Array.of(1, 2)))
    expect(await new DiskArray(array).weightedMean({ 0: [-1, 1] })).toBe(Number.NaN)
  })
})

describe('reductions to other shapes', () => {
  test('unique: values in ascending order and their counts', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const one = { ...given, axes: null }
        const source = sourceOf(one)
        const { values, counts } = await new DiskArray(source).unique(skipsOf(one))
        const expected = new Map<Value, number>()
        for (const { value } of takenOf(one).taken[0]!) expected.set(value, (expected.get(value) ?? 0) + 1)
        const sorted = [...expected].sort(([a], [b]) =>
          beyond(true, a, b) ? (Number.isNaN(a) ? 1 : -1) : Number.isNaN(b) ? -1 : 1,
        )
        expect(Array.from(values.data as ArrayLike<unknown>)).toEqual(sorted.map(([value]) => value))
        expect(Array.from(counts.data)).toEqual(sorted.map(([, count]) => count))
        expect(source.reads.length).toBeLessThanOrEqual(one.grid.count)
      }),
      TRIED,
    )
  })

  test('unique of strings, and no more than the limit', async () => {
    const plain = { dtype: 'string' as const, shape: [5], data: ['b', 'a', 'b', '', 'a'] }
    const array = new DiskArray(new CountingSource(plain, ChunkGrid.regular([5], [2])))
    const { values, counts } = await array.unique()
    expect([values.data, Array.from(counts.data)]).toEqual([
      ['', 'a', 'b'],
      [1, 2, 2],
    ])
    await expect(array.unique({ limit: 2 })).rejects.toMatchObject({ tag: 'TooLargeError', details: { expected: 2 } })
    expect([await array.count(), await array.countNonzero()]).toEqual([5, 4])
    expect(await array.any({ where: (text) => text > 'a' })).toBe(true)
  })

  test('histograms', async () => {
    await fc.assert(
      fc.asyncProperty(
        cases,
        fc.constantFrom<object>({}, { bins: 3 }, { bins: 7, range: [0, 4] }, { bins: [-8, 0, 1, 3.5] }),
        async (given, how) => {
          const one = { ...given, axes: null }
          const source = sourceOf(one)
          const options = { ...how, skipMissing: one.skipMissing }
          const { counts, edges } = await new DiskArray(source).histogram(options)
          const taken = takenOf({ ...one, skipNaN: true }).taken[0]!.map(({ value }) => Number(value))
          const found = Array.from(
            counts.data,
            (_, k) =>
              taken.filter(
                (x) =>
                  x >= edges.data[k]! && (x < edges.data[k + 1]! || (k === counts.data.length - 1 && x === edges.data[k + 1])),
              ).length,
          )
          expect(Array.from(counts.data)).toEqual(found)
          if (!('range' in how) && !Array.isArray((how as { bins?: unknown }).bins))
            expect(counts.data.reduce((a, b) => a + b, 0)).toBe(taken.length)
          else expect(source.reads.length).toBeLessThanOrEqual(one.grid.count)
        },
      ),
      TRIED,
    )
  })

  test('reduce goes in C order of the array', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const one = { ...given, axes: null }
        const source = sourceOf(one)
        const list = await new DiskArray(source).reduce<Value[]>((all, value) => [...all, value as Value], [], skipsOf(one))
        expect(list).toEqual(takenOf(one).taken[0]!.map(({ value }) => value))
        expect(source.reads.length).toBeLessThanOrEqual(one.grid.count)
      }),
      { numRuns: runs(100) },
    )
  })

  test('cumulative sums, returned or written', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async (one) => {
        const { shape, dtype, data } = one.plain
        if (shape.length === 0) return
        const axis = one.axes?.[0] ?? shape.length - 1
        const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1)
        const skipped = new Set(data.keys())
        for (const list of takenOf(one).taken) for (const { at } of list) skipped.delete(at)
        const zero = isBigInt(dtype) ? 0n : 0
        const sums: Value[] = []
        for (let at = 0; at < data.length; at++) {
          const before = Math.floor(at / inner) % shape[axis]! === 0 ? zero : sums[at - inner]!
          sums.push(skipped.has(at) ? before : (((before as number) + (data[at] as number)) as Value))
        }
        const fits = (sum: Value): boolean =>
          typeof sum !== 'bigint' || (dtype === 'uint64' ? BigInt.asUintN(64, sum) : BigInt.asIntN(64, sum)) === sum
        const source = sourceOf(one)
        const work = new DiskArray(source).cumsum(axis, skipsOf(one))
        if (!sums.every(fits)) return void (await expect(work).rejects.toMatchObject({ tag: 'OverflowError' }))
        const result = await work
        expect(Array.from(result.data as ArrayLike<Value>)).toEqual(sums)
        expect(source.reads.length).toBeLessThanOrEqual(one.grid.count)
        const kind = isBigInt(dtype) ? dtype : 'float64'
        const target = { dtype: kind, shape, data: allocate(kind, data.length) } as Plain
        const into = new DiskArray(new CountingSource(target, one.grid)) as never
        expect(await new DiskArray(source).cumsum(axis, { ...skipsOf(one), into })).toBeUndefined()
        expect(Array.from(target.data as ArrayLike<Value>)).toEqual(sums)
      }),
      TRIED,
    )
  })

  test('groups of positions', async () => {
    await fc.assert(
      fc.asyncProperty(
        cases,
        fc.constantFrom('sum', 'mean', 'min', 'max', 'count', 'countNonzero', 'variance'),
        fc.nat(),
        async (one, kind, seed) => {
          const { shape, dtype } = one.plain
          if (shape.length === 0 || shape.includes(0)) return
          // The mean that is taken of 64-bit integers is theirs, the squares are of what they are rounded to:
          // 2^-53 of 2^64, squared.
          const scale = kind !== 'variance' ? 1 : isBigInt(dtype) ? 2 ** 22 * 1e12 : 1e12
          const axis = one.axes?.[0] ?? 0
          const labels = Array.from({ length: shape[axis]! }, (_, i) => `g${Math.floor(((i * 7919 + seed) % 101) / 40)}`)
          const source = sourceOf(one)
          const work = new DiskArray(source).groupBy(axis, labels, kind as 'sum', skipsOf(one))
          const result = await work.catch((error) => error)
          // Each group is the reduction of its positions alone.
          for (const [number, label] of [...new Set(labels)].entries()) {
            const positions = labels.flatMap((each, i) => (each === label ? [i] : []))
            const inner = shape.slice(axis + 1).reduce((a, b) => a * b, 1)
            const outer = shape.slice(0, axis).reduce((a, b) => a * b, 1)
            const part = allocate(dtype, outer * positions.length * inner)
            for (let o = 0, to = 0; o < outer; o++)
              for (const position of positions)
                for (let i = 0; i < inner; i++) part[to++] = one.plain.data[(o * shape[axis]! + position) * inner + i] as never
            const alone = { dtype, shape: shape.map((length, k) => (k === axis ? positions.length : length)), data: part }
            const array = new DiskArray(sourceOf({ ...one, plain: alone, grid: ChunkGrid.regular(alone.shape, alone.shape) }))
            const expected = await (array[kind as 'sum'] as (o: object) => Promise<{ data: ArrayLike<Value> }>)
              .call(array, { axis, skipMissing: one.skipMissing, skipNaN: one.skipNaN })
              .catch((error) => error)
            if (expected instanceof Error) {
              expect(result).toMatchObject({ tag: (expected as { tag?: string }).tag })
              return
            }
            if (result instanceof Error) continue // another group's
            expect(result.labels[number]).toBe(label)
            for (let cell = 0; cell < outer * inner; cell++) {
              const at = (Math.floor(cell / inner) * result.labels.length + number) * inner + (cell % inner)
              expect(close(result.values.data[at], expected.data[cell], scale)).toBe(true)
            }
          }
          expect(source.reads.length).toBeLessThanOrEqual(one.grid.count)
        },
      ),
      TRIED,
    )
  })
})
