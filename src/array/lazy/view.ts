import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { resolveSelection, type Selection } from '../../grid/selection.ts'
import type { BlockSource } from '../source.ts'
import { viewAxes } from './axes-view.ts'

/**
 * A selection of an array as an array: integers drop their axis, slices of any sign, lists and masks of one
 * axis cut it.
 * @throws InvalidSelectionError; UnsupportedError for points, masks of several axes and nested lists, which
 *   `get` takes
 */
export function view<D extends DType>(source: BlockSource<D>, selection: Selection): BlockSource<D> {
  const { parts, shape } = resolveSelection(selection, source.shape, source)
  const picks = parts.map(({ picks, shape }, axis) => {
    const pick = 'step' in picks ? picks : picks.length === 1 ? picks[0] : undefined
    if (pick !== undefined && shape.length <= 1) return pick
    const text = `axis ${axis}: a view takes integers, slices, lists and masks of one axis; points and nested lists are for get`
    throw new HyperslabError('UnsupportedError', text, { ...source.label, axis })
  })
  const kept = [...parts.keys()].filter((axis) => parts[axis]!.shape.length > 0)
  // What is left over of the result's shape are new axes.
  const order = shape.map((length) => (kept.length > 0 && picks[kept[0]!]!.length === length ? kept.shift()! : ''))
  return viewAxes(source, { picks, order })
}
