import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DType } from '../../src/core/dtype.ts'
import {
  broadcast,
  coarsen,
  create,
  DiskArray,
  type FileArray,
  findWhere,
  MemoryStore,
  open,
  slice,
  slidingWindows,
} from '../../src/runtime/index.ts'
import type { FoldKind } from '../../src/runtime/plan.ts'
import { cells } from '../support/oracle.ts'

type Value = number | bigint
type Type = 'float32' | 'int16' | 'uint8' | 'int64'

const SHAPE = [4, 6] as const
const AXES = [undefined, 0, 1, [0, 1]] as const
const FOLDS: readonly FoldKind[] = ['sum', 'prod', 'min', 'max', 'mean', 'variance', 'std', 'count', 'countNonzero']

const isWide = (dtype: DType): boolean => dtype === 'int64'
const isNotNumber = (value: Value): boolean => Number.isNaN(value)

/** Few values, so that whole rows and chunks are missing now and then. */
const layouts = fc.constantFrom<Type>('float32', 'float32', 'int16', 'uint8', 'int64').chain((dtype) => {
  const numbers = [0, 1, 2, 3].map((value) => (isWide(dtype) ? BigInt(value) : value))
  const value = fc.constantFrom<Value>(...numbers, ...(dtype === 'float32' ? [Number.NaN, -2.5] : []))
  // Half of the elements are the same, and often missing.
  return value.chain((most) =>
    fc.record({
      dtype: fc.constant(dtype),
      fill: fc.oneof(fc.constant(most), fc.option(value, { nil: undefined, freq: 2 })),
      values: fc.array(fc.oneof(fc.constant(most), value), { minLength: 24, maxLength: 24 }),
      /** Number of unwritten rows at the end. */
      unwritten: fc.constantFrom(0, 0, 2, 3),
      chunkShape: fc.constantFrom([2, 3], [1, 6], [4, 1], [3, 4]),
      flushed: fc.boolean(),
      skipMissing: fc.constantFrom(undefined, undefined, true, false),
      ignoreStats: fc.boolean(),
    }),
  )
})

type Layout = typeof layouts extends fc.Arbitrary<infer T> ? T : never

/** A container with the array, and its elements as plain loops have them. */
async function written({ dtype, fill, values, unwritten, chunkShape, flushed }: Layout) {
  const place = { store: new MemoryStore(), path: 'a.af' }
  let file = await create(place, { blockBytes: 40 })
  let array = file.createArray('x', {
    dtype,
    shape: SHAPE,
    chunks: chunkShape,
    ...(fill !== undefined && { fillValue: fill as never }),
  }) as FileArray
  const rows = SHAPE[0] - unwritten
  await array.set([slice(0, rows)], values.slice(0, rows * SHAPE[1]))
  if (flushed) {
    await file.flush()
    await file.close()
    file = await open(place)
    array = file.array('x')
  }
  const zero = isWide(dtype) ? 0n : 0
  const data = values.map((value, i) => (i < rows * SHAPE[1] ? value : (fill ?? zero)))
  return { file, array, data }
}

/** Reduces elements by plain loops. The minimum of no elements is `none`. */
function folded(kind: FoldKind, dtype: DType, taken: readonly Value[]): Value | 'none' {
  const numbers = taken.map(Number)
  const sum = numbers.reduce((a, b) => a + b, 0)
  const exact = (value: number): Value => (isWide(dtype) ? BigInt(value) : value)
  const mean = sum / numbers.length
  const squares = numbers.reduce((all, x) => all + (x - mean) ** 2, 0) / numbers.length
  switch (kind) {
    case 'sum':
      return exact(sum)
    case 'prod':
      return exact(numbers.reduce((a, b) => a * b, 1))
    case 'count':
      return numbers.length
    case 'countNonzero':
      return numbers.filter((x) => x !== 0).length
    case 'mean':
      return mean
    case 'variance':
      return squares
    case 'std':
      return Math.sqrt(squares)
    default:
      return taken.length === 0 ? 'none' : exact(numbers.some(isNotNumber) ? Number.NaN : Math[kind](...numbers))
  }
}

const close = (actual: unknown, expected: unknown): boolean =>
  Object.is(actual, expected) || actual === expected || Math.abs(Number(actual) - Number(expected)) < 1e-12

