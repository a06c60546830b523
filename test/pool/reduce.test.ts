import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { isBigInt, isFloat, NUMERIC_DTYPES, type NumericDType, type TypedArray } from '../../src/core/dtype.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { type ArrayFile, create, createPool, type FileOptions, MemoryStore, open } from '../../src/runtime/index.ts'
import { plains, selections } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { type Plain, plainGet, plainSet } from '../support/oracle.ts'
import { containers } from './support.ts'

const pool = createPool({ size: 2 })
afterAll(() => pool.close())

const cases = containers.chain((container) =>
  fc.constantFrom<NumericDType | 'bool'>(...NUMERIC_DTYPES, 'bool').chain((dtype) =>
    fc.record({
      container: fc.constant(container),
      plain: plains(dtype, container.shape) as fc.Arbitrary<Plain<NumericDType>>,
      /** Position of the element whose value is the fill value; 0 when beyond the end. */
      fillAt: fc.integer({ min: 0, max: 12 }),
      /**
       * Written part: everything at once, or two selections in a layer each, while the rest stays unwritten.
       */
      parts: fc.constantFrom('all', 'two'),
      second: selections(container.shape),
      kind: fc.constantFrom<Kind>('sum', 'min', 'max', 'mean', 'variance', 'std'),
      axes: fc.option(
        fc.uniqueArray(fc.integer({ min: 0, max: Math.max(0, container.shape.length - 1) }), {
          maxLength: container.shape.length,
        }),
      ),
      skipMissing: fc.boolean(),
      ignoreStats: fc.boolean(),
      flush: fc.boolean(),
    }),
  ),
)

type Kind = 'sum' | 'min' | 'max' | 'mean' | 'variance' | 'std'
type Outcome = { readonly values: readonly (number | bigint)[]; readonly tag?: string }

async function outcome(array: DiskArray, kind: Kind, options: object): Promise<Outcome> {
  try {
    const result: unknown = await array[kind as 'sum'](options)
    if (typeof result === 'object') return { values: [...(result as { data: Iterable<number> }).data] }
    return { values: [typeof result === 'boolean' ? Number(result) : (result as number)] }
  } catch (error) {
    return { values: [], tag: (error as { tag: string }).tag }
  }
}

/** Equal; sums of floats and of squares may differ by rounding, and by anything where magnitudes overflow. */
function expectNear(actual: Outcome, expected: Outcome, { dtype, data }: Plain, kind: Kind): void {
  if (kind === 'variance' || kind === 'std') {
    expectNearSquares(actual, expected, data as TypedArray, kind === 'std' ? 2 : 1)
    return
  }
  if (!isFloat(dtype) || kind === 'min' || kind === 'max') {
    expect(actual).toEqual(expected)
    return
  }
  expect(actual.values.length).toBe(expected.values.length)
  const magnitude = (data as Float64Array).reduce((sum: number, value) => sum + Math.abs(value), 0)
  if (!Number.isFinite(magnitude)) return
  const bound = magnitude * (data.length + 1) * 2 ** -52
  for (const [i, value] of actual.values.entries()) {
    const other = expected.values[i] as number
    expect(Object.is(value, other) || Math.abs((value as number) - other) <= bound, `${value} for ${other}`).toBe(true)
  }
}

/** Squares are off by a rounding of the largest one for each element, roots by the root of that. */
function expectNearSquares(actual: Outcome, expected: Outcome, data: TypedArray, power: number): void {
  expect(actual.values.length).toBe(expected.values.length)
  const largest = Array.from(data as Iterable<number | bigint>, Number).reduce((max, x) => Math.max(max, Math.abs(x)), 0)
  if (!Number.isFinite(largest ** 2 * data.length)) return
  const bound = (largest ** 2 * (data.length + 4) * 2 ** -50) ** (1 / power)
  for (const [i, value] of actual.values.entries()) {
    const other = expected.values[i] as number
    expect(Object.is(value, other) || Math.abs((value as number) - other) <= bound, `${value} for ${other}`).toBe(true)
  }
}

test('a container is reduced to the same bits with a pool, and to what a plain source is', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ container, plain, fillAt, parts, second, kind, axes, skipMissing, ignoreStats, flush }) => {
      const { shape, grid, selection, codec, blockBytes, segmentBytes, cacheBytes } = container
      const { dtype } = plain
      const fill = (plain.data as ArrayLike<number | bigint>)[fillAt] ?? (isBigInt(dtype) ? 0n : 0)
      const fillValue = ((dtype as string) === 'bool' ? fill === 1 : fill) as never
      const current = { ...plain, data: plain.data.slice().fill(fill as never) } as Plain
      const where = { store: new MemoryStore(), path: 'a.af' }
      await using writer = await create(where, { codec, blockBytes, segmentBytes, pool })
      const array = writer.createArray('x', { dtype, shape, chunks: grid.chunkShape, fillValue })
      for (const part of parts === 'all' ? [[]] : [selection, second]) {
        const values = plainGet(plain as Plain, part).data
        await array.set(part, values as never)
        plainSet(current, part, values)
        if (flush) await writer.flush()
      }
      const options = { skipMissing, ignoreStats, ...(axes && { axis: axes }) }
      const chunks = ChunkGrid.regular(shape, grid.chunkShape)
      const expected = await outcome(
        new DiskArray(new CountingSource(current, chunks, { fillValue })) as DiskArray,
        kind,
        options,
      )
      if (!flush) return expectNear(await outcome(writer.array('x'), kind, options), expected, current, kind)
      const run = async (more: FileOptions): Promise<unknown[]> => {
        await using file: ArrayFile = await open(where, { cacheBytes, ...more })
        return [await outcome(file.array('x'), kind, options), await outcome(file.array('x'), kind, options), file.readCost]
      }
      const inline = await run({})
      expect(inline[1]).toEqual(inline[0])
      expectNear(inline[0] as Outcome, expected, current, kind)
      expect(await run({ pool })).toEqual(inline)
    }),
    { numRuns: runs(800) },
  )
  expect(pool.inlineReason).toBeUndefined()
})

test('sums do not depend on the number of workers', async () => {
  const where = { store: new MemoryStore(), path: 'a.af' }
  await using writer = await create(where, { blockBytes: 5000 })
  const length = 60_000
  const values = Float64Array.from({ length }, (_, i) => Math.sin(i) * 10 ** (i % 17))
  await writer.createArray('x', { dtype: 'float64', shape: [60, length / 60], chunks: [7, 100] }).set(null, values)
  await writer.flush()
  const results: unknown[] = []
  for (const size of [0, 1, 2, 5]) {
    await using own = createPool({ size })
    await using file = await open(where, { pool: own })
    const array = file.array('x', 'float64')
    const ignoreStats = true
    const [byRow, byColumn] = [await array.sum({ axis: 0, ignoreStats }), await array.mean({ axis: 1, ignoreStats })]
    const variances = [await array.variance(), (await array.variance({ axis: 1 })).data]
    results.push([await array.sum({ ignoreStats }), byRow.data, byColumn.data, ...variances])
    expect(own.size).toBe(size)
  }
  for (const result of results) expect(result).toEqual(results[0])
})
