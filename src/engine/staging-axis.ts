import { type AxisIndices, indexAt, isListed } from '../core/places.ts'
import type { Tensor } from '../core/tensor.ts'
import { evenOr } from '../grid/list.ts'
import { sortingOrder } from '../grid/order.ts'

/** The first and the last of some places. */
export function indexBounds(places: AxisIndices): [number, number] {
  if (!isListed(places)) {
    const [first, last] = [places.start, indexAt(places, places.length - 1)]
    return first < last ? [first, last] : [last, first]
  }
  let [low, high] = [Infinity, 0]
  for (let i = 0; i < places.length; i++) {
    const place = places[i]!
    if (place < low) low = place
    if (place > high) high = place
  }
  return [low, high]
}

/**
 * One axis of a piece: the places of the result that several lists hold together, in ascending order and
 * without the gaps between.
 */
export class PieceAxis {
  readonly length: number
  /** Whether there are no gaps. */
  readonly dense: boolean
  readonly #low: number
  readonly #lists: readonly AxisIndices[]
  #sorted: { readonly places: AxisIndices; readonly ranks: Map<AxisIndices, AxisIndices> } | undefined

  /** @param lists no place is in two of them */
  constructor(lists: readonly AxisIndices[]) {
    let [low, high, length] = [Infinity, 0, 0]
    for (const list of lists) {
      const ends = indexBounds(list)
      low = Math.min(low, ends[0])
      high = Math.max(high, ends[1])
      length += list.length
    }
    this.length = length
    this.dense = high - low + 1 === length
    this.#low = low
    this.#lists = lists
  }

  /** In the result. */
  get places(): AxisIndices {
    return this.dense ? { start: this.#low, step: 1, length: this.length } : this.#sort().places
  }

  /** Where in the piece the places of one of the lists are. */
  ranksOf(list: AxisIndices): AxisIndices {
    const low = this.#low
    if (!this.dense) return this.#sort().ranks.get(list)!
    return isListed(list) ? list.map((place) => place - low) : { ...list, start: list.start - low }
  }

  #sort(): { readonly places: AxisIndices; readonly ranks: Map<AxisIndices, AxisIndices> } {
    if (this.#sorted !== undefined) return this.#sorted
    const all = new Float64Array(this.length)
    let at = 0
    for (const list of this.#lists) for (let i = 0; i < list.length; i++) all[at++] = indexAt(list, i)
    const order = sortingOrder(all)
    const rank = new Uint32Array(all.length)
    for (let i = 0; i < all.length; i++) rank[order?.[i] ?? i] = i
    const ranks = new Map<AxisIndices, AxisIndices>()
    at = 0
    for (const list of this.#lists) {
      ranks.set(list, evenOr(rank.subarray(at, at + list.length)))
      at += list.length
    }
    const places = evenOr(Uint32Array.from(order ?? all, (value) => (order === undefined ? value : all[value]!)))
    this.#sorted = { places, ranks }
    return this.#sorted
  }
}

/**
 * The axes of a piece for the combinations of some places along each axis; undefined where not all
 * combinations are there.
 */
export function joinAxes(combinations: readonly (readonly AxisIndices[])[]): PieceAxis[] | undefined {
  const lists = combinations[0]!.map((_, axis) => new Set(combinations.map((places) => places[axis]!)))
  if (lists.reduce((count, { size }) => count * size, 1) !== combinations.length) return undefined
  return lists.map((own) => new PieceAxis([...own]))
}

/** Elements of a piece that lie one after another in the result, too. */
export function pieceRun(axes: readonly PieceAxis[], { shape, stride }: Tensor): number {
  let run = 1
  for (let axis = axes.length - 1; axis >= 0; axis--) {
    const { length, dense } = axes[axis]!
    if (length === 1 && shape[axis] === 1) continue
    if (!dense || stride[axis] !== run) break
    run *= length
    if (length !== shape[axis]) break
  }
  return run
}
