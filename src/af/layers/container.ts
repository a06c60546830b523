import type { Origins } from '../../array/source.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { Limits } from '../format/limits.ts'
import type { ArrayState } from './array-state.ts'
import type { FileOptions } from './file-options.ts'

/** Options of a container that its arrays need. */
export interface ContainerOptions extends Pick<FileOptions, 'scalar' | 'budget'> {
  readonly limits: Required<Limits>
}

/** Interface of a container to its arrays. */
export interface Container {
  readonly label: string
  readonly origins: Origins
  readonly blocks: BlockReader
  readonly options: ContainerOptions
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
