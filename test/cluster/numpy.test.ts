import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { toBytes } from '../../src/core/dtype.ts'
import { local, planJob, type ReduceOperation } from '../../src/runtime/cluster.ts'
import { zarrPython } from '../support/python.ts'
import { FILL, SHAPE, sourcesInMemory, valuesOf } from './support.ts'

const DTYPES = ['float32', 'float64', 'int16', 'int32', 'int64', 'uint8'] as const
const SCRIPT = fileURLToPath(new URL('numpy_reductions.py', import.meta.url))
/**
 * Largest relative error, in parts of the sum of magnitudes. docs/numerics.md promises less for so few
 * elements.
 */
const BOUND = 1e-12

interface Reductions {
  readonly sum: string | number
  readonly magnitude: number
  readonly mean: number
  readonly variance: number
  readonly std: number
  readonly min: string | number
  readonly max: string | number
  readonly count: number
  readonly countNonzero: number
  readonly any: boolean
  readonly all: boolean
}

interface Described extends Reductions {
  readonly argMin: number
  readonly argMax: number
  readonly unique: { readonly values: (string | number)[]; readonly counts: number[] }
  readonly histogram: number[]
  readonly quantile: number[]
  readonly median: number
  readonly cells: readonly Reductions[]
}

const env = zarrPython()

describe.skipIf(env === undefined)('jobs come to what numpy comes to', () => {
  const sources = sourcesInMemory('numpy')
  let theirs: Map<string, Described>
  beforeAll(() => {
    const given = DTYPES.map((dtype) => {
      const fill = dtype === 'int64' ? BigInt(FILL) * 2_000_003n : FILL
      const path = join(sources.folder, `${dtype}.raw`)
      writeFileSync(path, toBytes(valuesOf(dtype, FILL) as never))
      return [path, dtype, SHAPE, `${fill}`]
    })
    const answer = execFileSync('python3', [SCRIPT], { env, input: JSON.stringify(given), encoding: 'utf8' })
    const all = JSON.parse(answer) as Described[]
    theirs = new Map(DTYPES.map((dtype, i) => [dtype, all[i]!]))
  })

  /** In three levels of merges. */
  async function ours(dtype: string, operation: Partial<ReduceOperation> & Pick<ReduceOperation, 'method'>): Promise<unknown> {
    const source = sources.recipes.get(`container ${dtype}`)!
    const plan = await planJob({ ...operation, source } as ReduceOperation, { unitBytes: 1, taskBytes: 1 })
    return local().run(plan)
  }

  const isWhole = (dtype: string): boolean => !dtype.startsWith('float')
  const textOf = (value: unknown, dtype: string): string | number => (isWhole(dtype) ? `${value}` : Number(value))

  describe.each(DTYPES)('%s', (dtype) => {
    test.each(['sum', 'mean', 'variance', 'std', 'min', 'max', 'count', 'countNonzero', 'any', 'all'] as const)(
      '%s',
      async (method) => {
        const expected = theirs.get(dtype)!
        const tolerance = {
          sum: expected.magnitude,
          mean: expected.magnitude / expected.count,
          variance: expected.variance,
          std: expected.std,
        }
        const near = tolerance[method as 'sum']
        const check = (found: unknown, wanted: Reductions): void => {
          if (/^(count|countNonzero|any|all)$/.test(method)) expect(Number(found)).toBe(Number(wanted[method]))
          else if (method === 'min' || method === 'max' || (method === 'sum' && isWhole(dtype)))
            expect(textOf(found, dtype)).toBe(wanted[method])
          else
            expect(Math.abs(Number(found) - Number(wanted[method]))).toBeLessThanOrEqual(
              BOUND * Math.max(near, Math.abs(Number(wanted[method]))),
            )
        }
        check(await ours(dtype, { method, options: { ignoreStats: true } }), expected)
        const { data } = (await ours(dtype, { method, options: { axis: 0, ignoreStats: true } })) as { data: ArrayLike<unknown> }
        expect(data.length).toBe(expected.cells.length)
        for (const [i, cell] of expected.cells.entries()) check(data[i], cell)
      },
    )

    test('positions, distinct values, bins and quantiles', async () => {
      const expected = theirs.get(dtype)!
      expect(await ours(dtype, { method: 'argMin' })).toEqual(expected.argMin)
      expect(await ours(dtype, { method: 'argMax' })).toEqual(expected.argMax)
      const unique = (await ours(dtype, { method: 'unique' })) as Record<'values' | 'counts', { data: ArrayLike<unknown> }>
      expect(Array.from(unique.values.data, (value) => textOf(value, dtype))).toEqual(expected.unique.values)
      expect(Array.from(unique.counts.data, Number)).toEqual(expected.unique.counts)
      const histogram = (await ours(dtype, { method: 'histogram', options: { bins: 7, range: [-1e9, 2e9] } })) as {
        counts: { data: ArrayLike<unknown> }
      }
      expect(Array.from(histogram.counts.data, Number)).toEqual(expected.histogram)
      const quantile = (await ours(dtype, { method: 'quantile', args: [[0, 0.3, 1]] })) as { data: ArrayLike<number> }
      for (const [i, value] of expected.quantile.entries())
        expect(Math.abs(quantile.data[i]! - value)).toBeLessThanOrEqual(BOUND * Math.abs(value))
      expect(Math.abs(Number(await ours(dtype, { method: 'median' })) - expected.median)).toBeLessThanOrEqual(
        BOUND * expected.median,
      )
    })
  })
})
