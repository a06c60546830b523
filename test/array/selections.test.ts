import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { generate } from '../../src/array/combine.ts'
import { DiskArray } from '../../src/array/disk-array.ts'
import { stridesOf } from '../../src/core/shape.ts'
import type { Tensor } from '../../src/core/tensor.ts'
import { ChunkGrid, RegularChunks } from '../../src/grid/chunks.ts'
import { linear } from '../../src/grid/linear.ts'
import { projectBox } from '../../src/grid/projection.ts'
import { type Box, boxShape, showBox } from '../../src/grid/range.ts'
import { newAxis, points } from '../../src/grid/selectors.ts'
import { slice } from '../../src/grid/slice.ts'
import { anySelections, dtypes, elements, grids, numbered, shapes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { pick, plainGet, plainSet } from '../support/oracle.ts'

const cases = shapes.chain((shape) =>
  grids(shape).chain((grid) =>
    fc.record({
      grid: fc.constant(grid),
      dtype: dtypes,
      selection: anySelections(grid),
      steps: fc.boolean(),
      strategy: fc.constantFrom(undefined, 'chunk' as const, 'ranges' as const, 'box' as const),
      density: fc.constantFrom(undefined, 0.5, 0),
    }),
  ),
)

const asTensor = (result: unknown): Pick<Tensor, 'data' | 'shape' | 'stride' | 'offset'> =>
  typeof result === 'object' && result !== null && 'data' in result
    ? (result as Tensor)
    : { data: [typeof result === 'boolean' ? Number(result) : result] as never, shape: [], stride: [], offset: 0 }

/** Flat positions of the elements of a box. */
const elementsOf = (box: Box, shape: readonly number[]): number[] =>
  box.reduce<number[]>(
    (all, { start, step }, axis) =>
      all.flatMap((at) => Array.from({ length: boxShape(box)[axis]! }, (_, i) => at * shape[axis]! + start + i * step)),
    [0],
  )

const chunksOf = (box: Box, grid: ChunkGrid): number[] => {
  const numbers: number[] = []
  projectBox(box, grid, (number) => numbers.push(number))
  return numbers
}

/** Chunks that hold some of the elements at these flat positions. */
const touched = (flat: readonly number[], { shape, axes, ...grid }: ChunkGrid): Set<number> =>
  new Set(
    flat.map((position) => {
      const index = stridesOf(shape).map((stride, axis) => axes[axis]!.find(Math.floor(position / stride) % shape[axis]!))
      return index.reduce((number, k, axis) => number * grid.counts[axis]! + k, 0)
    }),
  )

test('a bound that is undefined is open, unless it is the only one', () => {
  const open = slice as (...bounds: unknown[]) => unknown
  expect(open(3, undefined, -1)).toEqual({ start: 3, stop: null, step: -1 })
  expect(open(3, undefined)).toEqual({ start: 3, stop: null, step: null })
  expect(open(undefined, 3, 2)).toEqual({ start: null, stop: 3, step: 2 })
  expect(slice(3)).toEqual({ start: null, stop: 3, step: null })
})

describe('selections of every kind', () => {
  test('read what the oracle reads: no element twice, and of chunks none that is not touched and none twice', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ grid, dtype, selection, steps, strategy, density }) => {
        const plain = numbered(dtype, grid.shape)
        const source = new CountingSource(plain, grid, { steps })
        const array = new DiskArray(source)
        const expected = plainGet(plain, selection, grid)
        const options = { strategy, density }
        const plan = await array.plan(selection, options)
        expect(source.reads).toEqual([])
        const result = asTensor(await array.get(selection, options))
        expect(result.shape).toEqual(expected.shape)
        expect(plan.shape).toEqual(expected.shape)
        expect([...result.data]).toEqual([...expected.data])
        expect([result.stride, result.offset]).toEqual([stridesOf(expected.shape), 0])

        expect(source.reads).toEqual(plan.transfers.map(({ box }) => box))
        const flat = pick(grid.shape, selection, grid).flat
        const read = source.reads.flatMap((box) => elementsOf(box, grid.shape))
        expect(new Set(read).size).toBe(read.length)
        expect(plan.elements).toBe(read.length)
        const starts = source.reads.map((box) => chunksOf(box, grid)[0]!)
        if (strategy !== 'ranges') expect(starts).toEqual([...starts].sort((a, b) => a - b))
        if (flat.length === 0) expect(source.reads).toEqual([])
        if (strategy === 'box' || density !== undefined) return
        const wanted = touched(flat, grid)
        const chunks = source.reads.flatMap((box) => chunksOf(box, grid))
        expect(new Set(chunks)).toEqual(wanted)
        expect(plan.chunks).toBe(chunks.length)
        if (strategy === 'ranges') return
        expect(chunks.length).toBe(wanted.size)
        expect(source.reads.length).toBeLessThanOrEqual(wanted.size)
      }),
      { numRuns: runs(800) },
    )
  })

  const writes = cases.chain((own) =>
    fc.record({
      own: fc.constant(own),
      scalar: fc.boolean(),
      values: fc.array(elements(own.dtype), { minLength: 1, maxLength: 40 }),
      concurrency: fc.constantFrom(undefined, 3),
    }),
  )

  test('write what the oracle writes, the last of duplicates, and read first exactly what has a gap', async () => {
    await fc.assert(
      fc.asyncProperty(
        writes,
        async ({ own: { grid, dtype, selection, steps, strategy, density }, scalar, values, concurrency }) => {
          const [stored, expected] = [numbered(dtype, grid.shape), numbered(dtype, grid.shape)]
          const source = new CountingSource(stored, grid, { steps })
          const { flat } = pick(grid.shape, selection, grid)
          const given = flat.map((_, i) => values[(scalar ? 0 : i) % values.length]!)
          plainSet(expected, selection, given, grid)
          const one = dtype === 'bool' ? given[0] === 1 : given[0]
          await new DiskArray(source).set(selection, (scalar && given.length > 0 ? one : given) as never, {
            strategy,
            density,
            concurrency,
          })
          expect([...stored.data]).toEqual([...expected.data])
          const picked = new Set(flat)
          const gaps = source.writes.filter((box) => elementsOf(box, grid.shape).some((position) => !picked.has(position)))
          expect(source.reads.map(showBox)).toEqual(gaps.map(showBox))
          const written = source.writes.flatMap((box) => elementsOf(box, grid.shape))
          expect(new Set(written).size).toBe(written.length)
          expect(new Set([...written, ...picked]).size).toBe(written.length)
          if (flat.length === 0) expect(source.writes).toEqual([])
        },
      ),
      { numRuns: runs(500) },
    )
  })
})

