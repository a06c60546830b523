import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../../src/array/disk-array.ts'
import type { TransferProgress } from '../../../src/array/transfers.ts'
import { allocate } from '../../../src/core/dtype.ts'
import { sizeOf } from '../../../src/core/shape.ts'
import { ChunkGrid } from '../../../src/grid/chunks.ts'
import { boxShape } from '../../../src/grid/range.ts'
import { mixedGrids, numbered, shapes } from '../../support/arbitraries.ts'
import { runs } from '../../support/budget.ts'
import { CountingSource } from '../../support/counting-source.ts'
import { counted } from './support.ts'

const cases = shapes
  .map((shape) => shape.slice(0, 3))
  .chain((shape) =>
    fc.record({
      shape: fc.constant(shape),
      from: mixedGrids(shape),
      to: mixedGrids(shape),
      room: fc.integer({ min: 1, max: 400 }),
    }),
  )

describe('rechunkTo', () => {
  test('copies everything, writes whole chunks once and holds no more than it may', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, from, to, room }) => {
        const plain = numbered('float64', shape)
        const source = new CountingSource(plain, from)
        const target = new CountingSource({ ...plain, data: allocate('float64', plain.data.length) }, to)
        const seen: number[] = []
        const options = { maxBytes: 8 * room, onProgress: ({ done }: { done: number }) => seen.push(done) }
        await new DiskArray(source).rechunkTo(new DiskArray(target), options)
        const copy = await new DiskArray(target).get([])
        expect(typeof copy === 'number' ? [copy] : [...copy.data]).toEqual([...plain.data])
        const largest = sizeOf(to.chunkShape.map((length, axis) => Math.min(length, shape[axis]!)))
        for (const box of target.writes) {
          expect(sizeOf(boxShape(box))).toBeLessThanOrEqual(Math.max(room, largest))
          box.forEach(({ start, stop }, axis) => {
            const chunks = to.axes[axis]!
            expect([chunks.start(chunks.find(start)), chunks.stop(chunks.find(stop - 1))]).toEqual([start, stop])
          })
        }
        expect(seen.at(-1) ?? 0).toBe(to.count)
      }),
      { numRuns: runs(300) },
    )
  })

  test('goes through an array of its own where memory would have the source read often', async () => {
    const shape = [512, 4096]
    const plain = { dtype: 'float32' as const, shape, data: Float32Array.from({ length: 512 * 4096 }, (_, i) => i) }
    const copy = { ...plain, data: new Float32Array(plain.data.length) }
    const between = { ...plain, data: new Float32Array(plain.data.length) }
    const [source, target] = [
      new CountingSource(plain, ChunkGrid.regular(shape, [1, 4096])),
      new CountingSource(copy, ChunkGrid.regular(shape, [512, 16])),
    ]
    const seen: TransferProgress[] = []
    const made: CountingSource<'float32'>[] = []
    const scratch = async (wanted: { shape: readonly number[]; chunks: readonly number[] }) => {
      made.push(new CountingSource(between, ChunkGrid.regular(wanted.shape, wanted.chunks)))
      return new DiskArray(made[0]!)
    }
    const options = { maxBytes: 2 ** 19, scratch, onProgress: (progress: (typeof seen)[0]) => seen.push(progress) }
    await new DiskArray(source).rechunkTo(new DiskArray(target), options)
    expect(Buffer.from(copy.data.buffer).equals(Buffer.from(plain.data.buffer))).toBe(true)
    // Each row once, in regions of a quarter of a MiB; the intermediate array is written and read once.
    expect(source.reads.map((box) => boxShape(box))).toEqual(Array(32).fill([16, 4096]))
    expect([made[0]!.chunks.chunkShape, made[0]!.writes.length, made[0]!.reads.length]).toEqual([[16, 128], 32, 32]) // biome-ignore format: one line
    expect(target.writes.map((box) => boxShape(box))).toEqual(Array(32).fill([512, 128]))
    expect(seen.at(-1)).toEqual({ done: 512, total: 512, bytes: 2 * plain.data.byteLength, absent: 0 })
    const other = async () =>
      new DiskArray(new CountingSource({ ...plain, dtype: 'int32', data: new Int32Array(plain.data.length) }, target.chunks))
    await expect(new DiskArray(source).rechunkTo(new DiskArray(target), { ...options, scratch: other })).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      message: expect.stringContaining('scratch must make a writable array of float32'),
    })
  })

  test('refuses other shapes and types, and what takes no writes', async () => {
    const { array, reads } = counted([4])
    await expect(array.rechunkTo(counted([5]).array)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(array.rechunkTo(counted([4], [4], { dtype: 'int8' }).array as never)).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
    })
    await expect(array.rechunkTo(counted([4]).array.pad(0))).rejects.toMatchObject({ tag: 'ReadOnlyError' })
    await expect(array.rechunkTo(counted([4]).array, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow(
      'enough',
    )
    expect(reads).toEqual([])
  })
})
