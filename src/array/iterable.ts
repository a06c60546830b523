import type { DType, ScalarOf } from '../core/dtype.ts'
import { within } from '../core/errors.ts'
import { sameShape, sizeOf } from '../core/shape.ts'
import { type Tensor, tensorOf } from '../core/tensor.ts'
import type { ArrayHandle } from './handle.ts'
import type { Block, BlocksOptions, EqualsOptions, ProgressOptions } from './iteration.ts'
import { checkBytes, MAX_RESULT_BYTES } from './max-bytes.ts'
import { Reducible } from './reducible.ts'
import { type BlockOptions, bytesOf } from './source.ts'

type Bodies = typeof import('./iteration.ts')

/** An array that can be gone through, compared and copied as a whole, holding some chunks at a time. */
export abstract class IterableArray<D extends DType> extends Reducible<D> {
  /**
   * The chunks in C order of the grid, one read each; some are read ahead. Each comes in memory of its own.
   * Leaving the loop early ends what is under way.
   */
  async *blocks(options: BlocksOptions = {}): AsyncGenerator<Block<D>, void> {
    yield* (await this.#bodies('blocks', options)).blocks(this.source, options)
  }

  /**
   * The elements in C order of the array, holding at most 64 MiB. Chunks are read once where a row of them
   * fits in half of that; otherwise as often as it has parts that do.
   */
  async *values(options: BlockOptions = {}): AsyncGenerator<ScalarOf<D>, void> {
    yield* (await this.#bodies('values', options)).values(this.source, options)
  }

  /** As {@link values}, for `for await`. */
  [Symbol.asyncIterator](): AsyncGenerator<ScalarOf<D>, void> {
    return this.values()
  }

  /**
   * All of the array as a dense tensor.
   * @throws TooLargeError for more than 2 GiB
   */
  async toTensor(options: ProgressOptions = {}): Promise<Tensor<D>> {
    const { readWhole } = await this.#bodies('toTensor', options)
    const bytes = sizeOf(this.shape) * bytesOf(this.dtype)
    checkBytes(this.source, bytes, MAX_RESULT_BYTES, 'the array', 'go through it with blocks(), or raise maxBytes of get()')
    const read = async (): Promise<Tensor<D>> => {
      const tensor = tensorOf(this.dtype, this.shape)
      await readWhole(this.source, tensor, options)
      return tensor
    }
    return this.source.budget?.result(bytes, read, options.signal) ?? read()
  }

  /**
   * Whether another array has this shape, this type and the same elements. Reads both chunk by chunk and
   * stops at the first difference.
   */
  async equals(other: ArrayHandle<DType>, options: EqualsOptions = {}): Promise<boolean> {
    const { equalElements } = await this.#bodies('equals', options)
    if (!sameShape(other.shape, this.shape) || other.dtype !== this.dtype) return false
    return equalElements(this.source, other.source, options)
  }

  /**
   * Copies another array of this shape and type into this one, some chunks of this one at a time. Elements
   * that are missing there become what is missing here. An array in which none are is copied as it is:
   * elements that happen to have this one's missing value are missing then.
   * @throws InvalidArgumentError when shape or type differ, for a missing element where nothing is missing
   *   here (NaN stays NaN), and, where others are missing there, for an element that would become missing;
   *   ReadOnlyError; whatever reading and writing throw
   */
  async assign(from: ArrayHandle<DType>, options: ProgressOptions = {}): Promise<void> {
    const { copyWhole } = await this.#bodies('assign', options)
    await within(this.source.label ?? {}, () => copyWhole(from.source, this.source, options))
  }

  /** The same the other way round: copies this array into another one. */
  async copyTo(to: IterableArray<DType>, options?: ProgressOptions): Promise<void> {
    await this.#bodies('copyTo', options)
    await to.assign(this, options)
  }

  /**
   * Writes one value to all of the array, some chunks at a time.
   * @throws ReadOnlyError; InvalidArgumentError when the value is not of the array's type
   */
  async fill(value: ScalarOf<D>, options: ProgressOptions = {}): Promise<void> {
    const { fillWhole } = await this.#bodies('fill', options)
    await within(this.source.label ?? {}, () => fillWhole(this.source, value, options))
  }

  async #bodies(call: Parameters<Bodies['checkIteration']>[0], options: unknown): Promise<Bodies> {
    // Who only reads selections loads none of the bodies.
    const bodies = await import('./iteration.ts')
    bodies.checkIteration(call, options, this.source)
    return bodies
  }
}