/** Returns the elements of a reduction, or the tag of its error. */
async function outcome(work: Promise<unknown>): Promise<unknown[] | string> {
  try {
    const result = (await work) as { data?: Iterable<unknown> }
    return typeof result === 'object' && 'data' in result ? [...(result.data as Iterable<unknown>)] : [result]
  } catch (error) {
    return (error as { tag: string }).tag
  }
}

function expectCells(what: string, actual: unknown[] | string, expected: readonly unknown[]): void {
  if (expected.includes('refused')) return void expect(actual, what).toBe('EmptyReductionError')
  expect(typeof actual, `${what}: ${String(actual)}`).toBe('object')
  const wrong = expected.findIndex((value, cell) => !close(actual[cell], value))
  expect(wrong, `${what}: ${String(actual)}, not ${String(expected)}`).toBe(-1)
  expect(actual.length).toBe(expected.length)
}

describe('what is missing in a container', () => {
  const missingIn =
    ({ fill }: Layout) =>
    (value: Value) =>
      fill !== undefined && (value === fill || (isNotNumber(value) && isNotNumber(fill)))

  test('is passed over by every reduction, of everything and along axes', async () => {
    await fc.assert(
      fc.asyncProperty(layouts, async (layout) => {
        const { dtype, fill, skipMissing, ignoreStats } = layout
        const { file, array, data } = await written(layout)
        await using _ = file
        const isSkipped = (value: Value) => skipMissing !== false && missingIn(layout)(value)
        const skips = skipMissing === undefined ? {} : { skipMissing }
        // Result of a reduction along axes that has no elements.
        const empty = dtype === 'float32' ? Number.NaN : fill
        for (const axis of AXES) {
          const all = new Set(axis === undefined ? [0, 1] : [axis].flat())
          const taken = cells(SHAPE, all).members.map((flat) => flat.filter((at) => !isSkipped(data[at]!)))
          const valuesOf = (positions: readonly number[]): Value[] => positions.map((at) => data[at]!)
          const options = { ...skips, ...(axis !== undefined && { axis: axis as number | number[] }) }
          const check = async (kind: string, work: Promise<unknown>, cell: (taken: Value[], at: number[]) => unknown) => {
            const nothing = axis === undefined ? 'refused' : empty
            const expected = taken.map((at) => cell(valuesOf(at), at)).map((value) => (value === 'none' ? nothing : value))
            expectCells(`${kind} ${axis}`, await outcome(work), expected)
          }
          for (const kind of FOLDS) {
            const ask = ['sum', 'min', 'max', 'mean'].includes(kind) ? { ...options, ignoreStats } : options
            await check(kind, (array[kind] as (options: object) => Promise<unknown>).call(array, ask), (values) =>
              folded(kind, dtype, values),
            )
          }
          const both = array.extrema({ ...options, ignoreStats })
          for (const kind of ['min', 'max'] as const)
            await check(
              `extrema ${kind}`,
              both.then((each) => each[kind]),
              (values) => folded(kind, dtype, values),
            )
          await check('how many', array.count(options), (values) => values.length)
          const answer = (value: boolean) => (axis === undefined ? value : Number(value))
          await check('any', array.any(options), (values) => answer(values.some((x) => Number(x) !== 0)))
          await check('all', array.all(options), (values) => answer(values.every((x) => Number(x) !== 0)))
          await check(
            'mapReduce',
            array.mapReduce(Number, (a, b) => a + b, 0, options as never),
            (values) => values.map(Number).reduce((a, b) => a + b, 0),
          )
          await check('median', array.median(options), (values) => {
            const sorted = values.map(Number).sort((a, b) => a - b)
            if (sorted.some(isNotNumber) || sorted.length === 0) return Number.NaN
            return (sorted[Math.ceil(sorted.length / 2) - 1]! + sorted[Math.floor(sorted.length / 2)]!) / 2
          })
          await check('weightedMean', array.weightedMean({ 1: [0, 1, 2, 3, 4, 5] }, options), (values, at) => {
            const weights = at.map((each) => each % SHAPE[1])
            return values.reduce<number>((sum, x, i) => sum + Number(x) * weights[i]!, 0) / weights.reduce((a, b) => a + b, 0)
          })
          if (Array.isArray(axis)) continue
          for (const kind of ['argMin', 'argMax'] as const) {
            const end = kind === 'argMin' ? 'min' : 'max'
            const first = (values: Value[], at: number[]): number | 'none' => {
              const extreme = folded(end, dtype, values)
              const place = at[values.findIndex(isNotNumber(extreme as Value) ? isNotNumber : (x) => x === extreme)]
              return place === undefined
                ? 'none'
                : axis === undefined
                  ? place
                  : axis === 0
                    ? Math.floor(place / SHAPE[1])
                    : place % SHAPE[1]
            }
            const expected = taken
              .map((at) => first(valuesOf(at), at))
              .map((place) => (place !== 'none' ? place : axis === undefined ? 'refused' : -1))
            expectCells(`${kind} ${axis}`, await outcome(array[kind](options)), expected)
          }
        }
      }),
      { numRuns: 30 },
    )
  })

  test('is in no bin, group, sum, search and list of values', async () => {
    await fc.assert(
      fc.asyncProperty(layouts, async (layout) => {
        const { dtype, fill, skipMissing } = layout
        const { file, array, data } = await written(layout)
        await using _ = file
        const isSkipped = (value: Value) => skipMissing !== false && missingIn(layout)(value)
        const skips = skipMissing === undefined ? {} : { skipMissing }
        const taken = data.filter((value) => !isSkipped(value))
        const counts = new Map<Value, number>()
        for (const value of taken) counts.set(value, (counts.get(value) ?? 0) + 1)
        const order = (a: Value, b: Value): number => (isNotNumber(a) ? 1 : isNotNumber(b) ? -1 : Number(a) - Number(b))
        const sorted = [...counts].sort(([a], [b]) => order(a, b))
        const unique = await array.unique(skips)
        expect([...(unique.values.data as Iterable<Value>)]).toEqual(sorted.map(([value]) => value))
        expect([...unique.counts.data]).toEqual(sorted.map(([, count]) => count))
        const bins = await array.histogram({ ...skips, bins: [-3, 0, 1, 3] })
        const numbers = taken.map(Number)
        expect([...bins.counts.data]).toEqual([
          numbers.filter((x) => x < 0).length,
          numbers.filter((x) => x === 0).length,
          numbers.filter((x) => x >= 1).length,
        ])
        const range = await array.histogram({ ...skips, bins: 1 })
        expect([...range.counts.data]).toEqual([numbers.filter((x) => !isNotNumber(x)).length])
        expect(await array.reduce((all, x) => [...all, x as Value], [] as Value[], skips)).toEqual(taken)
        // All of them are handed out as they are.
        const handed: unknown[] = []
        for await (const value of array) handed.push(value)
        expect(handed).toEqual(data)

        const [one, two] = isWide(dtype) ? [1n, 2n] : [1, 2]
        const found = data.flatMap((x, at) => (!isSkipped(x) && x >= one! && x <= two! ? [at] : []))
        const search = findWhere(array, { min: 1, max: 2 }, skips)
        expect(await search.count()).toBe(found.length)
        expect([...(await search.all()).positions].sort((a, b) => a - b)).toEqual(found)

        const empty = dtype === 'float32' ? Number.NaN : fill
        const labels = ['a', 'b', 'a', 'c', 'b', 'a']
        for (const kind of FOLDS) {
          const { values } = await array.groupBy(1, labels, kind, skips)
          const expected = [0, 1, 2, 3].flatMap((row) =>
            ['a', 'b', 'c'].map((label) => {
              const group = labels.flatMap((each, k) => (each === label ? [data[row * 6 + k]!] : []))
              const value = folded(
                kind,
                dtype,
                group.filter((x) => !isSkipped(x)),
              )
              return value === 'none' ? empty : value
            }),
          )
          expectCells(`groupBy ${kind}`, [...(values.data as Iterable<Value>)], expected)
        }

        let ran = 0n
        let sum = 0
        const running = data.slice(0, 6).map((x) => {
          if (isSkipped(x)) return isWide(dtype) ? ran : sum
          if (isWide(dtype)) ran += x as bigint
          else sum += x as number
          return isWide(dtype) ? ran : sum
        })
        expectCells('cumsum', [...((await array.cumsum(1, skips)).data as Iterable<Value>)].slice(0, 6), running)
      }),
      { numRuns: 50 },
    )
  })

  test('is missing in windows and in what is computed of it', async () => {
    await fc.assert(
      fc.asyncProperty(layouts, async (layout) => {
        const { dtype, fill, skipMissing } = layout
        const { file, array, data } = await written(layout)
        await using _ = file
        const isMissing = missingIn(layout)
        const isSkipped = (value: Value) => skipMissing !== false && isMissing(value)
        const skips = skipMissing === undefined ? {} : { skipMissing }
        const empty = dtype === 'float32' ? Number.NaN : fill
        for (const kind of FOLDS) {
          for (const [name, step] of [
            ['coarsen', 2],
            ['slidingWindows', 1],
          ] as const) {
            const made = (name === 'coarsen' ? coarsen : slidingWindows)(
              array,
              { 0: 2, 1: 2 },
              kind,
              skips,
            ) as unknown as DiskArray
            const windows: Value[][] = []
            for (let i = 0; i + 2 <= SHAPE[0]; i += step)
              for (let k = 0; k + 2 <= SHAPE[1]; k += step)
                windows.push([0, 1, 6, 7].map((more) => data[i * 6 + k + more]!).filter((x) => !isSkipped(x)))
            const expected = windows.map((taken) => folded(kind, dtype, taken))
            expectCells(
              `${name} ${kind}`,
              await outcome(made.toTensor()),
              expected.map((value) => (value === 'none' ? empty : value)),
            )
            const known = made.missing
            const isKnown = (value: unknown): boolean =>
              Number.isNaN(value) ? known.nan : known.values.some((each) => each === value)
            if (['sum', 'prod', 'count', 'countNonzero'].includes(kind)) expect(known).toEqual({ values: [], nan: false })
            else
              for (const [i, value] of expected.entries())
                if (windows[i]!.length === 0) expect(isKnown(value === 'none' ? empty : value)).toBe(true)
          }
        }
        const twice = array.map((x) => Number(x) * 2, { dtype: 'float64' })
        const doubled = data.map((x) => (isMissing(x) ? Number.NaN : Number(x) * 2))
        expectCells('map', await outcome(twice.toTensor()), doubled)
        const other = new DiskArray({
          dtype: 'int16' as const,
          shape: [6],
          missing: { values: [5], nan: false },
          readBlock: (
            [{ start }]: [{ start: number }],
            out: { shape: number[]; data: Int16Array; offset: number; stride: number[] },
          ) => {
            for (let i = 0; i < out.shape[0]!; i++) out.data[out.offset + i * out.stride[0]!] = start + i
          },
        } as never)
        const sum = broadcast((a, b) => Number(a) + Number(b), array, other, { dtype: 'float64' }) as DiskArray<'float64'>
        const expected = data.map((x, at) => (isMissing(x) || at % 6 === 5 ? Number.NaN : Number(x) + (at % 6)))
        expectCells('broadcast', await outcome(sum.toTensor()), expected)
        expectCells('its sum', [await sum.sum()], [expected.filter((x) => !isNotNumber(x)).reduce((a, b) => a + b, 0)])
      }),
      { numRuns: 25 },
    )
  })

  test('is counted apart from NaN in statistics', async () => {
    await fc.assert(
      fc.asyncProperty(layouts, async (layout) => {
        const { dtype, fill } = layout
        // Without a fill value, the format counts unwritten chunks as null all the same.
        const unwritten = fill === undefined ? 0 : layout.unwritten
        const { file, data } = await written({ ...layout, unwritten, flushed: true })
        await using _ = file
        const isMissing = missingIn(layout)
        const numbers = data.filter((x) => !isMissing(x) && !isNotNumber(x))
        const { min, max, nullCount, nanCount = 0, rowCount } = await file.stats('x')
        expect([nullCount, nanCount, rowCount]).toEqual([
          data.filter(isMissing).length,
          data.filter((x) => isNotNumber(x) && !isMissing(x)).length,
          24,
        ])
        const ends =
          numbers.length === 0 ? ['none', 'none'] : (['min', 'max'] as const).map((kind) => folded(kind, dtype, numbers))
        expectCells('stats', [min ?? 'none', max ?? 'none'], ends)
      }),
      { numRuns: 50 },
    )
  })
})
