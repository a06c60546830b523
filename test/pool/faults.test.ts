import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test } from 'vitest'
import { WORKER_TEXT } from '../../src/pool/worker.generated.ts'
import { create, createPool, MemoryStore, open, type Pool, type PoolOptions } from '../../src/runtime/index.ts'

const LENGTH = 40_000
const SUM = (LENGTH * (LENGTH - 1)) / 2

const pools: Pool[] = []
const newPool = (options?: PoolOptions): Pool => {
  const pool = createPool(options)
  pools.push(pool)
  return pool
}
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.close()
})

/** A container of 20 blocks. */
async function container(): Promise<{ store: MemoryStore; path: string }> {
  const where = { store: new MemoryStore(), path: 'a.af' }
  // Checksums would find damage before a worker does.
  await using file = await create(where, { blockBytes: (8 * LENGTH) / 20, extensionBlocks: false })
  const values = Float64Array.from({ length: LENGTH }, (_, i) => i)
  await file.createArray('x', { dtype: 'float64', shape: [LENGTH], chunks: [500] }).set(null, values)
  await file.flush()
  return where
}

/** A worker that ends when it is given its task number `count`, and those before. */
const mortal = (count: number): Worker => new Worker(endingAfter(count), { eval: true })

const endingAfter = (count: number): string => `${WORKER_TEXT}
{
  const port = process.getBuiltinModule('node:worker_threads').parentPort
  const work = port.onmessage
  let left = ${count}
  port.onmessage = (event) => ('module' in event.data || left-- > 0 ? work(event) : process.exit(3))
}`

async function expectRight(pool: Pool): Promise<void> {
  await using file = await open(await container(), { pool })
  const array = file.array('x', 'float64')
  expect(await array.sum()).toBe(SUM)
  expect((await array.get()).data[LENGTH - 1]).toBe(LENGTH - 1)
  expect((await array.max({ axis: 0 })).data[0]).toBe(LENGTH - 1)
}

describe('without workers', () => {
  test('a pool of none runs everything here and says why', async () => {
    const pool = newPool({ size: 0 })
    expect([pool.size, pool.inlineReason]).toEqual([0, 'its size was given as 0'])
    await expectRight(pool)
  })

  test.each([
    ['throws', () => Promise.reject(new Error('forbidden here'))],
    ['makes one that cannot be loaded', () => new Worker('throw new Error("forbidden here")', { eval: true })],
  ])('createWorker that %s', async (_, createWorker) => {
    const pool = newPool({ size: 2, createWorker })
    await expectRight(pool)
    expect([pool.size, pool.inlineReason]).toEqual([0, 'workers cannot be started: forbidden here'])
  })

  test('after it was closed, also in the middle of work', async () => {
    const pool = newPool({ size: 2 })
    await using file = await open(await container(), { pool })
    const sum = file.array('x').sum()
    await new Promise((resolve) => setTimeout(resolve, 5))
    await pool.close()
    expect(await sum).toBe(SUM)
    expect([pool.size, pool.inlineReason]).toEqual([0, 'it was closed'])
    expect(await file.array('x').sum()).toBe(SUM)
  })

  test.each([-1, 0.5, Number.NaN, 2000, '2'])('a size of %s is refused', (size) => {
    expect(() => createPool({ size: size as number })).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
  })
})

describe('workers that end', () => {
  test('are replaced, and their tasks done by others', async () => {
    let made = 0
    const pool = newPool({ size: 2, createWorker: () => mortal(++made > 3 ? 1e9 : 4) })
    await expectRight(pool)
    expect(made).toBeGreaterThan(3)
    expect([pool.size, pool.inlineReason]).toEqual([2, undefined])
  })

  test('again and again are given up', async () => {
    let made = 0
    const pool = newPool({ size: 2, createWorker: () => mortal(0 * ++made) })
    await expectRight(pool)
    expect(made).toBeLessThan(6)
    expect([pool.size, pool.inlineReason]).toEqual([0, 'workers keep ending: the worker ended with code 3'])
  })

  test('when they are terminated from outside', async () => {
    const workers: Worker[] = []
    const createWorker = (): Worker => {
      const worker = mortal(1e9)
      workers.push(worker)
      return worker
    }
    const pool = newPool({ size: 1, createWorker })
    await using file = await open(await container(), { pool })
    expect(await file.array('x').sum()).toBe(SUM)
    const sum = file.array('x').sum()
    await workers[0]!.terminate()
    expect(await sum).toBe(SUM)
    expect(await file.array('x').sum()).toBe(SUM)
    expect([workers.length, pool.size]).toEqual([2, 1])
  })
})

describe('aborting', () => {
  test('ends at once, leaves nothing behind, and the pool works on', async () => {
    const pool = newPool({ size: 1 })
    await using file = await open(await container(), { pool })
    const array = file.array('x', 'float64')
    for (const work of [
      (signal: AbortSignal) => array.sum({ signal }),
      (signal: AbortSignal) => array.get(null, { signal }),
      (signal: AbortSignal) => array.get([3], { signal }),
    ]) {
      for (const delay of [0, 1, 3]) {
        const controller = new AbortController()
        const reason = new Error('enough')
        setTimeout(() => controller.abort(reason), delay)
        const ended = await work(controller.signal).then(
          () => 'done',
          (error: unknown) => error,
        )
        expect(['done', reason]).toContain(ended)
      }
    }
    await expect(array.sum({ signal: AbortSignal.abort(new Error('never')) })).rejects.toThrow('never')
    expect(await array.sum()).toBe(SUM)
  })

  test('one of two who wait for the same block does not disturb the other', async () => {
    const pool = newPool({ size: 1 })
    await using file = await open(await container(), { pool })
    const controller = new AbortController()
    const given = file.array('x').get([7], { signal: controller.signal })
    const kept = file.array('x').get([8])
    controller.abort(new Error('enough'))
    await expect(given).rejects.toThrow('enough')
    expect(await kept).toBe(8)
  })
})

test('errors are those of decoding here, with the same details', async () => {
  const { store, path } = await container()
  const name = path
  const bytes = (await store.getRange(name, 0, (await store.stat(name))!.size))!
  bytes.fill(0xff, 10, 200)
  await store.put(name, bytes)
  const pool = newPool({ size: 1 })
  const failure = async (options: object, work: 'sum' | 'get', selection?: unknown): Promise<object> => {
    await using file = await open({ store, path }, options)
    const error = await (file.array('x')[work] as (s: unknown) => Promise<unknown>)
      .call(file.array('x'), selection)
      .catch((caught: unknown) => caught)
    const { tag, message, details, name } = error as { tag: string; message: string; details: object; name: string }
    return { tag, message, details, name }
  }
  for (const [work, selection] of [
    ['sum', {}],
    ['get', null],
    ['get', [0]],
  ] as const) {
    const inline = await failure({}, work, selection)
    expect(inline).toMatchObject({ tag: 'CodecError', details: { array: 'x' } })
    expect(await failure({ pool }, work, selection)).toEqual(inline)
  }
  expect(pool.size).toBe(1)
})
