import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { ArrayState } from './array-state.ts'

/** What an array needs of the container it lies in. */
export interface Container {
  readonly label: string
  readonly blocks: BlockReader
  /** As of `Limits.elements`. */
  readonly maxElements: number
  readonly budget: MemoryBudget | undefined
  /** @throws ClosedError after it was closed */
  checkOpen(): void
  /** Why the container takes no writes; undefined when it does. */
  readonly readOnly: string | undefined
  /** Stores a chunk in the layer being written; `whole` when every element of it was given. */
  writeChunk(state: ArrayState, chunkIndex: number, bytes: Uint8Array, options: { readonly whole: boolean }): Promise<void>
  /** Gives an array the shape that `shapeOf` makes of the one it has then. */
  resize(state: ArrayState, shapeOf: (shape: readonly number[]) => readonly number[]): Promise<void>
  /** Runs writes one after another, so that two of them never build on the same old chunk. */
  exclusive<T>(work: () => Promise<T>): Promise<T>
}
