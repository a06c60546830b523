import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { coarsen, slidingWindows } from '../../src/array/reductions/windows.ts'
import { allocate, type NumericDType } from '../../src/core/dtype.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { grids, numbered, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { type Plain, plainGet } from '../support/oracle.ts'

const KINDS = ['sum', 'mean', 'prod', 'min', 'max', 'count', 'countNonzero', 'variance', 'std'] as const
type Kind = (typeof KINDS)[number]

const cases = shapes
  .filter((shape) => shape.length <= 4)
  .chain((shape) =>
    fc.record({
      plain: fc.tuple(fc.constantFrom<NumericDType>('int16', 'float32', 'float64', 'uint64'), fc.nat(9)).map(([dtype, seed]) => {
        const data = allocate(
          dtype,
          shape.reduce((a, b) => a * b, 1),
        )
        for (let i = 0; i < data.length; i++) {
          const value = (i * 7 + seed) % 13
          data[i] = (dtype === 'uint64' ? BigInt(value) : value) as never
        }
        return { dtype, shape, data } as Plain<NumericDType>
      }),
      grid: grids(shape),
      sizes: fc.tuple(...shape.map((length) => fc.integer({ min: 1, max: Math.max(1, length) }))),
      kind: fc.constantFrom<Kind>(...KINDS),
      box: fc.tuple(
        ...shape.map(() => fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))),
      ),
    }),
  )

/** Every window reduced alone. */
async function expected(
  plain: Plain,
  sizes: readonly number[],
  steps: readonly number[],
  kind: Kind,
): Promise<{ shape: number[]; data: unknown[] }> {
  const shape = plain.shape.map((length, axis) =>
    Math.max(0, steps[axis] === 1 ? length - sizes[axis]! + 1 : Math.ceil(length / steps[axis]!)),
  )
  const data: unknown[] = []
  const size = shape.reduce((a, b) => a * b, 1)
  for (let flat = 0; flat < size; flat++) {
    const selection = new Array(shape.length)
    for (let axis = shape.length - 1, rest = flat; axis >= 0; rest = Math.floor(rest / shape[axis]!), axis--) {
      const start = (rest % shape[axis]!) * steps[axis]!
      selection[axis] = { start, stop: start + sizes[axis]!, step: 1 }
    }
    const window = plainGet(plain, selection)
    const alone = new DiskArray(new CountingSource(window, ChunkGrid.regular(window.shape, window.shape)))
    data.push(await (alone[kind] as () => Promise<unknown>).call(alone))
  }
  return { shape, data }
}

describe.each(['coarsen', 'slidingWindows'] as const)('%s', (name) => {
  const make = { coarsen, slidingWindows }[name]

  test('equals windows reduced one by one, wherever it is read', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ plain, grid, sizes, kind, box }) => {
        const source = new CountingSource(plain as Plain, grid)
        const steps = name === 'coarsen' ? sizes : sizes.map(() => 1)
        const lengths = Object.fromEntries(sizes.map((size, axis) => [axis, size]))
        const all = await expected(plain as Plain, sizes, steps, kind).catch((error: unknown) => {
          if (!isHyperslabError(error, 'OverflowError')) throw error
        })
        // Products of many integers, in windows that no 0 is in.
        if (all === undefined) return
        if (name === 'slidingWindows' && sizes.some((size, axis) => size > Math.max(1, plain.shape[axis]!))) return
        const result = make(new DiskArray(source) as DiskArray, lengths, kind)
        expect(source.reads).toEqual([])
        expect(result.shape).toEqual(all.shape)
        const selection = box.map(([a, b], axis) => {
          const [start, stop] = [a, b].map((x) => Math.round(x * all.shape[axis]!)).sort((x, y) => x - y)
          return { start: start!, stop: stop!, step: 1 }
        })
        const part = plainGet({ dtype: 'string', shape: all.shape, data: all.data as never }, selection)
        const found = selection.length === 0 ? { data: [await result.get([])], shape: [] } : await result.get(selection)
        expect(found.shape).toEqual(part.shape)
        Array.from(found.data as ArrayLike<number | bigint>).forEach((value, i) => {
          expect(Number(value)).toBeCloseTo(Number(part.data[i]), 6)
        })
      }),
      { numRuns: runs(200) },
    )
  })

  test('invalid lengths', () => {
    const array = new DiskArray(new CountingSource(numbered('int8', [3]), ChunkGrid.regular([3], [2])))
    for (const lengths of [{ 0: 0 }, { 0: 1.5 }, { 1: 1 }, { lat: 2 }, { 0: 2, '-1': 2 }])
      expect(() => make(array, lengths as never, 'sum')).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
    const strings = new DiskArray(new CountingSource(numbered('string', [3]), ChunkGrid.regular([3], [2])))
    expect(() => make(strings, { 0: 2 }, 'mean')).toThrow(expect.objectContaining({ tag: 'UnsupportedError' }))
  })
})

test('a coarsened array reads each chunk once, by its chunks', async () => {
  const source = new CountingSource(numbered('float64', [2048, 2048]), ChunkGrid.regular([2048, 2048], [512, 1024]), {
    dimensionNames: ['lat', 'lon'],
  })
  const half = coarsen(new DiskArray(source), { lat: 2, lon: 4 }, 'mean')
  expect([half.shape, half.chunks.chunkShape, half.dtype, half.dimensionNames]).toEqual([
    [1024, 512],
    [256, 256],
    'float64',
    ['lat', 'lon'],
  ])
  await half.toTensor()
  const volume = source.reads.reduce((all, box) => all + box.reduce((n, { start, stop }) => n * (stop - start), 1), 0)
  expect(volume).toBe(2048 * 2048)
  expect(source.reads.length).toBeLessThanOrEqual(8)
})

test('a window that does not fit', () => {
  const array = new DiskArray(new CountingSource(numbered('int8', [3]), ChunkGrid.regular([3], [2])))
  expect(() => slidingWindows(array, { 0: 4 }, 'sum')).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
})
