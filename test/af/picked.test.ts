import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { allocate, type DType, isBigInt } from '../../src/core/dtype.ts'
import { sizeOf, stridesOf } from '../../src/core/shape.ts'
import { copyTensor, type Tensor, tensorOf } from '../../src/core/tensor.ts'
import { points } from '../../src/grid/selectors.ts'
import { create, createPool, MemoryStore, open } from '../../src/runtime/index.ts'
import { anySelections, grids, numbered, numericDTypes, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { type Plain, pick, plainGet, plainSet } from '../support/oracle.ts'

const pool = createPool({ size: 1 })
afterAll(() => pool.close())

/** Memory layout of the target. */
type Layout = 'fresh' | 'backwards' | 'transposed' | 'apart'

const cases = shapes.chain((shape) =>
  grids(shape, false).chain((grid) =>
    fc.record({
      grid: fc.constant(grid),
      dtype: fc.oneof({ weight: 9, arbitrary: numericDTypes }, { weight: 1, arbitrary: fc.constant<DType>('string') }),
      selection: anySelections(grid),
      /** Written part of the array: a range of each axis. */
      filled: fc.oneof(
        fc.constant(shape.map((length) => [0, length])),
        fc.tuple(...shape.map((length) => fc.tuple(fc.nat(length), fc.nat(length)))),
      ),
      flushed: fc.boolean(),
      codec: fc.constantFrom('lz4', 'lz4', 'none'),
      blockBytes: fc.constantFrom(1, 64, 1 << 20),
      pooled: fc.boolean(),
      strategy: fc.constantFrom(undefined, 'chunk' as const, 'ranges' as const, 'box' as const),
      layout: fc.constantFrom<Layout>('fresh', 'backwards', 'transposed', 'apart'),
    }),
  ),
)

/** Chunks that hold some of the elements at these flat positions. */
const chunksAt = (flat: readonly number[], shape: readonly number[], chunkShape: readonly number[]): Set<string> =>
  new Set(
    flat.map((at) =>
      stridesOf(shape)
        .map((stride, axis) => Math.floor((Math.floor(at / stride) % shape[axis]!) / chunkShape[axis]!))
        .join(),
    ),
  )

const untouched = (dtype: DType): unknown => (dtype === 'string' ? 'other' : isBigInt(dtype) ? 7n : 7)

/** A target full of something else, with twice the memory it needs. */
function targetOf(dtype: DType, shape: readonly number[], layout: Layout): Tensor | undefined {
  if (layout === 'fresh') return undefined
  const [size, dense] = [sizeOf(shape), stridesOf(shape)]
  const data = allocate(dtype, 2 * size).fill(untouched(dtype) as never)
  if (layout === 'apart') return { data, shape: [...shape], stride: dense.map((step) => 2 * step), offset: 0 }
  if (layout === 'backwards')
    return { data, shape: [...shape], stride: dense.map((step) => -step), offset: Math.max(0, size - 1) }
  return { data, shape: [...shape], stride: stridesOf([...shape].reverse()).reverse(), offset: size }
}

const elementsOf = (result: unknown): unknown[] =>
  typeof result === 'object' && result !== null && 'data' in result
    ? [...(result as { data: Iterable<unknown> }).data]
    : [typeof result === 'boolean' ? Number(result) : result]

describe('selections of every kind from a container', () => {
  test('read what the oracle reads, wherever chunks are, and each block once', async () => {
    await fc.assert(
      fc.asyncProperty(
        cases,
        async ({ grid, dtype, selection, filled, flushed, codec, blockBytes, pooled, strategy, layout }) => {
          const { shape, chunkShape } = grid
          const where = { store: new MemoryStore(), path: 'a.af' }
          const box = (filled as number[][]).map(([a, b]) => ({ start: Math.min(a!, b!), stop: Math.max(a!, b!), step: 1 }))
          const values = plainGet(numbered(dtype, shape), box).data
          const plain: Plain = { dtype, shape, data: allocate(dtype, numbered(dtype, shape).data.length) }
          plainSet(plain, box, values)
          await using writer = await create(where, { codec, blockBytes })
          const written = writer.createArray('x', { dtype, shape, chunks: chunkShape })
          if (values.length > 0) await written.set(box as never, values as never)
          if (flushed) await writer.flush()
          const file = flushed ? await open(where, { cacheBytes: 0, ...(pooled && { pool }) }) : writer
          const array = file.array('x', dtype)
          const expected = plainGet(plain, selection, grid)
          const before = file.readCost.blocks
          const out = targetOf(dtype, expected.shape, layout)
          const result = await array.get(selection as never, { strategy, ...(out && { out }) })
          const dense = out === undefined ? result : tensorOf(dtype, expected.shape)
          if (out !== undefined) {
            copyTensor(out, dense as Tensor)
            expect([...out.data].filter((value) => value === untouched(dtype)).length).toBeGreaterThanOrEqual(out.data.length / 2)
          }
          expect(elementsOf(dense)).toEqual([...expected.data])
          if (!flushed) return
          const cost = file.readCost.blocks - before
          const requests = (await array.plan(selection as never, { strategy })).requests!
          await file.close()
          const { flat } = pick(shape, selection, grid)
          // For uncompressed blocks, a read takes only some of the chunks.
          const most = codec === 'none' ? chunksAt(flat, shape, chunkShape).size : requests
          expect(cost).toBeLessThanOrEqual(most)
          if (codec === 'lz4' && strategy !== 'box') expect(cost).toBe(requests)
        },
      ),
      { numRuns: runs(600) },
    )
  })

  test('chunks of a block that are no box of the grid', async () => {
    const shape = [6, 8]
    const plain = numbered('uint8', shape)
    const selections = [[[5, 0, 0, 3], null], [null, [7, 1, 2, 0]], [[4, 1], [6, 0, 3]], [[true, true, true, false, true, true], null]] // biome-ignore format: one line
    for (let blockBytes = 1; blockBytes <= 48; blockBytes++) {
      const where = { store: new MemoryStore(), path: 'a.af' }
      await using writer = await create(where, { blockBytes })
      await writer.createArray('x', { dtype: 'uint8', shape, chunks: [1, 3] }).set(null, plain.data)
      await writer.flush()
      await using file = await open(where)
      for (const selection of selections) {
        const { data } = (await file.array('x', 'uint8').get(selection)) as Tensor
        expect([...data]).toEqual([...plainGet(plain, selection).data])
      }
    }
  })

  test('what is larger than a piece of kernel memory', async () => {
    const where = { store: new MemoryStore(), path: 'a.af' }
    await using writer = await create(where)
    await writer.createArray('x', { dtype: 'float64', shape: [4, 8], chunks: [2, 4] }).set(null, numbered('float64', [4, 8]).data)
    await writer.flush()
    await using file = await open(where, { cacheBytes: 0 })
    const columns = Uint32Array.from({ length: 600_000 }, (_, i) => (i * 7 + (i >> 3)) % 8)
    const { data } = await file.array('x', 'float64').get([[3, 0, 2], columns])
    const wrong = data.findIndex((value, i) => value !== [3, 0, 2][Math.floor(i / 600_000)]! * 8 + columns[i % 600_000]! + 0.25)
    expect(wrong).toBe(-1)
    expect(file.readCost.blocks).toBe(1)
  })
})

test('points that lie further apart than 32 bits count', async () => {
  await using file = await create({ store: new MemoryStore(), path: 'a.af' })
  const shape = [100_000, 100_000]
  const array = file.createArray('x', { dtype: 'int8', shape, chunks: [1000, 1000] })
  const picked = points([
    [99_999, 99_999],
    [0, 0],
    [50_000, 3],
    [5, 7],
  ])
  await array.set([picked], Int8Array.of(1, 2, 3, 4))
  await file.flush()
  for (const options of [{}, { strategy: 'box' as const }, { density: 0 }])
    expect(elementsOf(await array.get([picked], options))).toEqual([1, 2, 3, 4])
})

test('the same places along two axes are not taken for each other', async () => {
  await using file = await create({ store: new MemoryStore(), path: 'a.af' })
  const array = file.createArray('x', { dtype: 'uint8', shape: [5, 5], chunks: [2, 3] })
  await array.set(null, numbered('uint8', [5, 5]).data)
  const ranges = [
    { start: 0, stop: 3, step: 1 },
    { start: 1, stop: 5, step: 2 },
  ]
  const outer = { start: 0, step: 1, length: 2 }
  const inner = [
    { start: 0, step: 2, length: 2 },
    { start: 0, step: 1, length: 2 },
  ]
  const transfer = { box: ranges, shape: [3, 2], axes: [1, 1], inner, outer: [outer, outer], covered: false, chunks: 4 }
  const out = tensorOf('uint8', [2, 2])
  await array.source.bulk!.gather!([transfer], out)
  expect([...out.data]).toEqual([1, 3, 11, 13])
})
