import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { sameShape, showShape } from '../../core/shape.ts'
import { ChunkGrid } from '../../grid/chunks.ts'
import type { BlockSource } from '../source.ts'
import { deriveSource } from './derive.ts'

/**
 * Returns the same array with other chunks; operations on the result process it by these. Storage does not
 * change.
 * @throws InvalidArgumentError if the grid has another shape
 */
export function rechunk<D extends DType>(source: BlockSource<D>, chunks: ChunkGrid | readonly number[]): BlockSource<D> {
  const grid = chunks instanceof ChunkGrid ? chunks : ChunkGrid.regular(source.shape, chunks)
  if (!sameShape(grid.shape, source.shape)) {
    throw new HyperslabError(
      'InvalidArgumentError',
      `the grid covers ${showShape(grid.shape)}, the array is ${showShape(source.shape)}`,
      {
        actual: grid.shape,
        expected: source.shape,
      },
    )
  }
  return deriveSource(source, {
    chunks: grid,
    readBlock: (box, out, options) => source.readBlock(box, out, options),
    write: async (...asked) => (await import('./picked.ts')).writeWhere(source, ...asked),
    bulk: source.bulk ?? {},
  })
}
