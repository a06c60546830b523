import type { DiskArray } from '../array/disk-array.ts'
import { bytesOf } from '../array/source.ts'
import { HyperslabError } from '../core/errors.ts'
import type { Variable } from './variable.ts'

/** Bytes of coordinates that an open dataset keeps at most, unless its options say otherwise. */
const COORDINATE_BYTES = 256 * 2 ** 20
/** Bytes of a text in memory, without the 2 bytes of each UTF-16 code unit. */
const TEXT_BYTES = 32
const BYTES_OF_UNIT = 2

/**
 * Memory of the coordinates that an open dataset keeps: what is read once stays until nobody has the dataset
 * any more, so that it is refused, rather than let go, where there is too much of it.
 */
export class CoordinateMemory {
  readonly #most: number
  #held = 0

  constructor(most = COORDINATE_BYTES) {
    this.#most = most
  }

  /**
   * Counts a coordinate before it is read.
   * @param bytesOfOne what is kept of each of its elements; the label when left out, of times 64 bits
   * @throws TooLargeError where there is no room for it
   */
  take({ name, array, times }: Variable, bytesOfOne = times === undefined ? bytesOf(array.dtype) : 8): void {
    this.#add({ name, array }, array.size * bytesOfOne)
  }

  /**
   * Counts texts as they are decoded, if they take more memory than `take` has estimated.
   * @throws TooLargeError if they exceed the limit
   */
  takeTexts(variable: Pick<Variable, 'name' | 'array'>, texts: Iterable<unknown>): void {
    const guessed = bytesOf(variable.array.dtype)
    let more = 0
    for (const text of texts) more += Math.max(0, TEXT_BYTES + BYTES_OF_UNIT * (text as string | Uint8Array).length - guessed)
    this.#add(variable, more)
  }

  #add({ name, array }: Pick<Variable, 'name' | 'array'>, bytes: number): void {
    const held = this.#held + bytes
    if (held > this.#most) {
      const text = `coordinates take ${held} bytes with this one, more than limits.coordinateBytes, ${this.#most}; raise the limit`
      const details = { ...array.source.label, array: name, actual: held, expected: this.#most, limit: 'limits.coordinateBytes' }
      throw new HyperslabError('TooLargeError', text, details)
    }
    this.#held = held
  }
}

const MEMORIES = new WeakMap<DiskArray, CoordinateMemory>()

/** Says that an array is a coordinate of what was opened. */
export const keepMemory = (array: DiskArray, memory: CoordinateMemory): void => void MEMORIES.set(array, memory)

/** The memory of the dataset that a coordinate is of; one of its own for a view, or what was not opened. */
export const coordinateMemoryOf = (array: DiskArray): CoordinateMemory => MEMORIES.get(array) ?? new CoordinateMemory()
