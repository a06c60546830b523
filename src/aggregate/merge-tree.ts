/** Children of a node. */
export const FAN_IN = 16

/** How partial aggregates become one. */
export interface Merging<P> {
  /** The aggregate of all that some, of which there is at least one, are made of, in their order. */
  merge(parts: readonly P[]): P
  /**
   * Merges one more into one that nobody else holds, which it may change; undefined where it is better to
   * wait for others.
   */
  absorb(part: P, more: P): P | undefined
}

/** A node of which some children are there. */
interface OpenNode<P> {
  children: number
  readonly parts: P[]
}

/**
 * Merges partial aggregates by a tree that follows from their number alone: sixteen neighbours make a node of
 * the first level, sixteen of these one of the second. So whoever adds the nodes of some level instead of
 * what they are made of gets the same bits. Holds at most one open node a level.
 */
export class MergeTree<P> {
  readonly #merging: Merging<P>
  readonly #open: OpenNode<P>[] = []

  constructor(merging: Merging<P>) {
    this.#merging = merging
  }

  /**
   * Takes in the next one.
   * @param part undefined where nothing was aggregated
   * @param level 0, or that of a node, which begins where nodes of this level do
   */
  add(part: P | undefined, level = 0): void {
    while (this.#open.length <= level) this.#open.push({ children: 0, parts: [] })
    const node = this.#open[level]!
    if (part !== undefined) this.#take(node.parts, part)
    if (++node.children < FAN_IN) return
    this.#open[level] = { children: 0, parts: [] }
    this.add(this.#merged(node.parts), level + 1)
  }

  /** Takes in as many as come to nothing, no matter how many. */
  skip(count: number): void {
    const nodes = (level: number, left: number): void => {
      for (; left > 0; left--) {
        const children = this.#open[level]?.children ?? 0
        if (children === 0 && left >= FAN_IN) {
          nodes(level + 1, Math.floor(left / FAN_IN))
          left %= FAN_IN
          if (left === 0) return
        }
        this.add(undefined, level)
      }
    }
    nodes(0, count)
  }

  /** All of them as one; the last node of each level may have fewer children. */
  finish(): P | undefined {
    let last: P | undefined
    for (const { parts } of this.#open) {
      if (last !== undefined) this.#take(parts, last)
      last = this.#merged(parts)
    }
    return last
  }

  #take(parts: P[], part: P): void {
    const before = parts.at(-1)
    const both = before && this.#merging.absorb(before, part)
    if (both === undefined) parts.push(part)
    else parts[parts.length - 1] = both
  }

  #merged(parts: readonly P[]): P | undefined {
    return parts.length > 1 ? this.#merging.merge(parts) : parts[0]
  }
}
