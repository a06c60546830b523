/** Number of children of a node. */
export const FAN_IN = 16

/** Rules for merging partial aggregates. */
export interface Merging<P> {
  /** Merges partial aggregates, at least one, in their order. */
  merge(parts: readonly P[]): P
  /**
   * Merges one more aggregate into another, which it may modify; undefined if merging several at once is
   * better.
   */
  absorb(part: P, more: P): P | undefined
}

/** A node that is still missing children. */
interface OpenNode<P> {
  children: number
  readonly parts: P[]
}

/**
 * Merges partial aggregates by a tree whose form depends on their number alone. Sixteen neighbours form a
 * node of the first level, sixteen of these a node of the second. Adding nodes of any level in place of their
 * children therefore yields the same bits. At most one open node per level is held.
 */
export class MergeTree<P> {
  readonly #merging: Merging<P>
  readonly #open: OpenNode<P>[] = []

  constructor(merging: Merging<P>) {
    this.#merging = merging
  }

  /**
   * Adds the next aggregate.
   * @param part undefined if nothing was aggregated
   * @param level 0, or the level of a node, which must begin at a node boundary of that level
   */
  add(part: P | undefined, level = 0): void {
    while (this.#open.length <= level) this.#open.push({ children: 0, parts: [] })
    const node = this.#open[level]!
    if (part !== undefined) this.#take(node.parts, part)
    if (++node.children < FAN_IN) return
    this.#open[level] = { children: 0, parts: [] }
    this.add(this.#merged(node.parts), level + 1)
  }

  /** Adds `count` empty aggregates, in time logarithmic in their number. */
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

  /** Returns the aggregate of all; the last node of each level may have fewer children. */
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
