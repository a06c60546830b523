import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { stridesOf } from '../../src/core/shape.ts'
import type { Tensor } from '../../src/core/tensor.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { slice } from '../../src/grid/slice.ts'
import { dtypes, grids, numbered, selections, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { plainGet, type Selector, touched } from '../support/oracle.ts'

const cases = shapes.chain((shape) =>
  fc.record({ shape: fc.constant(shape), dtype: dtypes, grid: grids(shape), selection: selections(shape), steps: fc.boolean() }),
)

/** Returns a result as a tensor. A scalar becomes a tensor without axes. */
const asTensor = (result: unknown): Pick<Tensor, 'data' | 'shape' | 'stride' | 'offset'> =>
  typeof result === 'object' && result !== null && 'data' in result
    ? (result as Tensor)
    : { data: [typeof result === 'boolean' ? Number(result) : result] as never, shape: [], stride: [], offset: 0 }

const expectedReads = (selection: readonly Selector[], grid: ChunkGrid, steps: boolean): number =>
  grid.axes.reduce((reads, { length, chunkLength, offset }, axis) => {
    const { chunks, runs } = touched(selection[axis] ?? null, length, chunkLength, offset)
    return reads * (chunks === 0 ? 0 : steps ? 1 : runs)
  }, 1)

describe('get', () => {
  test('equals the oracle and reads no more blocks than it must', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, dtype, grid, selection, steps }) => {
        const plain = numbered(dtype, shape)
        const source = new CountingSource(plain, grid, { steps })
        const expected = plainGet(plain, selection)
        const result = asTensor(await new DiskArray(source).get(selection))
        expect(result.shape).toEqual(expected.shape)
        expect([...result.data]).toEqual([...expected.data])
        expect(result.stride).toEqual(stridesOf(expected.shape))
        expect(result.offset).toBe(0)
        expect(source.reads.length).toBe(expectedReads(selection, grid, steps))
      }),
      { numRuns: runs(1500) },
    )
  })

  test('the plan says beforehand what is read', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, dtype, grid, selection, steps }) => {
        const source = new CountingSource(numbered(dtype, shape), grid, { steps })
        const array = new DiskArray(source)
        const plan = await array.plan(selection)
        const chunks = grid.axes.map(
          (axis, i) => touched(selection[i] ?? null, axis.length, axis.chunkLength, axis.offset).chunks,
        )
        expect(plan.chunks).toBe(chunks.reduce((a, b) => a * b, 1))
        await array.get(selection)
        expect(source.reads).toEqual(plan.transfers.map(({ box }) => box))
      }),
      { numRuns: runs(300) },
    )
  })

  test('writes into a given tensor, through its strides', async () => {
    const plain = numbered('int32', [4, 5])
    const array = new DiskArray(new CountingSource(plain, ChunkGrid.regular([4, 5], [2, 2])))
    const data = new Int32Array(40).fill(-1)
    const out = { data, shape: [4, 2], stride: [10, 2], offset: 1 }
    expect(await array.get([null, slice(null, null, 3)], { out })).toBe(out)
    const expected = new Int32Array(40).fill(-1)
    for (let y = 0; y < 4; y++) for (let x = 0; x < 2; x++) expected[1 + 10 * y + 2 * x] = 5 * y + 3 * x
    expect(data).toEqual(expected)
    await expect(array.get([0], { out })).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      details: { actual: [4, 2], expected: [5] },
    })
  })

  test('a source without a grid gets one', async () => {
    const plain = numbered('float64', [3, 4])
    const { shape, dtype } = plain
    const source = new CountingSource(plain, ChunkGrid.regular(shape, shape))
    const readBlock = source.readBlock.bind(source)
    expect((await new DiskArray({ dtype, shape, readBlock }).get([1, null])).data).toEqual(
      Float64Array.of(4.25, 5.25, 6.25, 7.25),
    )
    expect(new DiskArray({ dtype, shape, readBlock, chunks: [2, 3] }).chunks.counts).toEqual([2, 2])
    expect(() => new DiskArray({ dtype, shape, readBlock, chunks: [2] })).toThrow(/chunk shape \[2\] has 1 axes/)
    expect(source.reads.length).toBe(1)
  })

  test('an aborted signal stops before the next read', async () => {
    const source = new CountingSource(numbered('uint8', [9]), ChunkGrid.regular([9], [1]))
    await expect(new DiskArray(source).get(null, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
    expect(source.reads).toEqual([])
  })

  test.each<[string, Selector[], object]>([
    ['an index beyond the end', [4], { axis: 0, actual: 4, expected: 4 }],
    ['an index before the start', [0, -6], { axis: 1, actual: -6, expected: 5 }],
    ['a fractional index', [1.5], { axis: 0, actual: 1.5 }],
    ['NaN', [null, Number.NaN], { axis: 1, actual: Number.NaN }],
    ['a fractional slice bound', [slice(0, 2.5)], { axis: 0, actual: 2.5 }],
    ['a NaN slice start', [slice(Number.NaN, 2)], { axis: 0, actual: Number.NaN }],
    ['a slice step of 0', [slice(0, 2, 0)], { axis: 0, actual: 0 }],
    ['too many selectors', [0, 0, 0], { actual: 3, expected: 2 }],
    ['something else', ['1' as never], { axis: 0, actual: '1' }],
  ])('refuses %s before reading', async (_, selection, details) => {
    const source = new CountingSource(numbered('uint8', [4, 5]), ChunkGrid.regular([4, 5], [2, 2]))
    const error = await new DiskArray(source).get(selection).catch((reason: unknown) => reason)
    expect(isHyperslabError(error, 'InvalidSelectionError')).toBe(true)
    expect(error).toMatchObject({
      details: { ...details, file: 'counting', array: 'plain' },
      message: expect.stringContaining("counting: array 'plain': "),
    })
    expect(source.reads).toEqual([])
  })

  test('printing reads nothing', async () => {
    const source = new CountingSource(numbered('float32', [4, 5]), ChunkGrid.regular([4, 5], [2, 3]), {
      dimensionNames: ['y', 'x'],
    })
    expect(String(new DiskArray(source))).toBe("DiskArray { 'plain', float32 [4, 5] (y, x), chunks [2, 3] }")
    const { inspect } = await import('node:util')
    expect(inspect([new DiskArray(source)])).toBe(`[ ${new DiskArray(source)} ]`)
    expect(source.reads).toEqual([])
  })
})
