import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import type { Tensor } from '../../src/core/tensor.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import type { Selector } from '../../src/grid/selection.ts'
import { slice } from '../../src/grid/slice.ts'
import { create } from '../../src/runtime/index.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { anySelections, numbered } from '../support/arbitraries.ts'
import { CountingSource } from '../support/counting-source.ts'
import { plainGet } from '../support/oracle.ts'

const SHAPE = [7, 9]
const plain = numbered('int16', SHAPE)
const grid = ChunkGrid.regular(SHAPE, [3, 4])

describe('get as another type', () => {
  test('gives what is selected, converted, and reads no more for it', async () => {
    await fc.assert(
      fc.asyncProperty(anySelections(grid), async (selection) => {
        const [own, other] = [new CountingSource(plain, grid), new CountingSource(plain, grid)]
        const wanted = plainGet(plain, selection, grid)
        const got = await new DiskArray(own).get(selection as Selector[], { as: 'float32' })
        await new DiskArray(other).get(selection as Selector[])
        expect(typeof got === 'number' ? [got] : (got as Tensor<'float32'>).data).toEqual(
          typeof got === 'number' ? Array.from(wanted.data) : Float32Array.from(wanted.data as Int16Array),
        )
        expect(own.reads.length).toBe(other.reads.length)
      }),
    )
  })

  test('puts rows where padded ones belong, of a container, too', async () => {
    await using file = await create({ store: new MemoryStore(), path: 'x.af' })
    const x = file.createArray('x', { dtype: 'int16', shape: SHAPE, chunks: [3, 4] })
    await x.set(null, plain.data)
    await file.flush()
    const data = new Float32Array(3 * 64).fill(-1)
    await x.get([slice(2, 5), null], { as: 'float32', out: { data, shape: [3, 9], stride: [64, 1] } })
    for (let i = 0; i < data.length; i++) expect(data[i]).toBe(i % 64 < 9 ? 9 * (2 + Math.floor(i / 64)) + (i % 64) : -1)
  })

  test('refuses types that there are not, values that do not fit, and an `out` of another type', async () => {
    const x = new DiskArray(new CountingSource(numbered('int16', [400]), ChunkGrid.regular([400], [100])))
    await expect(x.get(null, { as: 'float' as never })).rejects.toMatchObject({ tag: 'UnsupportedError' })
    await expect(x.get(null, { as: 'int8' })).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    const out = { data: new Int16Array(400), shape: [400] }
    await expect(x.get(null, { as: 'float32', out: out as never })).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })
})
