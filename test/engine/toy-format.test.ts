import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { findWhere } from '../../src/array/find-where.ts'
import { encodeLz4 } from '../../src/codec/lz4-encode.ts'
import { cloneTensor } from '../../src/core/dense.ts'
import { toBytes } from '../../src/core/dtype.ts'
import { type Tensor, tensorOf, viewTensor } from '../../src/core/tensor.ts'
import { ChunkedSource } from '../../src/engine/chunked-source.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { viewOf } from '../../src/grid/range.ts'
import { slice } from '../../src/grid/slice.ts'
import { withArena } from '../../src/kernels/arena.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { sourceConformance } from '../../src/testing/index.ts'
import { testAll } from '../support/conformance.ts'
import { ToyIndex, toyFile } from './toy-format.ts'

const SHAPE = [7, 10]
const GRID = ChunkGrid.regular(SHAPE, [3, 4])
const FILL = -1
/** Number of the unwritten chunk. */
const MISSING = 4

/** Elements 0, 1, 2, …, and the fill value in the missing chunk. */
function elements(): Tensor<'int32'> {
  const content = tensorOf('int32', SHAPE)
  for (let i = 0; i < content.data.length; i++) content.data[i] = i
  const views = GRID.box(GRID.index(MISSING)).map(viewOf)
  const hole = viewTensor(content, views)
  for (let i = 0; i < hole.shape[0]!; i++)
    for (let j = 0; j < hole.shape[1]!; j++) hole.data[hole.offset + i * hole.stride[0]! + j * hole.stride[1]!] = FILL
  return content
}

async function open(
  codec: 'lz4' | 'none',
): Promise<{ index: ToyIndex<'int32'>; array: DiskArray<'int32'>; content: Tensor<'int32'> }> {
  const content = elements()
  const file = toyFile({ dtype: 'int32', shape: SHAPE, chunkShape: [3, 4], fillValue: FILL, codec }, (chunkIndex) => {
    if (chunkIndex === MISSING) return undefined
    const chunk = cloneTensor('int32', viewTensor(content, GRID.box(GRID.index(chunkIndex)).map(viewOf)))
    const bytes = toBytes(chunk.data)
    return codec === 'none' ? bytes : withArena((arena) => encodeLz4(arena, arena.put(bytes), bytes.length))
  })
  const store = new MemoryStore()
  await store.put('a.toy', file)
  const index = (await ToyIndex.open(store, 'a.toy')) as unknown as ToyIndex<'int32'>
  return { index, array: new DiskArray(new ChunkedSource(index)), content }
}

describe.each(['lz4', 'none'] as const)('a format that is an index and nothing else, %s', (codec) => {
  testAll(
    sourceConformance(async () => {
      const { array, content } = await open(codec)
      return { source: array.source, content } as never
    }),
  )

  test('has slices, lists, reductions, searches, plans and lazy arrays, reading each block that is needed once', async () => {
    const { index, array, content } = await open(codec)
    const at = (i: number, j: number): number => content.data[i * SHAPE[1]! + j]!
    const blocksOf = async (work: () => Promise<unknown>): Promise<[unknown, number]> => {
      const before = index.blocks.cost.blocks
      return [await work(), index.blocks.cost.blocks - before]
    }
    const plain = (work: () => Promise<Tensor<'int32'>>) => blocksOf(async () => [...(await work()).data])
    expect(await blocksOf(() => array.get([6, 9]) as Promise<unknown>)).toEqual([at(6, 9), 1])
    expect(await plain(() => array.get([slice(0, 4), slice(2, 6, 2)]))).toEqual([
      [0, 1, 2, 3].flatMap((i) => [at(i, 2), at(i, 4)]),
      3,
    ])
    expect(
      await plain(() =>
        array.get([
          [5, 0],
          [9, 4],
        ]),
      ),
    ).toEqual([[at(5, 9), at(5, 4), at(0, 9), at(0, 4)], 3])
    const present = [...content.data].filter((value) => value !== FILL)
    const total = present.reduce((sum, value) => sum + value, 0)
    expect(await blocksOf(() => array.sum())).toEqual([total, 8])
    expect(await blocksOf(() => array.count())).toEqual([present.length, 8])
    expect(await blocksOf(() => array.countNonzero())).toEqual([present.filter((value) => value !== 0).length, 8])
    expect(await blocksOf(() => array.view([slice(0, 3)]).max())).toEqual([29, 3])
    expect(await plain(() => array.min({ axis: 1 }) as Promise<Tensor<'int32'>>)).toEqual([[0, 10, 20, 30, 40, 50, 60], 8])
    expect(await blocksOf(() => findWhere(array, { min: 60 }).count())).toEqual([10, 8])
    expect((await array.plan([slice(3, 6)])).requests).toBe(2)
    expect(await plain(() => array.transpose([1, 0]).get([4]) as Promise<Tensor<'int32'>>)).toEqual([
      [0, 1, 2, 3, 4, 5, 6].map((i) => at(i, 4)),
      2,
    ])
  })

  test('names file and array in errors, and takes no writes', async () => {
    const { array } = await open(codec)
    await expect(array.set(null, 1)).rejects.toMatchObject({
      tag: 'ReadOnlyError',
      details: { file: 'memory:a.toy', array: 'toy' },
    })
  })
})
