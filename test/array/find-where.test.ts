import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { findWhere } from '../../src/array/find-where.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { elements, grids, numbered, numericDTypes, plains, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import type { Plain } from '../support/oracle.ts'

const cases = shapes.chain((shape) =>
  numericDTypes.chain((dtype) =>
    fc.record({
      plain: plains(dtype, shape) as fc.Arbitrary<Plain>,
      grid: grids(shape),
      ends: fc.tuple(elements(dtype) as fc.Arbitrary<number | bigint>, elements(dtype) as fc.Arbitrary<number | bigint>),
    }),
  ),
)

describe('where of any source', () => {
  test('finds what comparing finds, in order, reading each chunk once', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ plain, grid, ends }) => {
        fc.pre(!ends.some((end) => Number.isNaN(end)))
        const [min, max] = ends[0] < ends[1] ? ends : [ends[1], ends[0]]
        const source = new CountingSource(plain, grid)
        const query = findWhere(new DiskArray(source), { min, max })
        expect(source.reads.length).toBe(0)
        const { positions, values, complete } = await query.all()
        const data = plain.data as ArrayLike<number | bigint>
        const expected = Array.from(data).flatMap((value, at) => (value >= min && value <= max ? [at] : []))
        expect([...positions].sort((a, b) => a - b)).toEqual(expected)
        expect(Array.from(positions, (at) => data[at])).toEqual(Array.from(values as ArrayLike<number>))
        expect(complete).toBe(true)
        expect(source.reads.length).toBe(grid.count)
        expect(await query.count()).toBe(expected.length)
      }),
      { numRuns: runs(300) },
    )
  })

  test('ends are of any kind of number; those of float32 are rounded to it', async () => {
    const find = async (plain: Plain, range: object): Promise<number[]> => {
      const array = new DiskArray(new CountingSource(plain, ChunkGrid.regular(plain.shape, [2])))
      return [...(await findWhere(array, range).all()).positions]
    }
    const wide = { dtype: 'int64', shape: [4], data: BigInt64Array.of(-(2n ** 63n), -1n, 2n, 2n ** 63n - 1n) } as const
    expect(await find(wide, {})).toEqual([0, 1, 2, 3])
    expect(await find(wide, { min: -1.5, max: 2.5 })).toEqual([1, 2])
    expect(await find(wide, { min: -0.5, max: Infinity })).toEqual([2, 3])
    expect(await find(wide, { min: -Infinity, max: 1n })).toEqual([0, 1])
    expect(await find(wide, { min: Infinity })).toEqual([])
    const small = { dtype: 'float32', shape: [3], data: Float32Array.of(0.1, Number.NaN, 0.2) } as const
    expect(await find(small, { min: 0.1, max: 0.1 })).toEqual([0])
    expect(await find(small, {})).toEqual([0, 2])
    expect(await find(small, { min: 0.2, max: 0.1 })).toEqual([])
    const bools = { dtype: 'bool', shape: [3], data: Uint8Array.of(1, 0, 1) } as const
    expect(await find(bools, { min: true })).toEqual([0, 2])
    expect(await find({ dtype: 'uint8', shape: [3], data: Uint8Array.of(1, 2, 3) }, { min: 1.5, max: 2n })).toEqual([1])
  })

  test('of nothing there is nothing to read', async () => {
    const source = new CountingSource(numbered('int16', [6]), ChunkGrid.regular([6], [2]))
    expect(await findWhere(new DiskArray(source), { min: 2, max: 1 }).count()).toBe(0)
    expect(source.reads).toEqual([])
  })
})
