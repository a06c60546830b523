import { allocate, isFixed, type TypedArray } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { ahead } from '../../core/in-order.ts'
import { numbersFrom } from '../../core/numbers.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { sameShape, sizeOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { type Box, boxShape } from '../../grid/range.ts'
import { planRechunk, type RechunkPlan } from '../../grid/rechunk-plan.ts'
import { checkCopy, PROGRESS_CHECKS, type ProgressOptions } from '../iteration.ts'
import { type ArrayOperand, sourceOf } from '../operand.ts'
import { type BlockReadOptions, type BlockSource, bytesOf } from '../source.ts'
import { progressOf } from '../transfers.ts'
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

/** Progress of a copy: finished regions of the first pass, and of the pass that writes the target. */
export interface CopyState {
  readonly first: number
  readonly write: number
}

/** Options of a planned copy. */
export interface CopyOptions extends ProgressOptions {
  readonly maxBytes: number
  readonly scratch?: RechunkOptions['scratch']
  /** Regions that are copied already. */
  readonly done?: CopyState
  /** Called once regions, and all before them, are written. */
  readonly onRegion?: ((done: CopyState) => Promise<void>) | undefined
}

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
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES
  const mostPasses = options.scratch === undefined ? 1 : 2
  await copyByPlan(source, target, planCopy(source, target, maxBytes, mostPasses), { ...options, maxBytes })
}

/** Plans a copy. Half of the memory is read into while the other half is written. */
export const planCopy = (
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

/** Copies region by region, in the order of the plan. */
export async function copyByPlan(
  source: BlockSource,
  target: BlockSource,
  { write, first }: RechunkPlan,
  { maxBytes, scratch, done = { first: 0, write: 0 }, onRegion, signal, onProgress }: CopyOptions,
): Promise<void> {
  const { dtype, shape, chunks } = target
  const passes = first === undefined ? 1 : 2
  const { tell, onAbsent } = progressOf(passes * chunks.count, dtype, onProgress)
  let [elements, counted] = [0, 0]
  const tally = (box: Box): void => {
    elements += sizeOf(boxShape(box))
    const now = Math.floor((elements / sizeOf(shape)) * chunks.count)
    tell({ chunks: now - counted, shape: boxShape(box) })
    counted = now
  }
  // Chunks of the intermediate array are never absent in the source.
  const plain = { maxBytes, signal, tally }
  const options = { ...plain, onAbsent }
  const converted = copiedTo(source, target)
  if (first === undefined)
    return copyRegions(converted, target, write, done.write, options, (count) => onRegion?.({ first: 0, write: count }))
  const { source: between } = await scratch!({ dtype, shape, chunks: first.chunks.chunkShape })
  if (!sameShape(between.shape, shape) || between.dtype !== dtype || between.writeBlock === undefined) {
    const text = `scratch must make a writable array of ${dtype} of the same shape`
    throw new HyperslabError('InvalidArgumentError', text, { ...between.label, actual: `${between.dtype} ${between.shape}` })
  }
  await copyRegions(converted, between, first.read, done.first, options, (count) => onRegion?.({ first: count, write: 0 }))
  const { count } = first.read
  await copyRegions(between, target, write, done.write, plain, (written) => onRegion?.({ first: count, write: written }))
}

/** Copies one region of a grid, which consists of whole objects of the target. */
export async function copyRegion(
  source: BlockSource,
  target: BlockSource,
  regions: ChunkGrid,
  number: number,
  signal: Signal | undefined,
): Promise<void> {
  signal?.throwIfAborted()
  const box = regions.box(regions.index(number))
  const tensor = tensorOf(source.dtype, boxShape(box))
  await copiedTo(source, target).readBlock(box, tensor, { signal })
  await target.writeBlock!(box, tensor, { signal })
}

/** Copies the regions of a grid from `start` on, in order. The next region is read while one is written. */
async function copyRegions(
  from: BlockSource,
  to: BlockSource,
  regions: ChunkGrid,
  start: number,
  { maxBytes, signal, onAbsent, tally }: BlockReadOptions & { readonly maxBytes: number; readonly tally: (box: Box) => void },
  onDone: (count: number) => Promise<void> | undefined,
): Promise<void> {
  for (let number = 0; number < start; number++) tally(regions.box(regions.index(number)))
  const { dtype, budget } = from
  const largest = sizeOf(regions.axes.map(({ chunkLength, length }) => Math.min(chunkLength, length)))
  const atOnce = 2 * largest * bytesOf(dtype) <= maxBytes ? 2 : 1
  // Memory is reused, so that it need not be cleared and collected.
  const kept: TypedArray[] = []
  const tensorFor = (number: number, shape: readonly number[]): Tensor => {
    if (!isFixed(dtype)) return tensorOf(dtype, shape)
    kept[number % atOnce] ??= allocate(dtype, largest) as TypedArray
    return tensorOf(dtype, shape, kept[number % atOnce]!.subarray(0, sizeOf(shape)) as never)
  }
  const read = async (number: number): Promise<{ readonly number: number; readonly box: Box; readonly tensor: Tensor }> => {
    signal?.throwIfAborted()
    const box = regions.box(regions.index(number))
    const tensor = tensorFor(number, boxShape(box))
    const work = async (): Promise<void> => from.readBlock(box, tensor, { signal, onAbsent })
    await (budget?.result(sizeOf(tensor.shape) * bytesOf(dtype), work, signal) ?? work())
    return { number, box, tensor }
  }
  for await (const { number, box, tensor } of ahead(numbersFrom(start, regions.count), { count: atOnce }, read)) {
    await to.writeBlock!(box, tensor, { signal })
    await onDone(number + 1)
    tally(box)
  }
}
