import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { create, createPool, type FileOptions, MemoryStore, open } from '../../src/runtime/index.ts'
import { dtypes, numbered } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { plainGet } from '../support/oracle.ts'
import { containers } from './support.ts'

const pool = createPool({ size: 2 })
afterAll(() => pool.close())

const place = () => ({ store: new MemoryStore(), path: 'a.af' })
const elementsOf = (result: unknown): unknown[] =>
  typeof result === 'object' && result !== null && 'data' in result
    ? [...(result as { data: Iterable<unknown> }).data]
    : [typeof result === 'boolean' ? Number(result) : result]

describe('reading with a pool', () => {
  test('equals the oracle and fetches what is fetched without', async () => {
    await fc.assert(
      fc.asyncProperty(
        containers,
        dtypes,
        async ({ shape, grid, selection, codec, blockBytes, segmentBytes, cacheBytes }, dtype) => {
          const where = place()
          const plain = numbered(dtype, shape)
          await using writer = await create(where, { codec, blockBytes, segmentBytes })
          await writer.createArray('x', { dtype, shape, chunks: grid.chunkShape }).set(null, plain.data as never)
          await writer.flush()
          const read = async (options: FileOptions): Promise<unknown[]> => {
            await using file = await open(where, { cacheBytes, ...options })
            const array = file.array('x', dtype)
            const results = [await array.get(selection), await array.get(selection)]
            return [...results.map(elementsOf), file.readCost]
          }
          const expected = [...plainGet(plain, selection).data]
          const [once, twice, cost] = await read({ pool })
          expect([once, twice]).toEqual([expected, expected])
          expect(cost).toEqual((await read({}))[2])
        },
      ),
      { numRuns: runs(300) },
    )
    expect(pool.inlineReason).toBeUndefined()
  })

  test('two who read one block at the same time share the fetch and the decoding', async () => {
    const where = place()
    await using writer = await create(where)
    await writer.createArray('x', { dtype: 'int32', shape: [8], chunks: [2] }).set(null, [0, 1, 2, 3, 4, 5, 6, 7])
    await writer.flush()
    const tasks: string[] = []
    const counting = {
      size: 2,
      decodes: (codec: unknown) => pool.decodes(codec),
      run: ((packed, task, use, signal) => {
        tasks.push(task.kind)
        return pool.run(packed, task, use, signal)
      }) as typeof pool.run,
    }
    await using file = await open(where, { pool: counting })
    const array = file.array('x')
    expect(await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((i) => array.get([i])))).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect([file.readCost.blocks, tasks]).toEqual([1, ['decode']])
    expect((await array.get()).data).toEqual(Int32Array.of(0, 1, 2, 3, 4, 5, 6, 7))
    expect([file.readCost.blocks, tasks]).toEqual([1, ['decode']])
    await using fresh = await open(where, { pool: counting })
    expect(await fresh.array('x').sum({ ignoreStats: true })).toBe(28)
    expect(tasks).toEqual(['decode', 'reduce'])
  })

  test('files share a pool', async () => {
    const files = await Promise.all(
      Array.from({ length: 12 }, async (_, k) => {
        const where = place()
        await using file = await create(where, { blockBytes: 64 })
        await file.createArray('x', { dtype: 'float64', shape: [100], chunks: [10] }).set(
          null,
          Array.from({ length: 100 }, (_, i) => i * k),
        )
        await file.flush()
        return open(where, { pool })
      }),
    )
    expect(await Promise.all(files.map((file) => file.array('x').sum({ ignoreStats: true })))).toEqual(
      files.map((_, k) => 4950 * k),
    )
    for (const file of files) await file.close()
  })
})
