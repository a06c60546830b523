import { DTYPES, type DType, type ScalarOf } from '../../core/dtype.ts'
import { invalidArgument } from '../../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../../core/options.ts'
import { showShape, sizeOf } from '../../core/shape.ts'
import { ChunkGrid, READ_BYTES, RegularChunks } from '../../grid/chunks.ts'
import { commonChunks, refineChunks } from '../../grid/common-chunks.ts'
import { type BlockSource, bytesOf } from '../source.ts'
import { promote } from './astype.ts'
import type { Broadcast, Operand } from './broadcast-blocks.ts'
import { deriveSource, inCommon } from './derive.ts'
import { computed } from './map.ts'

/** Options of `broadcast`. */
export interface BroadcastOptions<D extends DType> {
  /** Data type of the results; by default the promoted type of the arrays. */
  readonly dtype?: D
  /**
   * Result where an element is missing; results equal to it are missing. The default is NaN for floats,
   * otherwise the missing value of the first array of the same type that has one.
   */
  readonly fillValue?: ScalarOf<D>
  /**
   * Whether missing elements stay missing and are not passed to the function; default true. If false, results
   * are missing only if they equal `fillValue`.
   */
  readonly keepMissing?: boolean
}

const CHECKS: Checks<BroadcastOptions<DType>> = { dtype: DTYPES, fillValue: 'value', keepMissing: 'boolean' }

/**
 * Applies a function to the elements of several arrays and scalars at the same position, by numpy's rules.
 * Shapes are aligned at their last axes, and axes that are missing or of length 1 are repeated. An array that
 * is used several times is read once per block. If an element of an array is missing, so is the result.
 * @throws InvalidArgumentError if shapes cannot be combined, if there is no array, or if missing results
 *   have no value; when read, if a result is not of the data type
 */
export function broadcastSource<D extends DType>(
  fn: (...values: never[]) => unknown,
  operands: readonly Operand[],
  options: BroadcastOptions<D> = {},
): BlockSource<D> {
  checkValue('broadcast', 'fn', fn, 'function')
  checkOptions('broadcast', options, CHECKS)
  const { dtype, fillValue, keepMissing = true } = options
  const sources = operands.filter((operand): operand is BlockSource => 'readBlock' in operand)
  if (sources.length === 0) invalidArgument('there is no array to broadcast', undefined)
  const shape = commonShape(sources.map((source) => source.shape))
  const to = dtype ?? (promote(sources.map((source) => source.dtype)) as D)
  const kind = computed(to, fillValue, keepMissing ? sources : [])
  return deriveSource(
    inCommon(sources, shape.length),
    {
      chunks: commonGrid(sources, shape),
      capabilities: {},
      readBlock: async (box, out, options) => {
        const { readBroadcast } = await import('./broadcast-blocks.ts')
        await readBroadcast({ fn: fn as Broadcast['fn'], operands, sources, kind, keepMissing }, box, out, options)
      },
    },
    kind,
  )
}

/** Returns the common shape of shapes that are aligned at their last axes. */
function commonShape(shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map(({ length }) => length))
  return Array.from({ length: rank }, (_, axis) => {
    const lengths = shapes.map((shape) => shape[axis - rank + shape.length] ?? 1)
    const length = lengths.find((each) => each !== 1) ?? 1
    if (lengths.every((each) => each === 1 || each === length)) return length
    return invalidArgument(`shapes ${shapes.map(showShape).join(', ')} do not go together`, shapes)
  })
}

/**
 * Returns chunks for processing several arrays that are broadcast to one shape. They are made of whole chunks
 * of each array if these stay small. Otherwise, as many axes as needed, from the first on, are divided at the
 * boundaries of all arrays. Axes along which all arrays are broadcast are divided into some MiB.
 */
function commonGrid(sources: readonly BlockSource[], shape: readonly number[]): ChunkGrid {
  const bytes = Math.max(...sources.map(({ dtype }) => bytesOf(dtype)))
  const room = Math.max(READ_BYTES / bytes, ...sources.map(({ chunks }) => sizeOf(chunks.chunkShape)))
  const estimated = ChunkGrid.estimate(shape, bytes)
  const given = shape.map((length, axis) =>
    sources.flatMap(({ chunks }) => {
      const own = chunks.axes[axis - shape.length + chunks.axes.length]
      return own !== undefined && own.length === length ? [own] : []
    }),
  )
  const axes = given.map((all, axis) => (all.length === 0 ? estimated.axes[axis]! : commonChunks(all)))
  for (let axis = 0; axis < shape.length; axis++) {
    if (sizeOf(axes.map(({ chunkLength, length }) => Math.min(chunkLength, length))) <= room) break
    const pieces = given[axis]!.map((chunks) => ({ origin: 0, chunks }))
    axes[axis] = pieces.length === 0 ? new RegularChunks(1, shape[axis]!) : refineChunks(shape[axis]!, pieces)
  }
  return new ChunkGrid(axes)
}
