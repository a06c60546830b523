import type { DType } from '../../core/dtype.js'
import { HyperslabError } from '../../core/errors.js'
import type { AxisView } from '../../core/tensor.js'
import { resolveSelection, type Selection } from '../../grid/selection.js'
import type { BlockSource } from '../source.js'
import { viewAxes } from './axes-view.js'

/**
 * A selection of an array as an array: integers drop their axis, slices of any sign and lists of evenly spaced positions cut it.
 * @throws InvalidSelectionError; UnsupportedError for points, masks and lists that are not evenly spaced, which `get` takes
 */
export function view<D extends DType>(source: BlockSource<D>, selection: Selection): BlockSource<D> {
  const { parts, shape } = resolveSelection(selection, source.shape, source)
  const picks = parts.map(({ picks, shape }, axis) => {
    if ('step' in picks && shape.length <= 1) return picks as AxisView
    const text = `axis ${axis}: a view takes integers, slices and evenly spaced lists; other lists, masks and points are for get`
    throw new HyperslabError('UnsupportedError', text, { ...source.label, axis })
  })
  const kept = [...parts.keys()].filter((axis) => parts[axis]!.shape.length > 0)
  // What is left over of the result's shape are new axes.
  const order = shape.map((length) => (kept.length > 0 && picks[kept[0]!]!.length === length ? kept.shift()! : ''))
  return viewAxes(source, { picks, order })
}
