import type { BlockSource } from '../array/source.ts'
import type { DType } from '../core/dtype.ts'
import { sameShape } from '../core/shape.ts'
import { type Box, boxShape, showBox } from '../grid/range.ts'

/** A source that logs what it is asked for. */
export interface CountedSource<D extends DType> extends BlockSource<D> {
  /** Boxes read, in the order of asking. */
  readonly reads: Box[]
  /** Boxes written. */
  readonly writes: Box[]
}

/**
 * Logs what a source is asked for, and refuses what it must not be asked for: boxes that leave the shape, are
 * empty, or have a step it does not take, and tensors of another shape. For tests of what is made of sources.
 * @throws Error, reading or writing, for what must not be asked for
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
