import type { DType } from '../core/dtype.ts'
import { lazily } from '../core/lazily.ts'
import { forEachLimited, Limiter } from '../core/limiter.ts'
import type { Checks } from '../core/options.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import { type AxisView, type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { PLAN_CHECKS, type Plan, type PlanOptions, type Transfer } from '../grid/plan.ts'
import { boxShape } from '../grid/range.ts'
import type { ResolvedSelection } from '../grid/selection.ts'
import { BLOCK_CHECKS, type BlockOptions, type BlockReadOptions, type BlockSource, bytesOf } from './source.ts'

const copying = lazily(() => import('../core/copy-indices.ts'))

/** Options of `set`, and of all operations that transfer elements by a plan. */
export interface TransferOptions extends BlockOptions, PlanOptions {
  /**
   * Number of blocks read or written at the same time. The default is the source's `concurrency`, else 8 for
   * reading and 1 for writing.
   */
  readonly concurrency?: number | undefined
  /** Receives the progress after each step. */
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
}

export const TRANSFER_CHECKS: Checks<TransferOptions> = {
  ...BLOCK_CHECKS,
  ...PLAN_CHECKS,
  concurrency: 'integer from 0',
  onProgress: 'function',
}

/** Progress of a long operation in chunks: `done` of `total`. */
export interface Progress {
  readonly done: number
  readonly total: number
}

/** Progress of reading, writing or copying elements. */
export interface TransferProgress extends Progress {
  /** Number of bytes of transferred elements. */
  readonly bytes: number
  /** Number of stored chunks that were to be read and are absent. Their elements read as fill. */
  readonly absent: number
}

/** A selection with its plan. */
export interface Planned {
  readonly selection: ResolvedSelection
  readonly plan: Plan
}

/** Largest sum of bytes under way; a larger block runs alone. */
const MAX_BYTES = 128 * 1024 * 1024

/**
 * Runs the transfers of a plan, several at a time. After a failure or an abort, no transfer starts, and the
 * error is thrown once those under way have ended.
 */
export async function move(
  { dtype }: BlockSource,
  plan: Plan,
  { concurrency, signal, onProgress }: TransferOptions & { readonly concurrency: number },
  work: (transfer: Transfer, onAbsent: BlockReadOptions['onAbsent']) => Promise<void>,
): Promise<void> {
  const { onAbsent, tell } = trackProgress(plan.chunks, dtype, onProgress)
  const [first] = plan.transfers
  // Most small reads have one transfer, and limiting it would take as long as the read itself.
  if (first !== undefined && plan.transfers.length === 1) {
    signal?.throwIfAborted()
    await work(first, onAbsent)
    tell(first)
    return
  }
  const limiter = new Limiter(Infinity, MAX_BYTES)
  await forEachLimited(plan.transfers, Math.max(1, Math.min(concurrency, plan.transfers.length)), async (transfer) => {
    await limiter.run(sizeOf(transfer.shape) * bytesOf(dtype), () => work(transfer, onAbsent), signal)
    tell(transfer)
  })
}

/** Counts the steps of an operation on `total` chunks, and reports each. */
export function trackProgress(
  total: number,
  dtype: DType,
  onProgress: TransferOptions['onProgress'],
): { readonly tell: (step: Pick<Transfer, 'chunks' | 'shape'>) => void; readonly onAbsent: BlockReadOptions['onAbsent'] } {
  let [done, bytes, absent] = [0, 0, 0]
  return {
    onAbsent:
      onProgress &&
      ((chunks) => {
        absent += chunks
      }),
    tell: ({ chunks, shape }) => {
      done += chunks
      bytes += sizeOf(shape) * bytesOf(dtype)
      onProgress?.({ done, total, bytes, absent })
    },
  }
}

/** Reads a plan into `full`, which has one axis for each selector. */
export async function readInto<D extends DType>(
  source: BlockSource<D>,
  plan: Plan,
  full: Tensor<D>,
  options: TransferOptions & BlockReadOptions,
): Promise<void> {
  const { signal, onSources } = options
  const { transfers } = plan
  const { gather, read } = source.bulk ?? {}
  const isGathered = transfers.some(({ inner }) => inner !== null)
  if (isGathered ? gather : read && transfers.length > 1) {
    signal?.throwIfAborted()
    const { tell, ...progress } = trackProgress(plan.chunks, source.dtype, options.onProgress)
    const { onAbsent = progress.onAbsent } = options
    if (isGathered) await source.bulk!.gather!(transfers, full, { signal, onAbsent, onSources })
    else {
      const reads = transfers.map((transfer) => ({ box: transfer.box, out: placeOf(source, transfer, full) }))
      await source.bulk!.read!(reads, { signal, onAbsent, onSources })
    }
    transfers.forEach(tell)
    return
  }
  const concurrency = options.concurrency ?? source.capabilities?.concurrency ?? 8
  await move(source, plan, { ...options, concurrency }, async (transfer, absence) => {
    const { onAbsent = absence } = options
    const out = placeOf(source, transfer, full)
    await source.readBlock(transfer.box, out, { signal, onAbsent, onSources })
    await settle(transfer, out, full)
  })
}

/**
 * Returns the tensor that a transfer's box is read to: the result itself, or temporary memory if some
 * elements are not selected.
 */
const placeOf = <D extends DType>({ dtype }: BlockSource<D>, { box, inner, outer }: Transfer, full: Tensor<D>): Tensor<D> =>
  inner === null ? viewTensor(full, outer as Views) : tensorOf(dtype, boxShape(box))

/** Copies the selected elements of a box to the result. */
async function settle<D extends DType>({ inner, outer, shape }: Transfer, read: Tensor<D>, full: Tensor<D>): Promise<void> {
  if (inner === null) return
  const { copyIndices } = await copying()
  copyIndices({ ...read, shape: [...shape], stride: stridesOf(shape) }, inner, full, outer)
}

/** Positions in the result of a transfer without lists. */
export type Views = readonly AxisView[]

/**
 * Returns a tensor of the shape of a result with one axis for each selector; undefined if the strides of a
 * list's axes do not allow it.
 */
export function foldTensor<D extends DType>(tensor: Tensor<D>, { parts }: ResolvedSelection): Tensor<D> | undefined {
  let axis = 0
  const stride: number[] = []
  for (const part of parts) {
    // Axes of length 1, which include integers and new axes, may have any stride.
    let [length, step] = [1, 0]
    for (const own of part.shape) {
      if (own === 1) continue
      while (tensor.shape[axis] === 1) axis++
      if (length > 1 && step !== own * tensor.stride[axis]!) return undefined
      length *= own
      step = tensor.stride[axis++]!
    }
    stride.push(step)
  }
  return { data: tensor.data, shape: parts.map(({ length }) => length), stride, offset: tensor.offset }
}
