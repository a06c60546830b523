import { DiskArray } from '../../src/array/disk-array.ts'
import { allocate } from '../../src/core/dtype.ts'
import { sizeOf } from '../../src/core/shape.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { showBox } from '../../src/grid/range.ts'
import { CountingSource } from './counting-source.ts'
import type { Plain } from './oracle.ts'

/**
 * An array as the rows of DiskArrays.jl's tests have it, axes reversed to C order: `size` and `chunks` are
 * given as there, first axis fastest. Elements count from 1, or are 0.
 */
export function upstreamArray(size: readonly number[], { chunks = size, steps = false, zeros = false } = {}) {
  const shape = size.toReversed()
  const data = allocate('float64', sizeOf(shape))
  if (!zeros) for (let i = 0; i < data.length; i++) data[i] = i + 1
  const plain: Plain<'float64'> = { dtype: 'float64', shape, data }
  const source = new CountingSource(plain, ChunkGrid.regular(shape, chunks.toReversed()), { steps })
  return {
    plain,
    source,
    array: new DiskArray(source),
    reads: () => source.reads.map(showBox),
    writes: () => source.writes.map(showBox),
  }
}

/** A mask of a shape, true at some flat positions. */
export const maskOf = (shape: readonly number[], trues: readonly number[]) => ({
  data: Uint8Array.from({ length: sizeOf(shape) }, (_, i) => Number(trues.includes(i))),
  shape,
})
