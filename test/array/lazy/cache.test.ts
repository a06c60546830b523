import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../../src/array/disk-array.ts'
import { slice } from '../../../src/grid/slice.ts'
import { all, bounds, counted, range } from './support.ts'

describe('cached', () => {
  test('read once however often', async () => {
    const { array, reads, data } = counted([4, 1200, 300], [2, 128, 128], { dtype: 'int32', first: 0 })
    const cached = array.cache({ maxBytes: 6e6 })
    const sum = data.reduce((a, b) => a + b)
    expect([await cached.sum(), await cached.sum()]).toEqual([sum, sum])
    expect(reads.length).toBeLessThanOrEqual(60)
    const chunks = new Set(reads.flatMap((box) => bounds(box).map(([start]) => start! % 2)))
    expect([...chunks]).toEqual([0])
  })

  test('parts of what is kept', async () => {
    const { array, reads } = counted([2, 30, 20], [1, 8, 8])
    const cached = array.cache()
    const whole = await all(cached)
    expect(whole).toEqual(range(1, 1201))
    for (const selection of [[0], [null, 0], [null, null, 19], [1, 29, 19], [slice(null, null, -1), slice(3, 25, 7)]])
      expect(await all(cached.view(selection))).toEqual(await all(array.view(selection)))
    expect(reads.length).toBe(1 + 5)
  })

  test('missing chunks that make up a box are one read, others one each', async () => {
    const { array, reads } = counted([6, 6], [2, 2])
    const cached = array.cache()
    await cached.get([slice(1, 3), slice(1, 3)])
    expect(reads.map(bounds)).toEqual([[[0, 4], [0, 4]]]) // biome-ignore format: one line
    await cached.get()
    expect(reads.length).toBe(1 + 5)
    expect(new Set(reads.slice(1).map((box) => String(bounds(box)))).size).toBe(5)
  })

  test('what is kept is counted in bytes, the last used stay', async () => {
    const { array, reads } = counted([40], [10])
    const cached = array.cache({ maxBytes: 160 })
    const read = async (chunk: number) => {
      reads.length = 0
      await cached.get([10 * chunk])
      return reads.length
    }
    expect([await read(0), await read(1), await read(0), await read(2), await read(0), await read(1)]).toEqual([1, 1, 0, 1, 0, 1])
    const none = array.cache({ maxBytes: 79 })
    reads.length = 0
    await none.get([0])
    await none.get([0])
    expect(reads.length).toBe(2)
  })

  test('several who want a chunk share one read', async () => {
    const { array, reads } = counted([40], [10])
    const cached = array.cache()
    await Promise.all([cached.get([3]), cached.get([slice(0, 15)]), cached.get([5]), cached.get()])
    expect(reads.flatMap((box) => range(box[0]!.start, box[0]!.stop)).sort((a, b) => a - b)).toEqual(range(0, 40))
  })

  test('writes go through and are read back', async () => {
    const { array, reads, writes, data } = counted([40], [10])
    const cached = array.cache()
    await cached.get()
    await cached.set([slice(5, 15)], 0)
    expect([...data.slice(4, 16)]).toEqual([5, ...new Array(10).fill(0), 16])
    expect(await all(cached)).toEqual([...data])
    expect([reads.length, writes.length]).toEqual([2, 1])
    expect(bounds(reads[1]!)).toEqual([[0, 20]])
  })

  test('what was loaded while something was written is not kept', async () => {
    const { source, data } = counted([4], [2])
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    let slow = true
    const array = new DiskArray({
      dtype: 'float64',
      shape: [4],
      chunks: [2],
      readBlock: async (box, out) => {
        await source.readBlock(box, out)
        if (slow) await held
      },
      writeBlock: (box, values) => source.writeBlock(box, values),
    }).cache()
    const early = array.get([0])
    await new Promise((resolve) => setTimeout(resolve, 5))
    slow = false
    await array.set([0], 99)
    expect(await array.get([0])).toBe(99)
    release()
    await early
    expect([await array.get([0]), data[0]]).toEqual([99, 99])
  })

  test('an abort ends one who waits; the read ends with the last', async () => {
    let aborted = 0
    const array = new DiskArray({
      dtype: 'float64',
      shape: [4],
      chunks: [2],
      readBlock: (_, out, options) =>
        new Promise<void>((resolve, reject) => {
          const timer = setTimeout(() => {
            out.data.fill(7)
            resolve()
          }, 30)
          options?.signal?.addEventListener('abort', () => {
            clearTimeout(timer)
            aborted++
            reject(new Error('given up'))
          })
        }),
    }).cache()
    const [one, other] = [new AbortController(), new AbortController()]
    const first = array.get([slice(0, 4)], { signal: one.signal })
    const second = array.get([slice(0, 4)], { signal: other.signal })
    await new Promise((resolve) => setTimeout(resolve, 5))
    one.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    expect([...(await second).data, aborted]).toEqual([7, 7, 7, 7, 0])
    const third = array.rechunk([4]).cache().get([0], { signal: one.signal })
    await expect(third).rejects.toThrow('enough')
  })

  test('a failure is not kept', async () => {
    let fails = true
    const { source } = counted([4], [2])
    const array = new DiskArray({
      dtype: 'float64',
      shape: [4],
      chunks: [2],
      readBlock: async (box, out) => {
        if (fails) throw new Error('once')
        await source.readBlock(box, out)
      },
    }).cache()
    await expect(array.get()).rejects.toThrow('once')
    fails = false
    expect(await all(array)).toEqual([1, 2, 3, 4])
  })
})
