import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Signal } from '../../src/core/signal.ts'
import { tensorOf } from '../../src/core/tensor.ts'
import {
  broadcast,
  concat,
  create,
  DiskArray,
  findWhere,
  generate,
  MemoryBudget,
  MemoryStore,
  mosaic,
  open,
  roll,
  slice,
  slidingWindows,
  stack,
  zip,
} from '../../src/runtime/index.ts'
import { zipBlocks } from '../../src/runtime/plan.ts'

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
  await file.createArray('x', { dtype: 'int8', shape: [size], chunks: [2 ** 12] }).set(null, 3)
  await file.flush()
  const bytes = 8 * size
  const opened = async () => {
    const budget = new MemoryBudget(bytes)
    const [a, b] = await Promise.all([1, 2].map(() => open({ store, path: 'x.af' }, { budget, cacheBytes: 0 })))
    return { budget, arrays: [a!.array('x', 'int8'), b!.array('x', 'int8')] as const }
  }

  test('two hundred reads at once hold no more than the budget', async () => {
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
        a.sum({ ignoreStats: true }),
        findWhere(b, { min: 3 }).count(),
      )
    await Promise.all(work)
    expect(await joined.sum()).toBe(7 * size)
    expect(budget.stats().held).toBe(0)
  })

  const drain = async (items: AsyncIterable<unknown>): Promise<void> => {
    for await (const _ of items);
  }
  type Whole = { x: DiskArray<'int8'>; y: DiskArray<'int8'> }
  const kinds: Record<string, (arrays: Whole) => Promise<unknown>> = {
    concat: ({ x, y }) => concat([x, y]).get(),
    mosaic: ({ x, y }) => mosaic([{ origin: [0], array: x }, { origin: [size], array: y }]).get(), // biome-ignore format: one line
    stack: ({ x, y }) => stack([x, y]).toTensor(),
    roll: ({ x }) => roll(x, 5, 0).get(),
    broadcast: ({ x, y }) => broadcast((a, b) => a + b, x, y).get(),
    'with a tensor and what is generated': ({ x }) =>
      broadcast((a, b, c) => a + b + c, x, tensorOf('int8', [size]), generate(() => 1, { dtype: 'int8', shape: [size] })).get(), // biome-ignore format: one line
    'rolling windows': ({ x }) => slidingWindows(x, { '0': 2 }, 'max').get(),
    blocks: ({ x }) => drain(x.rechunk([size]).blocks()),
    'zipped blocks': ({ x, y }) => drain(zipBlocks([x, y].map((each) => each.rechunk([size])))),
    zip: async ({ x, y }) => (await zip(x, y).next()).value,
    elements: async ({ x }) => (await x.elements().next()).value,
  }
  test.each(Object.keys(kinds))('forty reads at once hold no more than the budget, and as much as fits: %s', async (kind) => {
    const { budget, arrays } = await opened()
    const [x, y] = arrays
    await Promise.all(Array.from({ length: 40 }, () => kinds[kind]!({ x, y })))
    expect(budget.stats().held).toBe(0)
    expect(budget.stats().peak).toBeGreaterThan(bytes / 2)
    expect(budget.stats().peak).toBeLessThanOrEqual(bytes)
  })

  test('lazy arrays of lazy arrays, of several tiny budgets, end with the right values', async () => {
    const budgets = [20, 300, 5000].map((most) => new MemoryBudget(most))
    const small = { store: new MemoryStore(), path: 'small.af' }
    const made = await create(small, { codec: 'none' })
    await made.createArray('x', { dtype: 'int8', shape: [30], chunks: [7] }).set(
      null,
      Array.from({ length: 30 }, (_, i) => i),
    )
    await made.flush()
    const leaves = await Promise.all(
      budgets.map(async (budget) => (await open(small, { budget, cacheBytes: 0 })).array('x', 'int8') as DiskArray<'int8'>),
    )
    const plain = (await open(small)).array('x', 'int8') as DiskArray<'int8'>
    const { tree } = fc.letrec<{ tree: (leaf: (i: number) => DiskArray<'int8'>) => DiskArray<'int8'> }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4, depthSize: 'small' },
        fc.nat(2).map((i) => (leaf: (i: number) => DiskArray<'int8'>) => leaf(i)),
        tie('tree').map((a) => (leaf: (i: number) => DiskArray<'int8'>) => a(leaf).cache()),
        tie('tree').map((a) => (leaf: (i: number) => DiskArray<'int8'>) => a(leaf).map((value) => value % 50)),
        tie('tree').map(
          (a) => (leaf: (i: number) => DiskArray<'int8'>) => a(leaf).view([slice(null, null, -1)]) as DiskArray<'int8'>,
        ),
        tie('tree').map((a) => (leaf: (i: number) => DiskArray<'int8'>) => roll(a(leaf), 3, 0)),
        fc.tuple(tie('tree'), tie('tree')).map(
          ([a, b]) =>
            (leaf: (i: number) => DiskArray<'int8'>) =>
              broadcast((x, y) => (x + y) % 60, a(leaf), b(leaf)) as DiskArray<'int8'>,
        ),
        fc.tuple(tie('tree'), tie('tree')).map(
          ([a, b]) =>
            (leaf: (i: number) => DiskArray<'int8'>) =>
              concat([a(leaf).view([slice(0, 10)]), b(leaf).view([slice(0, 20)])]) as DiskArray<'int8'>,
        ),
      ),
    }))
    await fc.assert(
      fc.asyncProperty(fc.array(tree, { minLength: 1, maxLength: 4 }), async (trees) => {
        const work = trees.flatMap((make) => {
          const array = make((i) => leaves[i]!)
          return [array.get(), array.toTensor(), array.sum(), array.get([slice(3, 9)]), drain(array.blocks()), drain(zipBlocks([array, leaves[0]!]))] // biome-ignore format: one line
        })
        const results = await Promise.all(work)
        for (const [i, make] of trees.entries()) {
          const expected = await make(() => plain).get()
          expect(results[6 * i]).toEqual(expected)
          expect(results[6 * i + 1]).toEqual(expected)
        }
        expect(budgets.map((budget) => budget.stats().held)).toEqual([0, 0, 0])
      }),
      { numRuns: 40 },
    )
  }, 30_000)

  test('nothing is held for arrays of a user, which may ask others', async () => {
    const { budget, arrays } = await opened()
    const [x] = arrays
    const own = new DiskArray<'int8'>({
      dtype: 'int8',
      shape: [size],
      readBlock: async (box, out) => {
        out.data.set((await x.get(box.map(({ start, stop }) => slice(start, stop)))).data)
      },
    })
    const works = Array.from({ length: 40 }, () => concat([x, own]).get())
    expect((await Promise.all(works)).every(({ data }) => data.length === 2 * size)).toBe(true)
    expect(budget.stats().held).toBe(0)
  })

  test('tables of segments count while they are read', async () => {
    const place = { store: new MemoryStore(), path: 'segments.af' }
    const written = await create(place, { codec: 'none' })
    await written.createArray('x', { dtype: 'int8', shape: [2 ** 22], chunks: [2 ** 12] }).set(null, 3)
    await written.flush()
    const held: number[] = []
    const budget = new MemoryBudget(2 ** 20)
    const { blocks } = budget
    budget.blocks = function <T>(this: MemoryBudget, size: number, work: () => Promise<T>, signal?: Signal) {
      held.push(size)
      return blocks.call(this, size, work, signal) as Promise<T>
    }
    await using segmented = await open(place, { budget, cacheBytes: 0 })
    expect(await segmented.array('x', 'int8').get([5])).toBe(3)
    // 2^10 segments of at least 4 bytes in the table, and then one of them.
    expect(held.length).toBe(2)
    expect(held[0]).toBeGreaterThanOrEqual(14 * 4 * 2 ** 10)
    expect(held[1]).toBe(2 ** 12)
    expect(budget.stats().held).toBe(0)
    expect(await segmented.array('x', 'int8').get([9000])).toBe(3)
    expect(held.length).toBe(3)
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
