import { allocate, type DType, isFixed, type TypedArray } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { inOrder } from '../../core/in-order.ts'
import { numbersFrom } from '../../core/numbers.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { sameShape, sizeOf } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { type Box, boxShape } from '../../grid/range.ts'
import { planRechunk, type RechunkPlan } from '../../grid/rechunk-plan.ts'
import { checkCopy } from '../iteration.ts'
import { type ArrayOperand, sourceOf } from '../operand.ts'
import { PROGRESS_CHECKS, type ProgressOptions } from '../read-whole.ts'
import { type BlockReadOptions, type BlockSource, bytesOf } from '../source.ts'
import { trackProgress } from '../transfers.ts'
import { copiedTo } from './missing-restated.ts'

/** An array that elements are written to and read back from. */
export interface ScratchArray {
  readonly dtype: BlockSource['dtype']
  readonly shape: readonly number[]
  /** Shape of its chunks, each of which is written once. */
  readonly chunks: readonly number[]
}

/** Options of `rechunkTo`. */
export interface RechunkOptions extends ProgressOptions {
  /**
   * Bytes of elements held at a time; default 64 MiB. One chunk of the target is held even if it is larger.
   */
  readonly maxBytes?: number
  /**
   * Creates an intermediate array, which is written and read once and is then useless. It is used if source
   * chunks would otherwise be read more than twice, because of `maxBytes`. Without this option, they are read
   * as often as needed.
   */
  readonly scratch?: ((array: ScratchArray) => Promise<{ readonly source: BlockSource }>) | undefined
}

const CHECKS: Checks<RechunkOptions> = { ...PROGRESS_CHECKS, maxBytes: 'number from 0', scratch: 'function' }

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024

/**
 * Copies an array into one with other chunks. Each chunk of the target is written once and whole. A chunk of
 * the source is read once if the overlapping chunks of both fit into `maxBytes`, otherwise in as few parts as
 * possible.
 * @throws InvalidArgumentError if shapes or types differ; ReadOnlyError if the target is read-only
 */
export async function rechunkTo(source: BlockSource, to: ArrayOperand, options: RechunkOptions = {}): Promise<void> {
  checkOptions('rechunkTo', options, CHECKS)
  const target = sourceOf('rechunkTo', to, 'target')
  checkCopy(source, target)
  const { maxBytes = DEFAULT_MAX_BYTES, scratch, signal, onProgress } = options
  const { write, first } = planCopy(source, target, maxBytes, scratch === undefined ? 1 : 2)
  const { dtype, shape, chunks } = target
  const { tell, onAbsent } = trackProgress((first === undefined ? 1 : 2) * chunks.count, dtype, onProgress)
  let [elements, counted] = [0, 0]
  const tally = (box: Box): void => {
    elements += sizeOf(boxShape(box))
    const now = Math.floor((elements / sizeOf(shape)) * chunks.count)
    tell({ chunks: now - counted, shape: boxShape(box) })
    counted = now
  }
  const pass = (from: BlockSource, into: BlockSource, regions: ChunkGrid, reading: BlockReadOptions): Promise<void> =>
    copyInOrder(numbersFrom(0, regions.count), regionsAtOnce(regions, dtype, maxBytes), async (chunkIndex, region) => {
      await copyRegion(from, into, regions, chunkIndex, { ...reading, ...region })
      tally(regions.box(regions.index(chunkIndex)))
    })
  if (first === undefined) return pass(source, target, write, { signal, onAbsent })
  const { source: between } = await scratch!({ dtype, shape, chunks: first.chunks.chunkShape })
  if (!sameShape(between.shape, shape) || between.dtype !== dtype || between.writeBlock === undefined) {
    const text = `scratch must make a writable array of ${dtype} of the same shape`
    throw new HyperslabError('InvalidArgumentError', text, { ...between.label, actual: `${between.dtype} ${between.shape}` })
  }
  await pass(source, between, first.read, { signal, onAbsent })
  // Chunks of the intermediate array are never absent in the source.
  await pass(between, target, write, { signal })
}

