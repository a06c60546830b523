import { type DType, readElement, type ScalarOf } from '../core/dtype.ts'
import { rethrowWithin } from '../core/errors.ts'
import { lazily } from '../core/lazily.ts'
import { type Check, type Checks, checkOptions } from '../core/options.ts'
import { showShape, sizeOf } from '../core/shape.ts'
import { copyTensor, type Tensor, type TensorLike, tensorOf } from '../core/tensor.ts'
import { isPoints, type Plan, type PlanOptions, planChecked } from '../grid/plan.ts'
import { type ResolvedSelection, resolveSelection, type Selection, type SelectionPart } from '../grid/selection.ts'
import { checkBytes, MAX_RESULT_BYTES } from './bounds.ts'
import { type BlockSource, bytesOf } from './source.ts'
import { foldTensor, type Planned, readInto, TRANSFER_CHECKS, type TransferOptions } from './transfers.ts'

const listPieces = lazily(() => import('../grid/split-list.ts'))

/** Options of `get`. */
export interface GetOptions<D extends DType> extends TransferOptions {
  /**
   * Memory for the result instead of new memory: data of the array's type, with the shape of the result;
   * dense if strides are omitted.
   */
  readonly out?: TensorLike & Pick<Tensor<D>, 'data'>
  /** Largest result in bytes, unless `out` is given; default 2 GiB. */
  readonly maxBytes?: number
}

/** Options of `get` with conversion to another data type. */
export interface GetAsOptions<K extends DType> extends GetOptions<K> {
  /** Data type of the result and of `out`. Each element is converted as by `astype`. */
  readonly as: K
}

const GET_CHECKS: Checks<GetOptions<DType>> = { ...TRANSFER_CHECKS, out: 'object', maxBytes: 'number from 0' }

/** The reads of a selection, with their cost. */
export interface ReadPlan extends Plan {
  /** Bytes of the elements to read; estimated for strings and binaries. */
  readonly bytes: number
  /**
   * Blocks fetched while nothing is cached: for containers the blocks that contain the chunks, for other
   * sources one per transfer. Undefined if unknown, as for lazy arrays that cache or combine several arrays
   * of one file. An upper bound if more than 2^20 chunks would have to be located.
   */
  readonly requests: number | undefined
}

/** Reads a selection of a source: a tensor or, if no axis is left, an element. */
export async function getSelection<D extends DType>(
  source: BlockSource<D>,
  selection: Selection | undefined,
  options: GetOptions<D>,
): Promise<Tensor<D> | ScalarOf<D>> {
  const [base, planned] = await planSelection('get', source, selection, options, GET_CHECKS)
  options.signal?.throwIfAborted()
  if (planned.selection.scalar && source.scalarReads) (await import('./scalar-reads.ts')).noteScalarRead(source)
  const bytes = resultBytes(source, planned, options)
  const read = () => readPlanned(base, planned, options)
  return source.budget === undefined || bytes === 0 ? read() : source.budget.result(bytes, read, options.signal)
}

async function readPlanned<D extends DType>(
  source: BlockSource<D>,
  { plan, selection }: Planned,
  options: GetOptions<D>,
): Promise<Tensor<D> | ScalarOf<D>> {
  const result = await target(source, plan.shape, options)
  const folded = foldTensor(result, selection)
  if (folded !== undefined) await readInto(source, plan, folded, options)
  else {
    const dense = tensorOf(source.dtype, plan.shape)
    await readInto(source, plan, foldTensor(dense, selection)!, options)
    copyTensor(dense, result)
  }
  return selection.scalar && options.out === undefined ? readElement(source.dtype, result.data, result.offset) : result
}

/**
 * Checks the options of `call`, then resolves and plans a selection; errors name the array.
 * @returns the source to read it from: for lists and points of a view, the array below
 */
export async function planSelection<D extends DType>(
  call: string,
  source: BlockSource<D>,
  selection: Selection | undefined,
  options: PlanOptions,
  checks: Readonly<Record<string, Check>>,
): Promise<readonly [BlockSource<D>, Planned]> {
  const resolved = resolveChecked(call, source, selection, options, checks)
  const below = resolved.parts.some(isListed) ? await source.bulk?.below?.(resolved) : undefined
  const { source: base, selection: own } = below ?? { source, selection: resolved }
  return [base, await planResolved(base, own, options)]
}

const isListed = ({ picks }: SelectionPart): boolean => isPoints(picks)

/** Checks the options of `call`, then resolves a selection; errors name the array. */
export const resolveChecked = (
  call: string,
  source: BlockSource,
  selection: Selection | undefined,
  options: PlanOptions,
  checks: Readonly<Record<string, Check>>,
): ResolvedSelection =>
  named(source, () => {
    checkOptions(call, options, checks)
    return resolveSelection(selection, source.shape, source)
  })

/** Plans a selection; errors name the array. The first one with a list or points loads their planning. */
export async function planResolved(
  source: BlockSource,
  selection: ResolvedSelection,
  { strategy, density }: PlanOptions,
): Promise<Planned> {
  const lists = selection.parts.some(isListed) ? await listPieces() : undefined
  const context = { strategy, density, steps: source.capabilities?.steps, elementBytes: bytesOf(source.dtype) }
  return { selection, plan: named(source, () => planChecked(selection, source.chunks, context, lists?.splitList)) }
}

/** Runs `work`; its errors name the array. */
export function named<T>({ label = {} }: Pick<BlockSource, 'label'>, work: () => T): T {
  try {
    return work()
  } catch (error) {
    return rethrowWithin(error, label)
  }
}

/** Returns the bytes that a result will allocate; 0 if `out` is given. */
function resultBytes<D extends DType>(
  source: BlockSource<D>,
  { plan: { shape } }: Planned,
  { out, maxBytes = MAX_RESULT_BYTES }: GetOptions<D>,
): number {
  if (out !== undefined) return 0
  const bytes = sizeOf(shape) * bytesOf(source.dtype)
  checkBytes(source, bytes, maxBytes, `the result ${showShape(shape)}`, 'go through it with blocks(), or raise `maxBytes`')
  return bytes
}

async function target<D extends DType>(
  source: BlockSource<D>,
  shape: readonly number[],
  { out }: GetOptions<D>,
): Promise<Tensor<D>> {
  if (out === undefined) return tensorOf(source.dtype, shape)
  const { checkOut } = await import('./values.ts')
  return named(source, () => checkOut(source.dtype, out, shape))
}
