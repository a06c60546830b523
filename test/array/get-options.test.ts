import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import type { BlockOptions } from '../../src/array/source.ts'
import type { TransferProgress } from '../../src/array/transfers.ts'
import type { Tensor } from '../../src/core/tensor.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { type Box, showBox } from '../../src/grid/range.ts'
import type { Selection } from '../../src/grid/selection.ts'
import { chunk, points } from '../../src/grid/selectors.ts'
import { slice } from '../../src/grid/slice.ts'
import { numbered } from '../support/arbitraries.ts'
import { CountingSource } from '../support/counting-source.ts'

/** Ten chunks of ten, of which reads end when they are let. */
function slowArray(capabilities: { concurrency?: number } = {}) {
  const underWay: { box: Box; end: () => void }[] = []
  let most = 0
  const source = new CountingSource(numbered('float64', [100]), ChunkGrid.regular([100], [10]))
  const wait = (box: Box, { signal }: BlockOptions = {}): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      const entry = { box, end: resolve }
      underWay.push(entry)
      most = Math.max(most, underWay.length)
      signal?.addEventListener('abort', () => reject(signal.reason))
    }).finally(() => underWay.shift())
  const array = new DiskArray<'float64'>({
    dtype: source.dtype,
    shape: source.shape,
    chunks: source.chunks,
    capabilities,
    readBlock: (box, out, options) => wait(box, options).then(() => source.readBlock(box, out)),
    writeBlock: (box, values, options) => wait(box, options).then(() => source.writeBlock(box, values)),
  })
  /** Lets one after another end until `work` has. */
  const drain = async (work: Promise<unknown>): Promise<void> => {
    let done = false
    work.finally(() => {
      done = true
    })
    while (!done) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      underWay[0]?.end()
    }
  }
  return { array, source, underWay, drain, most: () => most }
}

const scattered = [[5, 25, 45, 65, 85, 95]]

