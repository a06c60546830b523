import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { wholeAxis } from '../../core/tensor.ts'
import { type Axis, resolveAxes } from '../axes.ts'
import type { BlockSource } from '../source.ts'
import { viewAxes } from './axes-view.ts'
import { mosaicSource } from './mosaic.ts'

/**
 * Shifts a source cyclically along an axis: element i moves to `i + shift`.
 * @throws InvalidArgumentError unless `shift` is an integer and the axis exists
 */
export function rollSource<D extends DType>(source: BlockSource<D>, shift: number, axis: Axis): BlockSource<D> {
  if (!Number.isSafeInteger(shift))
    throw new HyperslabError('InvalidArgumentError', `a shift must be an integer, got ${quoted(shift)}`, { actual: shift })
  const [along] = resolveAxes(axis, source)
  const length = source.shape[along!]!
  const moved = length === 0 ? 0 : ((shift % length) + length) % length
  if (moved === 0) return source
  const part = (start: number, own: number): BlockSource<D> =>
    viewAxes(source, {
      picks: source.shape.map((each, i) => (i === along ? { start, step: 1, length: own } : wholeAxis(each))),
      order: [...source.shape.keys()],
    })
  const at = (position: number): number[] => source.shape.map((_, i) => (i === along ? position : 0))
  return mosaicSource([
    { origin: at(0), source: part(length - moved, moved) },
    { origin: at(moved), source: part(0, length - moved) },
  ])
}
