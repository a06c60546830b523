import type { FixedDType } from '../../core/dtype.ts'
import type { BlockSource } from '../source.ts'
import { VIEWS, viewAxes } from './axes-view.ts'

/** How elements are made of packed ones: `packed * scaleFactor + addOffset`, and NaN of missing ones. */
export interface AffineMap {
  readonly packed: BlockSource<FixedDType>
  readonly scaleFactor: number
  readonly addOffset: number
  /** The packed value that is missing, beside NaN; undefined where there is none. */
  readonly fill: number | bigint | undefined
}

const MAPS = new WeakMap<BlockSource, AffineMap>()

/** Keeps how a source is made, so that reductions can be done on the packed elements. */
export function keepAffine(source: BlockSource, map: AffineMap): void {
  MAPS.set(source, map)
}

/** How a source, or what it is a view of, is made of packed elements; undefined where it is not. */
export function affineOf(source: BlockSource): AffineMap | undefined {
  const own = MAPS.get(source)
  if (own !== undefined) return own
  const view = VIEWS.get(source)
  const below = view && MAPS.get(view.base)
  return below && { ...below, packed: viewAxes(below.packed, { picks: view.picks, order: view.order.map((axis) => axis ?? '') }) }
}
