import type { DType } from '../core/dtype.js'
import { forEachLimited, Limiter } from '../core/limiter.js'
import { sizeOf, stridesOf } from '../core/shape.js'
import { copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.js'
import type { Places } from '../grid/pieces.js'
import type { Plan, PlanOptions, Transfer } from '../grid/plan.js'
import { boxShape } from '../grid/range.js'
import type { ResolvedSelection } from '../grid/selection.js'
import { type BlockOptions, type BlockSource, bytesOf } from './source.js'

export interface TransferOptions extends BlockOptions, PlanOptions {
  /** Blocks read or written at the same time. What the source says unless given; else 8 for reading, 1 for writing. */
  readonly concurrency?: number | undefined
  /** Told after every block. */
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
}

/** How far long work has come, in chunks. */
export interface Progress {
  readonly done: number
  readonly total: number
}

/** The same, with the bytes of elements moved. */
export interface TransferProgress extends Progress {
  readonly bytes: number
}

/** A selection with its plan. */
export interface Planned {
  readonly selection: ResolvedSelection
  readonly plan: Plan
}

/** Bytes of blocks under way; a larger one runs alone. */
const MAX_BYTES = 128 * 1024 * 1024

/**
 * Moves the transfers of a plan, several at a time. After a failure or an abort nothing new starts, and the error is thrown when what was
 * under way has ended.
 */
export async function move(
  { dtype }: BlockSource,
  { transfers, chunks }: Plan,
  { concurrency, signal, onProgress }: TransferOptions & { readonly concurrency: number },
  work: (transfer: Transfer) => Promise<void>,
): Promise<void> {
  const limiter = new Limiter(Infinity, MAX_BYTES)
  let [done, bytes] = [0, 0]
  await forEachLimited(transfers, Math.max(1, Math.min(concurrency, transfers.length)), async (transfer) => {
    const own = sizeOf(transfer.shape) * bytesOf(dtype)
    await limiter.run(own, () => work(transfer), signal)
    done += transfer.chunks
    bytes += own
    onProgress?.({ done, total: chunks, bytes })
  })
}

/** Reads what a plan says into `full`, which has one axis for each selector. */
export async function readInto<D extends DType>(
  source: BlockSource<D>,
  plan: Plan,
  full: Tensor<D>,
  options: TransferOptions,
): Promise<void> {
  const concurrency = options.concurrency ?? source.capabilities?.concurrency ?? 8
  const { signal } = options
  await move(source, plan, { ...options, concurrency }, async ({ box, shape, inner, outer }) => {
    if (inner === null) return source.readBlock(box, viewTensor(full, outer as Views), { signal })
    const hull = tensorOf(source.dtype, boxShape(box))
    await source.readBlock(box, hull, { signal })
    const seen = { ...hull, shape, stride: stridesOf(shape) }
    if (areViews(inner) && areViews(outer)) copyTensor(viewTensor(seen, inner), viewTensor(full, outer))
    else (await import('./pick.js')).copyPicked(seen, inner, full, outer)
  })
}

/** Of a transfer without lists. */
export type Views = readonly Exclude<Places, Uint32Array>[]

const areViews = (places: readonly Places[]): places is Views => !places.some((each) => each instanceof Uint32Array)

/**
 * A tensor of the shape of a result seen with one axis for each selector; `undefined` where the strides of the axes of a list do not make
 * one.
 */
export function foldTensor<D extends DType>(tensor: Tensor<D>, { parts }: ResolvedSelection): Tensor<D> | undefined {
  let axis = 0
  const stride: number[] = []
  for (const part of parts) {
    // Axes of length 1 may take any stride: integers and new axes are among them.
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
