import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { sameShape, showShape } from '../../core/shape.ts'
import { ChunkGrid } from '../../grid/chunks.ts'
import type { BlockSource } from '../source.ts'
import { deriveSource } from './derive.ts'

/**
 * The same array under other chunks: what is gone through chunk by chunk goes by them. Nothing is stored
 * differently.
 * @throws InvalidArgumentError when the grid is of another shape
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
