import type { Origins } from '../../array/source.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { ArrayState } from './array-state.ts'

/** Interface of a container to its arrays. */
export interface Container {
  readonly label: string
  readonly origins: Origins
  readonly blocks: BlockReader
  /** Limit of `Limits.elements`. */
  readonly maxElements: number
  readonly budget: MemoryBudget | undefined
  /** @throws ClosedError after the container was closed */
  checkOpen(): void
  /** Reason why the container cannot be written to; undefined if it can. */
  readonly readOnly: string | undefined
  /** Stores a chunk in the next layer. `whole`: whether every element of it was given. */
  writeChunk(state: ArrayState, chunkIndex: number, bytes: Uint8Array, options: { readonly whole: boolean }): Promise<void>
  /** Resizes an array to the shape that `shapeOf` returns for its shape at that time. */
  resize(state: ArrayState, shapeOf: (shape: readonly number[]) => readonly number[]): Promise<void>
  /** Runs writes one after another, so that two of them never build on the same old chunk. */
  exclusive<T>(work: () => Promise<T>): Promise<T>
}
