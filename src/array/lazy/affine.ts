import type { FixedDType } from '../../core/dtype.ts'
import type { BlockSource } from '../source.ts'
import { VIEWS, viewAxes } from './axes-view.ts'

/** Unpacking of elements: `packed * scaleFactor + addOffset`, and NaN for missing ones. */
export interface AffineMap {
  readonly packed: BlockSource<FixedDType>
  readonly scaleFactor: number
  readonly addOffset: number
  /** The packed value that is missing, in addition to NaN; undefined if there is none. */
  readonly fill: number | bigint | undefined
}

const MAPS = new WeakMap<BlockSource, AffineMap>()

/** Records how a source is unpacked, so that reductions can run on the packed elements. */
export function keepAffine(source: BlockSource, map: AffineMap): void {
  MAPS.set(source, map)
}

/** Returns how a source, or the base of a view, is unpacked; undefined if it is not. */
export function findAffine(source: BlockSource): AffineMap | undefined {
  const own = MAPS.get(source)
  if (own !== undefined) return own
  const view = VIEWS.get(source)
  const below = view && MAPS.get(view.base)
  return below && { ...below, packed: viewAxes(below.packed, { picks: view.picks, order: view.order.map((axis) => axis ?? '') }) }
}