/** A selection, and another one of the view that it makes. */
const twice = cases.chain(({ grid, dtype, selection, steps }) => {
  const { chunks } = new DiskArray(new CountingSource(numbered(dtype, grid.shape), grid, { steps })).view(selection)
  return fc.record({
    own: fc.constant({ grid, dtype, selection, steps }),
    second: anySelections(chunks),
    third: fc.nat({ max: 2 }),
  })
})

describe('views by selections of every kind', () => {
  test('read what the oracle reads, and views of them too: of chunks none that is not touched and none twice', async () => {
    await fc.assert(
      fc.asyncProperty(twice, async ({ own: { grid, dtype, selection, steps }, second, third }) => {
        const plain = numbered(dtype, grid.shape)
        const source = new CountingSource(plain, grid, { steps })
        const view = new DiskArray(source).view(selection)
        const expected = plainGet(plain, selection, grid)
        expect([view.shape, view.chunks.shape, source.reads]).toEqual([expected.shape, expected.shape, []])
        const result = asTensor(await view.get())
        expect([...result.data]).toEqual([...expected.data])
        const { flat } = pick(grid.shape, selection, grid)
        const read = (): number[] => source.reads.flatMap((box) => chunksOf(box, grid)).sort((a, b) => a - b)
        expect(read()).toEqual([...touched(flat, grid)].sort((a, b) => a - b))

        const blocks: unknown[] = []
        for await (const { box, data } of view.blocks()) {
          const at = elementsOf(box, expected.shape)
          for (const [i, value] of Array.from(data.data as ArrayLike<unknown>).entries()) blocks[at[i]!] = value
        }
        expect(blocks).toEqual([...expected.data])

        const chunks = view.chunks
        const inner = plainGet(expected, second, chunks)
        source.reads.length = 0
        const nested = [view.view(second), view.transpose().transpose().view(second), view.flip().flip().view(second)][third]!
        const found = asTensor(await nested.get())
        expect([nested.shape, [...found.data]]).toEqual([inner.shape, [...inner.data]])
        const places = pick(expected.shape, second, chunks).flat.map((position) => flat[position]!)
        const own = [...touched(places, grid)].sort((a, b) => a - b)
        // New axes keep a view of its own, through which lists are read chunk by chunk.
        if (selection.includes(newAxis)) return
        if (third === 0) expect(read()).toEqual(own)
        source.reads.length = 0
        expect([...asTensor(await view.get(second)).data]).toEqual([...inner.data])
        expect(read()).toEqual(own)
      }),
      { numRuns: runs(800) },
    )
  })

  const writes = twice.chain(({ own, second }) =>
    fc.record({
      own: fc.constant(own),
      second: fc.constant(second),
      third: fc.nat({ max: 3 }),
      values: fc.array(elements(own.dtype), { minLength: 1, maxLength: 40 }),
    }),
  )

  test('write what the oracle writes, and views of them too, unless an element occurs twice', async () => {
    await fc.assert(
      fc.asyncProperty(writes, async ({ own: { grid, dtype, selection, steps }, second, third, values }) => {
        const [stored, expected] = [numbered(dtype, grid.shape), numbered(dtype, grid.shape)]
        const before = [...stored.data]
        const view = new DiskArray(new CountingSource(stored, grid, { steps })).view(selection)
        const { flat, shape } = pick(grid.shape, selection, grid)
        const inner = pick(shape, second, view.chunks).flat.map((position) => flat[position]!)
        const given = inner.map((_, i) => values[i % values.length]!)
        const writing = [
          () => view.set(second, given as never),
          () => view.view(second).set(null, given as never),
          () =>
            view
              .transpose()
              .transpose()
              .view(second)
              .set(null, given as never),
          () =>
            view
              .flip()
              .flip()
              .view(second)
              .set(null, given as never),
        ][third]!
        const written = await writing().then(
          () => true,
          (error: unknown) => {
            expect(error).toMatchObject({ tag: 'ReadOnlyError' })
            return false
          },
        )
        const isDistinct = [flat, third > 0 ? inner : []].every((list) => new Set(list).size === list.length)
        if (inner.length > 0 || written) expect(written || !isDistinct).toBe(true)
        if (!written) expect([...stored.data]).toEqual(before)
        else {
          const data = expected.data as unknown[]
          inner.forEach((place, i) => {
            data[place] = dtype === 'bool' ? Number(given[i]) : given[i]
          })
          expect([...stored.data]).toEqual([...expected.data])
        }
      }),
      { numRuns: runs(500) },
    )
  })

  test('a view that has an element twice names it when it is written to', async () => {
    const array = new DiskArray(
      new CountingSource(numbered('int32', [4, 5]), new ChunkGrid([new RegularChunks(2, 4), new RegularChunks(5, 5)])),
    )
    const twice = array.view([points([[1, 2], [0, 0], [1, 2]])]) // biome-ignore format: one line
    expect([...asTensor(await twice.get()).data]).toEqual([7, 0, 7])
    await expect(twice.set([0], 1)).rejects.toMatchObject({
      tag: 'ReadOnlyError',
      message: expect.stringContaining('the element at 1, 2 of axes 0 to 1 twice'),
    })
  })

  test('a view has an element twice if the view below has it twice', async () => {
    const stored = numbered('int32', [2, 2])
    const array = new DiskArray(new CountingSource(stored, new ChunkGrid([new RegularChunks(1, 2), new RegularChunks(2, 2)])))
    const mask = { data: Uint8Array.of(1, 1, 0, 0), shape: [2, 2] }
    const listed = array.view([null, [0, 0]])
    const nested = array.view([[[0, 0], [1, 1]]]) // biome-ignore format: one line
    for (const view of [
      listed.view([points([[0, 0], [0, 1]])]), // biome-ignore format: one line
      listed.view([mask]),
      listed.view([mask]).view([null]),
      nested.view([0]),
      nested.view([0]).view([[1, 0]]),
      nested.view([0]).rechunk([1, 1]),
    ] as const)
      await expect(view.set(null, 5)).rejects.toMatchObject({ tag: 'ReadOnlyError', message: expect.stringContaining('twice') })
    expect([...stored.data]).toEqual([0, 1, 2, 3])
    // A view of distinct elements is written.
    await listed.view([points([[0, 0], [1, 1]])]).set(null, [7, 8]) // biome-ignore format: one line
    expect([...stored.data]).toEqual([7, 1, 8, 3])
  })

  test('a list or points of a view read the chunks of the base that have them, and none between', async () => {
    const grid = new ChunkGrid([new RegularChunks(2, 10), new RegularChunks(2, 2)])
    const source = new CountingSource(numbered('int32', [10, 2]), grid)
    const array = new DiskArray(source)
    const rows = [0, 2, 4, 6, 8]
    for (const [view, selection] of [
      [array.view([points(rows.map((row) => [row, 1]))]), [[0, 1, 3]]],
      [array.view([rows]), [[0, 1, 3], 1]],
      [array.view([rows]), [points([[0, 1], [1, 1], [3, 1]])]], // biome-ignore format: one line
      [array.view([rows]).view([[4, 3, 2, 1, 0]]), [[4, 3, 1], 1]],
    ] as const) {
      source.reads.length = 0
      expect([...asTensor(await view.get(selection as never)).data]).toEqual([1, 5, 13])
      expect(source.reads.flatMap((box) => chunksOf(box, grid))).toEqual([0, 1, 3])
    }
  })

  test('points beyond 2^20 elements make several chunks, cut between chunks of the base', async () => {
    // Each point has 2^17 elements, so eight make a chunk, and three a run within a chunk of the base.
    const array = generate((i) => i, { dtype: 'int8', shape: [30, 1, 2 ** 17], chunks: [6, 1, 2 ** 17] })
    const list = Array.from({ length: 15 }, (_, i) => [2 * i, 0])
    const view = array.view([points(list)])
    const [axis] = view.chunks.axes
    expect(Array.from({ length: axis!.count }, (_, k) => axis!.stop(k))).toEqual([6, 12, 15])
    expect(await view.sum()).toBe(2 ** 17 * list.reduce((sum, [i]) => sum + i!, 0))
  })
})

