import type { DType } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { sameShape, showShape } from '../core/shape.ts'
import type { DiskArray } from './disk-array.ts'
import type { BlocksOptions, ZippedBlocks } from './iteration.ts'

export type { ZippedBlocks } from './iteration.ts'

/**
 * Goes through arrays of one shape together, in C order of parts that are whole chunks of all of them where
 * those fit in some MiB, so that each chunk is read once; in chunks of the first array where they do not.
 * Some parts are read ahead.
 * @throws InvalidArgumentError when shapes differ
 */
export async function* zipBlocks(
  arrays: readonly DiskArray<DType>[],
  options: BlocksOptions = {},
): AsyncGenerator<ZippedBlocks, void> {
  const [{ BLOCKS_CHECKS, zipped }, { traversalChunks }] = [await import('./iteration.ts'), await import('./array-order.ts')]
  checkOptions('zipBlocks', options, BLOCKS_CHECKS)
  const [first, ...others] = arrays.map(({ source }) => source)
  if (first === undefined) return
  for (const { shape, label } of others) {
    if (sameShape(shape, first.shape)) continue
    throw new HyperslabError(
      'InvalidArgumentError',
      `an array of shape ${showShape(shape)} is no match for ${showShape(first.shape)}`,
      {
        ...label,
        actual: shape,
        expected: first.shape,
      },
    )
  }
  yield* zipped([first, ...others], traversalChunks([first, ...others]), options)
}
