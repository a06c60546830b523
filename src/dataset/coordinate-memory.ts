import type { DiskArray } from '../array/disk-array.ts'
import { bytesOf } from '../array/source.ts'
import { HyperslabError } from '../core/errors.ts'
import type { Variable } from './variable.ts'

/** Default limit for the coordinates that an open dataset keeps, in bytes. */
const COORDINATE_BYTES = 256 * 2 ** 20
/** Size of a text in memory, in bytes, without the 2 bytes of each UTF-16 code unit. */
const TEXT_BYTES = 32
const BYTES_OF_UNIT = 2

/**
 * Memory of the coordinates that an open dataset keeps. Coordinates are kept until the dataset is released,
 * so a coordinate beyond the limit is refused instead of evicted.
 */
export class CoordinateMemory {
  readonly #most: number
  #held = 0

  constructor(most = COORDINATE_BYTES) {
    this.#most = most
  }

  /**
   * Counts a coordinate before it is read.
   * @param bytesOfOne bytes kept for each element; default: the size of a label, 64 bits for times
   * @throws TooLargeError if the limit is exceeded
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
      const text = `coordinates take ${held} bytes with this one, more than \`limits.coordinateBytes\`, ${this.#most}; raise the limit`
      const details = { ...array.source.label, array: name, actual: held, expected: this.#most, limit: 'limits.coordinateBytes' }
      throw new HyperslabError('TooLargeError', text, details)
    }
    this.#held = held
  }
}

const MEMORIES = new WeakMap<DiskArray, CoordinateMemory>()

/** Associates an array, as a coordinate, with the memory of its dataset. */
export const keepMemory = (array: DiskArray, memory: CoordinateMemory): void => void MEMORIES.set(array, memory)

/**
 * Returns the memory of the dataset of a coordinate. Views, and arrays that were not opened, have a memory of
 * their own.
 */
export const findCoordinateMemory = (array: DiskArray): CoordinateMemory => MEMORIES.get(array) ?? new CoordinateMemory()
