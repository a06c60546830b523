import { HyperslabError } from '../core/errors.ts'
import { lastStart } from '../core/shape.ts'
import { type AxisChunks, RegularChunks } from './chunks.ts'

/** Number of boundaries that an error shows. */
const SHOWN = 32

/** An axis divided into chunks of any lengths: chunk k covers `[boundaries[k], boundaries[k + 1])`. */
export class IrregularChunks implements AxisChunks {
  /** First position of each chunk, beginning with 0, followed by the length of the axis. */
  readonly boundaries: readonly number[]
  readonly chunkLength: number
  readonly length: number
  readonly offset = 0
  readonly count: number

  /** @throws InvalidArgumentError unless `boundaries` are ascending integers from 0 */
  constructor(boundaries: readonly number[]) {
    const valid =
      boundaries[0] === 0 && boundaries.every((border, k) => Number.isSafeInteger(border) && !(border <= boundaries[k - 1]!))
    if (!valid) {
      const shown = `${boundaries.slice(0, SHOWN).join(', ')}${boundaries.length > SHOWN ? ', …' : ''}`
      const text = `boundaries of chunks must ascend from 0, got ${shown}`
      throw new HyperslabError('InvalidArgumentError', text, { actual: boundaries })
    }
    this.boundaries = boundaries
    this.count = boundaries.length - 1
    this.length = boundaries[this.count]!
    this.chunkLength = boundaries.reduce((longest, border, k) => Math.max(longest, border - (boundaries[k - 1] ?? border)), 1)
  }

  /**
   * Creates chunks of these lengths, one after another.
   * @throws InvalidArgumentError unless all `lengths` are positive integers
   */
  static ofLengths(lengths: readonly number[]): IrregularChunks {
    let end = 0
    return new IrregularChunks([0, ...lengths.map((length) => (end += length))])
  }

  start(k: number): number {
    return this.boundaries[k]!
  }

  stop(k: number): number {
    return this.boundaries[k + 1]!
  }

  storedLength(k: number): number {
    return this.stop(k) - this.start(k)
  }

  /** Finds the last chunk that starts at or before `position`, by binary search. */
  find(position: number): number {
    return lastStart(this.boundaries, position, this.count)
  }

  coarsen(maxLength: number): IrregularChunks {
    const kept = [0]
    for (let k = 1; k <= this.count; k++) {
      // A run ends here if the next chunk would make it too long.
      if (k === this.count || this.boundaries[k + 1]! - kept.at(-1)! > maxLength) kept.push(this.boundaries[k]!)
    }
    return kept.length === this.boundaries.length ? this : new IrregularChunks(kept)
  }

  toString(): string {
    const shown = this.boundaries.slice(1, 11).map((border, k) => border - this.boundaries[k]!)
    return `${this.length} in chunks of ${shown.join(', ')}${this.count > 10 ? `, … (${this.count})` : ''}`
  }
}

/**
 * Largest number of listed chunks, which take some hundred MB. This is not one of the `limits` of a file,
 * because it applies to lazy arrays of any source, too. A rejected selection can be read in parts.
 */
const MOST_LISTED = 2 ** 22

/** @throws TooLargeError if there are too many chunks to list, as in untrusted files */
export function checkListed(count: number): void {
  if (count <= MOST_LISTED) return
  throw new HyperslabError('TooLargeError', `${count} chunks are too many to list: ask for less at a time`, {
    actual: count,
    expected: MOST_LISTED,
  })
}

/**
 * Returns the lengths of all chunks of an axis.
 * @throws TooLargeError if there are too many chunks to list
 */
export function listLengths(chunks: AxisChunks): number[] {
  checkListed(chunks.count)
  return Array.from({ length: chunks.count }, (_, k) => chunks.stop(k) - chunks.start(k))
}

/**
 * Divides an axis into chunks of the given lengths, one after another. They are {@link RegularChunks} if only
 * the first and the last are shorter than the rest.
 * @throws InvalidArgumentError unless all `lengths` are positive integers
 * @example
 * console.log(String(axisChunks([2, 4, 4, 1]))) // 11 in chunks of 4, the first at -2
 * console.log(String(axisChunks([1, 3, 2, 1]))) // 7 in chunks of 1, 3, 2, 1
 */
export function axisChunks(lengths: readonly number[]): AxisChunks {
  const irregular = IrregularChunks.ofLengths(lengths)
  const { length, count } = irregular
  if (count === 0) return new RegularChunks(1, 0)
  const nominal = count > 2 ? lengths[1]! : irregular.chunkLength
  const [first, last] = [lengths[0]!, lengths[count - 1]!]
  const regular = first <= nominal && last <= nominal && lengths.slice(1, -1).every((each) => each === nominal)
  return regular ? new RegularChunks(nominal, length, nominal - first) : irregular
}
