import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { ArrayFile } from '../../../src/af/file.ts'
import { mosaic } from '../../../src/array/combine.ts'
import { DiskArray } from '../../../src/array/disk-array.ts'
import { slice } from '../../../src/grid/slice.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { runs } from '../../support/budget.ts'

/** An array of a container, of which some chunks are missing. */
async function stored() {
  const file = await ArrayFile.create(new MemoryStore(), 'a.af')
  const array = file.createArray('x', { dtype: 'int64', shape: [6, 7, 40], chunks: [2, 3, 20], fillValue: -1n })
  const values = BigInt64Array.from({ length: 4 * 7 * 40 }, (_, i) => BigInt((i * 7919) % 1000) * 10_000_000_000_000n - 77n)
  await array.set([slice(0, 4)], values)
  await file.flush()
  return array as unknown as DiskArray<'int64'>
}

const elements = (result: unknown): unknown =>
  typeof result === 'object'
    ? { shape: (result as { shape: unknown }).shape, data: [...(result as { data: BigInt64Array }).data] }
    : result

test('views, permutations and reshapes of an array of a container are reduced where its blocks are decoded', async () => {
  const array = await stored()
  const selector = (length: number) =>
    fc.oneof(
      fc.constant(null),
      fc.nat(length - 1),
      fc
        .tuple(fc.nat(length), fc.nat(length), fc.integer({ min: 1, max: 3 }))
        .map(([a, b, step]) => slice(Math.min(a, b), Math.max(a, b) + 1, step)),
    )
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(...array.shape.map(selector)),
      fc.nat(5),
      fc.nat(7),
      fc.boolean(),
      fc.constantFrom('sum' as const, 'min' as const, 'max' as const),
      async (selection, turn, reduced, expand, kind) => {
        const cut = array.view(selection)
        const rank = cut.shape.length
        const order = [...cut.shape.keys()].sort((a, b) => ((a + turn) % 3) - ((b + turn) % 3))
        const view = expand ? cut.transpose(order).expandDims(turn % (rank + 1)) : cut.transpose(order)
        const axis = [...view.shape.keys()].filter((each) => (reduced >> each) & 1)
        const plain = new DiskArray({
          dtype: 'int64' as const,
          shape: view.shape,
          fillValue: view.fillValue,
          readBlock: view.source.readBlock.bind(view.source),
        })
        for (const options of [{}, { axis }, { skipMissing: false }, { axis, skipMissing: false }]) {
          const wanted = await plain[kind](options).catch((error: { tag: string }) => error.tag)
          const got = await view[kind](options).catch((error: { tag: string }) => error.tag)
          expect(elements(got)).toEqual(elements(wanted))
        }
      },
    ),
    { numRuns: runs(300) },
  )
})

test('cells of a permutation lie in the order of its axes', async () => {
  const array = await stored()
  const orders = [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] // biome-ignore format: one line
  const kinds = ['sum', 'mean', 'min', 'max', 'variance'] as const
  for (const order of orders)
    for (const axis of [0, 1, 2]) {
      const [first, second] = order.filter((_, k) => k !== axis) as [number, number]
      const turned = array.transpose(order)
      const { min, max } = await turned.extrema({ axis, ignoreStats: true })
      for (const kind of kinds) {
        const plain = await array[kind]({ axis: order[axis]!, ignoreStats: true })
        const { shape, data } = await turned[kind]({ axis, ignoreStats: true })
        const [rows, columns] = shape as [number, number]
        expect([rows, columns]).toEqual([array.shape[first], array.shape[second]])
        const found = { min, max }[kind as 'min'] ?? { data }
        for (let i = 0; i < data.length; i++) {
          const below = first < second ? i : (i % columns) * rows + Math.floor(i / columns)
          expect([data[i], found.data[i]]).toEqual([plain.data[below], plain.data[below]])
        }
      }
    }
})

test('they are not read for it', async () => {
  const array = await stored()
  const read = vi.spyOn(array.source, 'readBlock')
  const view = array
    .view([slice(1, 5), null, slice(null, null, 2)])
    .transpose([2, 0, 1])
    .rechunk([4, 4, 4])
  expect(await view.sum()).toBe(
    await array
      .view([slice(1, 5), null, slice(null, null, 2)])
      .flip()
      .sum(),
  )
  expect(read.mock.calls.length).toBe(1)
  expect(view.source.bulk!.reduce).toBeTypeOf('function')
})

test('arrays put together are reduced where their blocks are decoded, and what none of them covers counts', async () => {
  const array = await stored()
  const parts = [
    { origin: [1, 2, 3], array },
    { origin: [7, 0, 50], array: array.view([slice(0, 4), slice(1, 6), slice(null, null, 2)]) },
  ]
  const joined = mosaic(parts, { shape: [12, 10, 80] })
  expect(joined.source.bulk!.reduce).toBeTypeOf('function')
  const plain = new DiskArray({
    dtype: 'int64' as const,
    shape: joined.shape,
    fillValue: joined.fillValue,
    readBlock: joined.source.readBlock,
  })
  const reads = vi.spyOn(array.source, 'readBlock')
  const cut = [slice(2, 11), slice(null, null, 3), slice(4, 70)]
  for (const skipMissing of [true, false])
    for (const axis of [undefined, [0], [2], [0, 1]] as const) {
      const options = { ...(axis && { axis }), skipMissing }
      for (const kind of ['sum', 'min', 'max', 'mean', 'std'] as const) {
        for (const view of [(x: DiskArray<'int64'>) => x, (x: DiskArray<'int64'>) => x.view(cut)]) {
          const wanted = await view(plain)
            [kind](options)
            .catch((error: { tag: string }) => error.tag)
          reads.mockClear()
          const got = await view(joined)
            [kind](options)
            .catch((error: { tag: string }) => error.tag)
          if (axis === undefined) expect(reads).not.toHaveBeenCalled()
          expect(rounded(elements(got))).toEqual(rounded(elements(wanted)))
        }
      }
    }
  for (const axis of [undefined, 0, 2]) {
    const options = { ...(axis !== undefined && { axis }), skipMissing: false }
    expect(await joined.argMin(options)).toEqual(await plain.argMin(options))
    expect(await joined.argMax(options)).toEqual(await plain.argMax(options))
  }
})

/** Deviations merge in another order. */
const rounded = (result: unknown): unknown =>
  JSON.parse(
    JSON.stringify(result, (_, value) =>
      typeof value === 'bigint' ? `${value}n` : typeof value === 'number' ? Number(value.toPrecision(12)) : value,
    ),
  )