/** Arrays, and positions in C order: one, lists, masks and slices. */
const linearCases = shapes
  .filter((shape) => shape.length > 0)
  .chain((shape) => {
    const size = shape.reduce((a, b) => a * b, 1)
    const bound = fc.option(fc.integer({ min: -size - 2, max: size + 2 }))
    const positions = fc.oneof(
      fc.tuple(bound, bound, fc.constantFrom(null, 1, 2, -1, -3)).map(([a, b, step]) => slice(a, b, step)),
      fc.array(fc.boolean(), { minLength: size, maxLength: size }),
      ...(size === 0 ? [] : [fc.integer({ min: -size, max: size - 1 }), fc.array(fc.integer({ min: -size, max: size - 1 }))]),
    )
    return fc.record({ grid: grids(shape), positions, dtype: dtypes })
  })

test('positions in C order select what they select of the elements as one axis, for reading, writing and in views', async () => {
  await fc.assert(
    fc.asyncProperty(linearCases, async ({ grid, positions, dtype }) => {
      const plain = numbered(dtype, grid.shape)
      const source = new CountingSource(plain, grid)
      const array = new DiskArray(source)
      const flat = { ...plain, shape: [plain.data.length] }
      // Lists without elements are masks of none, if the array has none.
      const expected = plainGet(flat, [positions as never])
      const selection = linear(positions as never)
      const found = asTensor(await array.get(selection))
      expect([found.shape, [...found.data]]).toEqual([expected.shape, [...expected.data]])
      const view = array.view(selection)
      expect([view.shape, [...asTensor(await view.get()).data]]).toEqual([expected.shape, [...expected.data]])
      const [first] = plain.data
      if (first === undefined) return
      const written: unknown[] = [...plain.data]
      for (const place of pick(flat.shape, [positions as never]).flat) written[place] = first
      await array.set(selection, (dtype === 'bool' ? first === 1 : first) as never)
      expect([...plain.data]).toEqual(written)
    }),
    { numRuns: runs(500) },
  )
})

test('what is no position in C order is refused', async () => {
  const array = generate((i, j) => 10 * i + j, { dtype: 'int32', shape: [4, 6] })
  const refused = (message: string) => ({ tag: 'InvalidSelectionError', message: expect.stringContaining(message) })
  await expect(array.get(linear(24))).rejects.toMatchObject(refused('24'))
  await expect(array.get(linear([-25]))).rejects.toMatchObject(refused('-25'))
  await expect(array.get(linear(points([[0, 1]]) as never))).rejects.toMatchObject(refused('linear takes'))
  await expect(array.get(linear('...' as never))).rejects.toMatchObject(refused('linear takes'))
  await expect(array.get([linear(1)] as never)).rejects.toMatchObject(refused('axis 0'))
  const large = generate(() => 0, { dtype: 'int8', shape: [2 ** 13, 2 ** 13] })
  await expect(large.get(linear(null))).rejects.toMatchObject({ tag: 'TooLargeError' })
})
