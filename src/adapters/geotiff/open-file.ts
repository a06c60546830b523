import type { ScalarMode } from '../../array/source.ts'
import type { Codec } from '../../codec/codec.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { BlockMemory } from '../../engine/block-cache.ts'
import type { StoredFile } from '../../engine/stored-file.ts'
import type { StridedReader } from '../../engine/strided-reader.ts'
import type { WorkerPool } from '../../pool/task.ts'
import type { TiffBytes } from './tiff-bytes.ts'

/** An open TIFF file, as its images need it. */
export interface OpenTiff {
  readonly name: string
  readonly stored: StoredFile
  readonly bytes: TiffBytes
  readonly strided: StridedReader
  readonly memory: BlockMemory
  readonly limits: { readonly blockBytes: number; readonly elements: number }
  readonly options: {
    readonly pool: WorkerPool | undefined
    readonly budget: MemoryBudget | undefined
    readonly scalar: ScalarMode | undefined
    readonly codecs: readonly Codec[]
    /** Whether samples of 1 bit are booleans. */
    readonly bool: boolean
  }
}
