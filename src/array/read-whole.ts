import type { DataOf, DType } from '../core/dtype.ts'
import { DTYPES } from '../core/dtype.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { inOrder } from '../core/in-order.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { sizeOf } from '../core/shape.ts'
import { type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { type ChunkGrid, chunkBoxes, READ_BYTES } from '../grid/chunks.ts'
import { countChunks } from '../grid/projection.ts'
import { type Box, boxShape, viewOf } from '../grid/range.ts'
import { checkBytes, MAX_RESULT_BYTES } from './bounds.ts'
import { astype } from './lazy/astype.ts'
import { BLOCK_CHECKS, type BlockOptions, type BlockReadOptions, type BlockSource, bytesOf } from './source.ts'
import { type TransferProgress, trackProgress } from './transfers.ts'

/** Options of operations on a whole array. */
export interface ProgressOptions extends BlockOptions {
  /** Receives the progress after each step. */
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
}

/** Options of `values`. */
export interface ValuesOptions<D extends DType> extends ProgressOptions {
  /** Memory for the values instead of new memory: an array of their type and number. */
  readonly out?: DataOf<D>
}

/** Options of `values` with conversion to another data type. */
export interface ValuesAsOptions<K extends DType> extends ValuesOptions<K> {
  /** Data type of the values and of `out`. Each element is converted as by `astype`. */
  readonly as: K
}

export const PROGRESS_CHECKS: Checks<ProgressOptions> = { ...BLOCK_CHECKS, onProgress: 'function' }
const VALUES_CHECKS: Checks<ValuesAsOptions<DType>> = { ...PROGRESS_CHECKS, out: 'list', as: DTYPES }

/** @throws InvalidArgumentError for options that the call does not accept */
export const checkWholeRead = (call: 'toTensor' | 'values', options: unknown, { label }: BlockSource): void =>
  checkOptions(call, options, call === 'values' ? VALUES_CHECKS : PROGRESS_CHECKS, label)

/** Returns the runs of an array for reading: neighbouring chunks of some MiB. */
export const runsOf = (source: BlockSource): ChunkGrid => source.chunks.coarsen(READ_BYTES / bytesOf(source.dtype))

/** Creates a progress counter in chunks of an array. */
export function createTally(
  { chunks, dtype }: BlockSource,
  { onProgress }: ProgressOptions,
): { readonly tally: (box: Box) => void; readonly onAbsent: BlockReadOptions['onAbsent'] } {
  const { tell, onAbsent } = trackProgress(chunks.count, dtype, onProgress)
  return { onAbsent, tally: (box) => tell({ chunks: countChunks(box, chunks), shape: boxShape(box) }) }
}

/**
 * Reads a whole source into memory of its own.
 * @throws TooLargeError for more than 2 GiB
 */
export async function readTensor<D extends DType>(source: BlockSource<D>, options: ProgressOptions): Promise<Tensor<D>> {
  const { dtype, shape, budget } = source
  const bytes = sizeOf(shape) * bytesOf(dtype)
  checkBytes(source, bytes, MAX_RESULT_BYTES, 'the array', 'go through it with blocks(), or raise `maxBytes` of get()')
  const read = async (): Promise<Tensor<D>> => {
    const tensor = tensorOf(dtype, shape)
    await readWhole(source, tensor, options)
    return tensor
  }
  return budget?.result(bytes, read, options.signal) ?? read()
}

/**
 * Reads all elements in C order.
 * @throws InvalidArgumentError if `out` is of another type or length
 */
export async function readValues<D extends DType>(
  source: BlockSource<D>,
  { as, out, ...options }: ValuesOptions<D> & { readonly as?: D },
): Promise<DataOf<D>> {
  const from = as === undefined ? source : astype(source, as)
  if (out === undefined) return (await readTensor(from, options)).data
  const { checkOut } = await import('./values.ts')
  const { dtype, shape } = from
  if (out.length !== sizeOf(shape)) {
    const [actual, expected] = [out.length, sizeOf(shape)]
    const text = `out has ${actual} elements, the array ${expected}`
    throw new HyperslabError('InvalidArgumentError', text, { ...source.label, actual, expected })
  }
  await readWhole(from, await within(source.label ?? {}, async () => checkOut(dtype, { data: out, shape }, shape)), options)
  return out
}

/** Reads all elements in runs of chunks, two at a time, directly into the result. */
async function readWhole<D extends DType>(source: BlockSource<D>, out: Tensor<D>, options: ProgressOptions): Promise<void> {
  const { signal } = options
  const { tally, onAbsent } = createTally(source, options)
  const read = async (box: Box): Promise<Box> => {
    signal?.throwIfAborted()
    await source.readBlock(box, viewTensor(out, box.map(viewOf)), { signal, onAbsent })
    return box
  }
  await inOrder(chunkBoxes(runsOf(source)), { count: 2 }, read, tally)
}
