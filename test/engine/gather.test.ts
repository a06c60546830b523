import { expect, test } from 'vitest'
import { tensorOf, wholeAxis } from '../../src/core/tensor.ts'
import type { BlockReader } from '../../src/engine/block-reader.ts'
import type { ChunkSnapshot } from '../../src/engine/chunk-index.ts'
import { ChunkedSource } from '../../src/engine/chunked-source.ts'
import { ChunkGrid, RegularChunks } from '../../src/grid/chunks.ts'

const LENGTH = 300
const grid = new ChunkGrid([new RegularChunks(1, LENGTH), new RegularChunks(1, LENGTH)])

/** Locates each of 90 000 unwritten chunks; returns the order of the look-ups. */
async function located(snapshot: Partial<ChunkSnapshot>, signal?: AbortSignal) {
  const out = tensorOf('int8', [LENGTH, LENGTH])
  const numbers: number[] = []
  const range = { start: 0, stop: LENGTH, step: 1 }
  const whole = wholeAxis(LENGTH)
  const transfer = { box: [range, range], shape: [LENGTH, LENGTH], axes: [1, 1], inner: null, outer: [whole, whole], covered: true, chunks: LENGTH ** 2 } // biome-ignore format: one line
  const chunks: ChunkSnapshot = {
    grid,
    locate: (number: number): undefined => void numbers.push(number),
    // As many as make looking for each of them worth while.
    storedCount: LENGTH ** 2,
    stored: () => [],
    pinned: () => chunks,
    checkGrid: () => undefined,
    ...snapshot,
  }
  const blocks = { use: () => undefined } as unknown as BlockReader
  const label = { file: 'f', array: 'a' }
  const source = new ChunkedSource({ dtype: 'int8', fillValue: 3, label, blocks, grid, snapshot: () => chunks })
  const failure = await source.bulk.gather!([transfer], out, { signal }).then(
    () => undefined,
    (error: Error) => error.message,
  )
  return { data: out.data, numbers, failure }
}

test('chunks are looked for in C order, and missing ones are full of the fill value', async () => {
  const { data, numbers, failure } = await located({})
  expect(failure).toBeUndefined()
  expect(numbers).toEqual(Array.from({ length: LENGTH ** 2 }, (_, i) => i))
  expect(data.every((value) => value === 3)).toBe(true)
})

test('where few chunks may be stored, others are not looked for', async () => {
  const { data, numbers, failure } = await located({ storedCount: 3, stored: () => [7, 5, 7] })
  expect([failure, numbers]).toEqual([undefined, [5, 7]])
  expect(data.every((value) => value === 3)).toBe(true)
})

test('looking for many gives way, and ends when the signal is aborted or the array is resized', async () => {
  const controller = new AbortController()
  setImmediate(() => controller.abort(new Error('enough')))
  const aborted = await located({}, controller.signal)
  expect(aborted.failure).toBe('enough')
  expect(aborted.numbers.length).toBeLessThan(LENGTH ** 2)
  const checkGrid = (done: string) => {
    throw new Error(`resized while it was ${done}`)
  }
  const resized = await located({ checkGrid })
  expect(resized.failure).toBe('resized while it was read')
  expect(resized.numbers.length).toBeLessThan(LENGTH ** 2)
})
