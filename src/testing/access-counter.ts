import type { BlockSource, ScalarReads } from '../array/source.ts'
import type { DType } from '../core/dtype.ts'
import { sameShape } from '../core/shape.ts'
import { type Box, boxShape, showBox } from '../grid/range.ts'

/** A source that logs its reads and writes. */
export interface CountedSource<D extends DType> extends BlockSource<D> {
  /** Boxes read, in the order of the calls. */
  readonly reads: Box[]
  /** Boxes written. */
  readonly writes: Box[]
  /** Rule for reads of single elements. Its `count` is the number of those by `get`. */
  readonly scalarReads: ScalarReads
}

/**
 * Wraps a source to log its accesses and refuse invalid ones. Invalid are boxes beyond the shape, empty
 * boxes, unsupported steps, and tensors of another shape. Useful for tests of code that uses sources.
 * @throws Error for an invalid read or write
 */
export function countAccesses<D extends DType>(source: BlockSource<D>): CountedSource<D> {
  const [reads, writes]: [Box[], Box[]] = [[], []]
  const steps = source.capabilities?.steps ?? false
  const noted = (log: Box[], box: Box, shape: readonly number[]): void => {
    const valid = box.every(
      ({ start, stop, step }, axis) =>
        start >= 0 &&
        start < stop &&
        stop <= source.shape[axis]! &&
        (step === 1 || (steps && Number.isInteger(step) && step > 1)),
    )
    if (!valid || box.length !== source.shape.length || !sameShape(boxShape(box), shape))
      throw new Error(`a source of shape [${source.shape}] was asked for ${showBox(box)} in a tensor of shape [${shape}]`)
    log.push(box)
  }
  return {
    dtype: source.dtype,
    shape: source.shape,
    chunks: source.chunks,
    dimensionNames: source.dimensionNames,
    fillValue: source.fillValue,
    missing: source.missing,
    capabilities: source.capabilities ?? {},
    label: source.label ?? {},
    reads,
    writes,
    scalarReads: { mode: 'read', count: 0, below: source.scalarReads },
    readBlock: (box, out, options) => {
      noted(reads, box, out.shape)
      return source.readBlock(box, out, options)
    },
    ...(source.writeBlock && {
      writeBlock: (box, values, options) => {
        noted(writes, box, values.shape)
        return source.writeBlock!(box, values, options)
      },
    }),
  }
}
