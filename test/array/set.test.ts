import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { allocate } from '../../src/core/dtype.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { slice } from '../../src/grid/slice.ts'
import { dtypes, elements, grids, numbered, selections, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { pick, plainSet, touched } from '../support/oracle.ts'

const cases = shapes.chain((shape) =>
  dtypes.chain((dtype) =>
    fc.record({
      shape: fc.constant(shape),
      dtype: fc.constant(dtype),
      grid: grids(shape),
      selection: selections(shape),
      steps: fc.boolean(),
      scalar: fc.boolean(),
      values: fc.array(elements(dtype), { minLength: 1, maxLength: 40 }),
    }),
  ),
)

describe('set', () => {
  test('equals the oracle and reads only where something between the positions must be kept', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, dtype, grid, selection, steps, scalar, values }) => {
        const [stored, expected] = [numbered(dtype, shape), numbered(dtype, shape)]
        const source = new CountingSource(stored, grid, { steps })
        const picked = pick(shape, selection)
        const given = picked.flat.map((_, i) => values[(scalar ? 0 : i) % values.length]!)
        plainSet(expected, selection, given)
        const plainValue = dtype === 'bool' ? given[0] === 1 : given[0]
        await new DiskArray(source).set(selection, (scalar && given.length > 0 ? plainValue : given) as never)
        expect([...stored.data]).toEqual([...expected.data])
        const perAxis = grid.axes.map((axis, i) => touched(selection[i] ?? null, axis.length, axis.chunkLength, axis.offset))
        const blocks = perAxis.reduce((n, { chunks, runs }) => n * (chunks === 0 ? 0 : steps ? 1 : runs), 1)
        expect(source.writes.length).toBe(blocks)
        const readsAtMost = steps ? 0 : blocks
        expect(source.reads.length).toBeLessThanOrEqual(readsAtMost)
      }),
      { numRuns: runs(1000) },
    )
  })

  const arrayOf = (shape: number[]) => {
    const plain = numbered('int16', shape)
    const source = new CountingSource(
      plain,
      ChunkGrid.regular(
        shape,
        shape.map(() => 2),
      ),
    )
    return { plain, source, array: new DiskArray(source) }
  }

  test('a stepped selection keeps what lies between, reading its hull once', async () => {
    const { plain, source, array } = arrayOf([6])
    await array.set([slice(null, null, 2)], [-1, -2, -3])
    expect([...plain.data]).toEqual([-1, 1, -2, 3, -3, 5])
    expect([source.reads.length, source.writes.length]).toEqual([1, 1])
  })

  test('takes strided tensors', async () => {
    const { plain, array } = arrayOf([2, 3])
    await array.set(null, { data: Int16Array.of(0, 1, 2, 3, 4, 5), shape: [2, 3], stride: [1, 2], offset: 0 })
    expect([...plain.data]).toEqual([0, 2, 4, 1, 3, 5])
    await array.set([0, slice(2)], { data: Int16Array.of(9, 8, 7), shape: [2], stride: [-1], offset: 2 })
    expect([...plain.data]).toEqual([7, 8, 4, 1, 3, 5])
  })

  test.each<[string, unknown]>([
    ['another length', [1, 2, 3]],
    ['another shape', { data: new Int16Array(4), shape: [2, 2] }],
    ['a value out of range', [0, 40000]],
    ['a fraction', 1.5],
    ['a string', 'a'],
    ['a bigint', 5n],
    ['strides that leave the buffer', { data: new Int16Array(2), shape: [2], stride: [3], offset: 0 }],
  ])('refuses %s and writes nothing', async (_, values) => {
    const { source, array } = arrayOf([2])
    await expect(array.set(null, values as never)).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      details: { array: 'plain' },
    })
    expect([source.reads, source.writes]).toEqual([[], []])
  })

  test('a source that takes no writes says so', async () => {
    const array = new DiskArray({ dtype: 'uint8', shape: [2], readBlock: () => undefined })
    await expect(array.set(null, 1)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
  })

  test('assign copies chunk by chunk of the target', async () => {
    const from = numbered('float32', [5, 7])
    const to = { ...from, data: allocate('float32', 35) }
    const [source, target] = [
      new CountingSource(from, ChunkGrid.regular([5, 7], [5, 1])),
      new CountingSource(to, ChunkGrid.regular([5, 7], [2, 4])),
    ]
    const seen: number[] = []
    await new DiskArray(target).copyFrom(new DiskArray(source), { onProgress: ({ done, total }) => seen.push(done / total) })
    expect(to.data).toEqual(from.data)
    expect([source.reads.length, target.writes.length, target.reads.length]).toEqual([1, 1, 0])
    expect(seen.at(-1)).toBe(1)
    const other = new DiskArray(new CountingSource(numbered('float64', [5, 7]), source.chunks))
    await expect(new DiskArray(target).copyFrom(other as never)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })
})
