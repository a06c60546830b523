import { isMissingLabel, type Label, type Labels } from './label-values.ts'

/** Positions of the labels below and above a searched one. */
export type Neighbours = readonly [below: number | undefined, above: number | undefined]

/** Positions of labels that are in no order, sorted by label. Missing labels are not among them. */
export class SortedLabels {
  readonly #values: Labels
  /** Equal labels stay in the order of their positions. */
  readonly #positions: Uint32Array

  constructor(values: Labels) {
    this.#values = values
    const positions: number[] = []
    for (let at = 0; at < values.length; at++) if (!isMissingLabel(values[at]!)) positions.push(at)
    this.#positions = Uint32Array.from(positions).sort((a, b) => {
      const left = values[a]!
      const right = values[b]!
      return left < right ? -1 : left > right ? 1 : a - b
    })
  }

  /**
   * Returns all positions that match, in ascending order.
   * @param label the searched label
   * @param matches whether the label at a position matches it. Matching labels are neighbours of it by value.
   */
  matching(label: Label, matches: (position: number) => boolean): number[] {
    const first = this.#rank(label)
    let [start, stop] = [first, first]
    while (start > 0 && matches(this.#positions[start - 1]!)) start--
    while (stop < this.#positions.length && matches(this.#positions[stop]!)) stop++
    return Array.from(this.#positions.subarray(start, stop)).sort((a, b) => a - b)
  }

  /** Returns the first positions of the greatest label below one, and of the smallest that is not. */
  neighbours(label: Label): Neighbours {
    const rank = this.#rank(label)
    const below = rank === 0 ? undefined : this.#positions[this.#rank(this.#values[this.#positions[rank - 1]!]!)]
    return [below, this.#positions[rank]]
  }

  /** Returns the number of labels below one. */
  #rank(label: Label): number {
    let [low, high] = [0, this.#positions.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#values[this.#positions[middle]!]! < label) low = middle + 1
      else high = middle
    }
    return low
  }
}