describe('concurrency', () => {
  test.each<[string, { concurrency?: number }, { concurrency?: number }, number]>([
    ['reads overlap', {}, {}, 5],
    ['as many as asked for', {}, { concurrency: 2 }, 2],
    ['as many as the source likes', { concurrency: 3 }, {}, 3],
  ])('%s', async (_, capabilities, options, expected) => {
    const { array, drain, most } = slowArray(capabilities)
    const result = array.get(scattered, options)
    await drain(result)
    expect([...(await result).data]).toEqual([5.25, 25.25, 45.25, 65.25, 85.25, 95.25])
    expect(most()).toBe(expected)
  })

  test('writes overlap when asked to, but not those that may share a chunk', async () => {
    for (const [options, expected] of [
      [{}, 1],
      [{ concurrency: 4 }, 4],
      [{ concurrency: 4, strategy: 'ranges' }, 1],
    ] as const) {
      // biome-ignore format: one line
      const { array, drain, most, source } = slowArray()
      const done = array.set([[5, 25, 45, 65]], 1, options)
      await drain(done)
      expect([most(), source.writes.length]).toEqual([expected, 4])
    }
  })

  test('an abort ends it and leaves nothing under way', async () => {
    for (const kind of ['get', 'set'] as const) {
      const { array, underWay, source } = slowArray()
      const controller = new AbortController()
      const options = { signal: controller.signal, concurrency: 2 }
      const done = kind === 'get' ? array.get(scattered, options) : array.set(scattered, 0, options)
      await new Promise((resolve) => setTimeout(resolve, 5))
      expect(underWay.length).toBe(2)
      controller.abort(new Error('enough'))
      await expect(done).rejects.toThrow('enough')
      expect([underWay, source.reads, source.writes]).toEqual([[], [], []])
    }
    const { array, underWay } = slowArray()
    await expect(array.get(scattered, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow('before')
    expect(underWay).toEqual([])
  })

  test('progress in chunks and bytes', async () => {
    const array = new DiskArray(new CountingSource(numbered('float64', [100]), ChunkGrid.regular([100], [10])))
    const seen: TransferProgress[] = []
    const onProgress = (progress: TransferProgress): void => void seen.push(progress)
    await array.get([[5, 8, 15, 45]], { onProgress, concurrency: 1 })
    await array.set([[5, 45]], 0, { onProgress })
    expect(seen).toEqual([
      { done: 2, total: 3, bytes: 88, absent: 0 },
      { done: 3, total: 3, bytes: 96, absent: 0 },
      { done: 1, total: 2, bytes: 8, absent: 0 },
      { done: 2, total: 2, bytes: 16, absent: 0 },
    ])
  })
})

describe('results', () => {
  const shape = [6, 8]
  const plain = numbered('int32', shape)
  const sourceOf = () =>
    new CountingSource(plain, ChunkGrid.regular(shape, [2, 3]), { dimensionNames: ['lat', 'lon'], steps: true })

  test('above a limit are refused, naming the size and the chunked way', async () => {
    const source = sourceOf()
    const array = new DiskArray(source)
    const error = array.get([slice(4), null], { maxBytes: 127 })
    await expect(error).rejects.toMatchObject({ tag: 'TooLargeError', details: { array: 'plain', actual: 128, expected: 127 } })
    await expect(error).rejects.toThrow(/\[4, 8\] takes 128 bytes.*blocks\(\)/)
    expect(source.reads).toEqual([])
    expect((await array.get([slice(4), null], { maxBytes: 128 })).shape).toEqual([4, 8])
    const out = { data: new Int32Array(32), shape: [4, 8], stride: [8, 1], offset: 0 }
    expect(await array.get([slice(4), null], { maxBytes: 1, out })).toBe(out)
    const huge = new DiskArray({ dtype: 'float64', shape: [2 ** 34], chunks: [2 ** 20], readBlock: () => undefined })
    await expect(huge.get()).rejects.toMatchObject({ tag: 'TooLargeError' })
    // Nor does a list of few, far apart, hold what lies between them.
    expect((await huge.plan([slice(null, null, 2 ** 19)])).transfers.every(({ shape }) => shape[0]! <= 2 ** 20)).toBe(true)
  })

  test('go to memory of the right kind and size only, dense where strides are left out', async () => {
    const source = sourceOf()
    const array = new DiskArray(source)
    const selection = [slice(4), null]
    const data = new Int32Array(32)
    const result = (await array.get(selection, { out: { data, shape: [4, 8] } })) as Tensor<'int32'>
    expect(result).toEqual({ data, shape: [4, 8], stride: [8, 1], offset: 0 })
    expect(data).toEqual(((await array.get(selection)) as Tensor<'int32'>).data)
    source.reads.length = 0
    const refused = async (out: object, ...texts: string[]) => {
      const error = array.get(selection, { out } as never)
      await expect(error).rejects.toMatchObject({ tag: 'InvalidArgumentError', details: { array: 'plain' } })
      for (const text of texts) await expect(error).rejects.toThrow(text)
    }
    await refused({ data, shape: [8, 4] }, '[8, 4]', '[4, 8]')
    await refused({ data: new Float32Array(32), shape: [4, 8] }, 'Float32Array', 'int32 needs an Int32Array')
    await refused({ data: Array.from(data), shape: [4, 8] }, 'an Array')
    await refused({ data: data.subarray(1), shape: [4, 8] }, 'elements 0 to 31 of a buffer of 31')
    await refused({ data, shape: [4, 8], stride: [8, 1], offset: 1 }, 'elements 1 to 32 of a buffer of 32')
    await refused({ data, shape: [4, 8], stride: [1] }, '1 strides')
    expect(source.reads).toEqual([])
    const bytes = new DiskArray({ dtype: 'uint8', shape: [2], readBlock: (_, out) => void out.data.fill(7) })
    expect([...((await bytes.get(null, { out: { data: Buffer.alloc(2), shape: [2] } })) as Tensor<'uint8'>).data]).toEqual([7, 7])
  })

  test('lists of several axes go to strides that they do not fit', async () => {
    const array = new DiskArray(sourceOf())
    const selection = [[[0, 5], [3, 1]], slice(null, null, -7)] // biome-ignore format: one line
    const dense = (await array.get(selection)) as Tensor<'int32'>
    const out = { data: new Int32Array(8), shape: [2, 2, 2], stride: [1, 2, 4], offset: 0 }
    await array.get(selection, { out })
    for (let i = 0; i < 8; i++) expect(out.data[(i >> 2) + (i & 2) + 4 * (i & 1)]).toBe(dense.data[i])
    const other = { ...plain, data: plain.data.slice() }
    const source = new CountingSource(other, ChunkGrid.regular(shape, [2, 3]))
    await new DiskArray(source).set(selection, { ...out, data: out.data.map((value) => 1 - value) })
    expect([...((await new DiskArray(source).get(selection)) as Tensor<'int32'>).data]).toEqual(
      [...dense.data].map((value) => 1 - value),
    )
  })

  test('by dimension name', async () => {
    const array = new DiskArray(sourceOf())
    expect((await array.get({ lon: 2, lat: slice(1, 3) })).data).toEqual(Int32Array.of(10, 18))
    expect(await array.get({ lon: 2, lat: -1 })).toBe(42)
    await expect(array.get({ time: 0 })).rejects.toMatchObject({
      tag: 'InvalidSelectionError',
      details: { actual: 'time', expected: ['lat', 'lon'] },
    })
    await expect(array.get({ lat: points([1, 2]) })).rejects.toMatchObject({ tag: 'InvalidSelectionError', details: { axis: 0 } })
  })

  test('a chunk', async () => {
    const source = sourceOf()
    const array = new DiskArray(source)
    expect((await array.get(chunk(-1, 2))).data).toEqual(Int32Array.of(38, 39, 46, 47))
    expect((await array.get([chunk(0), 5])).data).toEqual(Int32Array.of(5, 13))
    expect(source.reads.map(showBox)).toEqual(['[4:6, 6:8]', '[0:2, 5:6]'])
    await expect(array.get(chunk(3, 0))).rejects.toMatchObject({ details: { axis: 0, actual: 3, expected: 3 } })
  })

  test.each<[string, Selection, object]>([
    ['a mask of another length', [[true, false]], { axis: 0, actual: [2], expected: [6] }],
    ['a mask of another shape', [{ data: new Uint8Array(48), shape: [8, 6] }], { axis: 0, actual: [8, 6], expected: [6, 8] }],
    ['bytes that are no mask', [null, Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7)], { axis: 1, actual: 2 }],
    ['a mask with a number', [[true, 0, true, true, true, true] as never], { axis: 0, actual: 0 }],
    ['a fraction in a list', [null, [1, 1.5]], { axis: 1, actual: 1.5 }],
    ['text in a list', [['1'] as never], { axis: 0, actual: '1' }],
    ['a list of different lengths', [[[1, 2], [3]]], { actual: [1], expected: [2] }],
    ['points of too many axes', [points([[0, 0, 0]])], { actual: 3, expected: 2 }],
    ['points of other axes than said', [points([[0, 0]], 1)], { actual: [1, 2], expected: 1 }],
    ['two open ones', ['...', '...'], { actual: '...' }],
    ['a number alone', 3 as never, { actual: 3 }],
  ])('refuses %s', async (_, selection, details) => {
    const source = sourceOf()
    await expect(new DiskArray(source).get(selection)).rejects.toMatchObject({ tag: 'InvalidSelectionError', details })
    expect(source.reads).toEqual([])
  })

  test('plans tell bytes and requests', async () => {
    const array = new DiskArray(sourceOf())
    expect(await array.plan([[0, 5], [1, 4]])).toMatchObject({ shape: [2, 2], elements: 4, bytes: 16, requests: 1, chunks: 4 }) // biome-ignore format: one line
    await expect(array.plan(null, { strategy: 'all' as never })).rejects.toThrow(/strategy cannot be "all"/)
    await expect(array.plan(null, { density: 2 })).rejects.toThrow(/density must be from 0 to 1, got 2/)
  })
})
