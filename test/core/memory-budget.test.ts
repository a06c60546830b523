import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concat, create, MemoryBudget, MemoryStore, open, slice, where } from '../../src/runtime/index.js'

const settle = () => new Promise((resolve) => setImmediate(resolve))

/** A read: its result, the blocks that it holds one after another, and when it is given up or fails. */
const someRead = fc.record({
  result: fc.nat(40),
  blocks: fc.array(fc.nat(20), { maxLength: 3 }),
  abortAfter: fc.option(fc.nat(20), { nil: undefined, freq: 3 }),
  failsAt: fc.option(fc.nat(3), { nil: undefined, freq: 4 }),
})

test('whatever fails or gives up: all reads end in the order of asking, and hold no more than the budget unless alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(someRead, { maxLength: 12 }), async (reads) => {
      const budget = new MemoryBudget(32)
      const holding = { results: [] as number[], blocks: [] as number[] }
      const started: number[] = []
      const tooMuch: number[][] = []
      const controllers = reads.map(() => new AbortController())
      const hold = async (list: number[], most: number, bytes: number, work: () => Promise<void>): Promise<void> => {
        list.push(bytes)
        const sum = list.reduce((a, b) => a + b, 0)
        if (sum > most && list.filter((each) => each > 0).length > 1) tooMuch.push([...list])
        try {
          await work()
        } finally {
          list.splice(list.indexOf(bytes), 1)
        }
      }
      const ends = reads.map(({ result, blocks, failsAt }, i) => {
        const { signal } = controllers[i]!
        return budget
          .result(
            result,
            () =>
              hold(holding.results, 24, result, async () => {
                started.push(i)
                for (const [k, bytes] of blocks.entries()) {
                  if (failsAt === k) throw new Error('fails')
                  await budget.blocks(bytes, () => hold(holding.blocks, 8, bytes, settle as () => Promise<void>), signal)
                }
              }),
            signal,
          )
          .catch((error: unknown) => (error instanceof Error ? undefined : Promise.reject(error)))
      })
      for (let turn = 0; turn < 21; turn++) {
        await settle()
        for (const [i, { abortAfter }] of reads.entries()) if (abortAfter === turn) controllers[i]!.abort()
      }
      await Promise.all(ends)
      expect(tooMuch).toEqual([])
      expect(started).toEqual([...started].sort((a, b) => a - b))
      expect(budget.stats().held).toBe(0)
    }),
    { numRuns: 60 },
  )
})

describe('reads of containers that share a budget', async () => {
  const store = new MemoryStore()
  const file = await create({ store, path: 'x.af' }, { codec: 'none' })
  const size = 2 ** 16
  await file.define('x', { dtype: 'int8', shape: [size], chunkShape: [2 ** 12] }).set(null, 3)
  await file.flush()
  const bytes = 8 * size
  const opened = async () => {
    const budget = new MemoryBudget(bytes)
    const [a, b] = await Promise.all([1, 2].map(() => open({ store, path: 'x.af' }, { budget, cacheBytes: 0 })))
    return { budget, arrays: [a!.array('x', 'int8'), b!.array('x', 'int8')] as const }
  }

  test('two hundred at once hold no more than that', async () => {
    const { budget, arrays } = await opened()
    const reads = Array.from({ length: 200 }, (_, i) => arrays[i % 2]!.get([slice(0, size - (i % 7))]))
    const results = await Promise.all(reads)
    for (const [i, { data }] of results.entries()) expect([data.length, data[i]]).toEqual([size - (i % 7), 3])
    expect(budget.stats().held).toBe(0)
    expect(budget.stats().peak).toBeGreaterThan(bytes / 2)
    expect(budget.stats().peak).toBeLessThanOrEqual(bytes)
  })

  test('reads within reads, of any kind, end', async () => {
    const { budget, arrays } = await opened()
    const [a, b] = arrays
    const joined = concat([a.map((value) => value + 1, { dtype: 'int8' } as never), b], { axis: 0 })
    const work: Promise<unknown>[] = []
    for (let i = 0; i < 20; i++)
      work.push(
        joined.get(),
        a.view([slice(0, null, 2)]).get(),
        b.toTensor(),
        a.sum({ fromData: true }),
        where(b, { min: 3 }).count(),
      )
    await Promise.all(work)
    expect(await joined.sum()).toBe(7 * size)
    expect(budget.stats().held).toBe(0)
  })

  test('a result larger than the budget is read alone', async () => {
    const budget = new MemoryBudget(100)
    await using small = await open({ store, path: 'x.af' }, { budget })
    const x = small.array('x', 'int8')
    const all = await Promise.all([x.get(), x.get(), x.get()])
    expect(all.map(({ data }) => data.at(-1))).toEqual([3, 3, 3])
    expect(budget.stats().peak).toBeLessThan(3 * size + 100)
  })

  test('waiting ends when a signal is aborted', async () => {
    const { budget, arrays } = await opened()
    let leave = (): void => undefined
    const left = new Promise<void>((resolve) => {
      leave = resolve
    })
    const held = budget.result(bytes, () => left)
    const controller = new AbortController()
    const read = arrays[0].get(null, { signal: controller.signal })
    controller.abort(new Error('enough'))
    await expect(read).rejects.toThrow('enough')
    leave()
    await held
  })

  test('is one, of a number of bytes', async () => {
    expect(() => new MemoryBudget(0)).toThrow(/a number of bytes from 1, got 0/)
    await expect(open({ store, path: 'x.af' }, { budget: { bytes: 3 } as never })).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
    })
  })
})