/** Plans a copy. Half of the memory is read into while the other half is written. */
const planCopy = (
  { chunks, dtype }: BlockSource,
  target: Pick<BlockSource, 'chunks' | 'writeGrid'>,
  maxBytes: number,
  mostPasses: 1 | 2,
): RechunkPlan =>
  planRechunk({
    from: chunks,
    to: target.writeGrid ?? target.chunks,
    elementBytes: bytesOf(dtype),
    maxBytes: maxBytes / 2,
    // The size of variable-length values is unknown before they are read.
    mostPasses: isFixed(dtype) ? mostPasses : 1,
  })

/** Options of copying a region among others. */
export interface RegionOptions extends BlockReadOptions {
  /** Memory for its elements, which earlier regions have used. Default: new memory. */
  readonly memory?: RegionMemory
  /** Waits until all regions before are written. Default: other processes write them, in any order. */
  readonly turn?: (() => Promise<void>) | undefined
}

/**
 * Copies one region of a grid, which consists of whole objects of the target. Missing elements become those
 * of the target.
 */
export async function copyRegion(
  source: BlockSource,
  target: BlockSource,
  regions: ChunkGrid,
  chunkIndex: number,
  { signal, onAbsent, memory, turn }: RegionOptions,
): Promise<void> {
  signal?.throwIfAborted()
  const { dtype } = source
  const box = regions.box(regions.index(chunkIndex))
  const tensor = memory?.tensor(dtype, boxShape(box)) ?? tensorOf(dtype, boxShape(box))
  const from = copiedTo(source, target)
  const work = async (): Promise<void> => from.readBlock(box, tensor, { signal, onAbsent })
  await (from.budget?.result(sizeOf(tensor.shape) * bytesOf(dtype), work, signal) ?? work())
  await turn?.()
  await target.writeBlock!(box, tensor, { signal })
}

/** Memory for regions, one after another. It need not be cleared and collected for each. */
export class RegionMemory {
  #dtype: DType | undefined
  #data: TypedArray | undefined

  /** Returns a tensor with undefined elements. The memory of the one before is used again. */
  tensor(dtype: DType, shape: readonly number[]): Tensor {
    if (!isFixed(dtype)) return tensorOf(dtype, shape)
    const size = sizeOf(shape)
    if (this.#data === undefined || this.#dtype !== dtype || this.#data.length < size) {
      this.#data = undefined
      this.#data = allocate(dtype, size) as TypedArray
      this.#dtype = dtype
    }
    return tensorOf(dtype, shape, this.#data.subarray(0, size) as never)
  }
}

/** Returns how many regions may be in memory at once: 2, or 1 if they are large. */
export function regionsAtOnce({ axes }: ChunkGrid, dtype: DType, maxBytes: number): number {
  const largest = sizeOf(axes.map(({ chunkLength, length }) => Math.min(chunkLength, length)))
  return 2 * largest * bytesOf(dtype) <= maxBytes ? 2 : 1
}

/**
 * Copies regions in order. The next region is read while one is written.
 * @param copy copies a region, and takes note of it
 */
export async function copyInOrder<T>(
  regions: Iterable<T>,
  atOnce: number,
  copy: (region: T, options: Required<Pick<RegionOptions, 'memory' | 'turn'>>) => Promise<void>,
): Promise<void> {
  const memories = Array.from({ length: atOnce }, () => new RegionMemory())
  let [before, chunkIndex] = [Promise.resolve(), 0]
  const run = (region: T): Promise<void> => {
    const earlier = before
    before = copy(region, { memory: memories[chunkIndex++ % atOnce]!, turn: () => earlier })
    return before
  }
  await inOrder(regions, { count: atOnce }, run, () => undefined)
}
