import { describe, expect, test } from 'vitest'
import { DIVIDED_METHODS, divideBy } from '../../src/array/reductions/reductions.ts'
import { reduceWhole } from '../../src/array/reductions/units.ts'
import { RecipeOpener } from '../../src/cluster/open-recipe.ts'
import { Pins } from '../../src/cluster/pins.ts'
import { local, nodeCounts, planJob, type ReduceOperation } from '../../src/runtime/cluster.ts'
import { bitsOf, runByNodes, sourcesInMemory, WITHOUT_AXES } from './support.ts'

const sources = sourcesInMemory('cluster')

async function methodBits({ method, source, args, options }: ReduceOperation, unitBytes: number): Promise<string> {
  await using opener = new RecipeOpener(new Pins(), {})
  const array = await opener.open(source)
  return bitsOf(await reduceWhole(divideBy(method, array.source, options, args, unitBytes), {}))
}

const AXES = [undefined, 0, [0, 1], 2, [1, 2]] as const

describe('an array, the local executor and nodes one by one give the same bits', () => {
  test.each(DIVIDED_METHODS.map((method, i) => [method, i] as const))('%s', async (method, i) => {
    // Sums of float64 alone depend on the order of merges; each method has another source besides. Sketches
    // are large.
    const names = [...sources.recipes.keys()]
    const other = names[i % names.length]!
    for (const [k, name] of (method === 'quantile'
      ? ['container uint8']
      : [...new Set(['container float64', other])]
    ).entries()) {
      // Beyond int64 there is no product.
      if (method === 'prod' && name.endsWith('int64')) continue
      // Products of more are infinite.
      const several = k === 0 ? (method === 'prod' ? 0 : [0, 1]) : AXES[i % AXES.length]
      const axis = method.startsWith('arg') && Array.isArray(several) ? 1 : several
      const along = axis === undefined ? {} : { axis: axis as never }
      const source = sources.recipes.get(name)!
      const operation: ReduceOperation = { method, source, options: along, ...WITHOUT_AXES[method] }
      const level = k === 0 ? Number(method === 'quantile') : 1 + (i % 2)
      const plan = await planJob(operation, { unitBytes: 1, taskBytes: 48 * 16 ** level })
      // Classic NetCDF has no chunks of its own, this is one unit; exact quantiles take columns of chunks.
      if (!name.startsWith('netcdf') && method !== 'median') {
        expect(plan.tasks).toEqual({ level, count: Math.ceil(plan.units.count / 16 ** level) })
        expect([plan.units.count, nodeCounts(plan).length]).toEqual([282, level === 0 ? 3 : 2])
      }
      const expected = await methodBits(operation, 1)
      expect(bitsOf(await local({ concurrency: 3 }).run(plan)), name).toBe(expected)
      expect(bitsOf(await runByNodes(plan)), name).toBe(expected)
    }
  })
})
