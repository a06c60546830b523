import { checkDType, type DType, readElement, type ScalarOf } from '../core/dtype.ts'
import { within } from '../core/errors.ts'
import { type Check, type Checks, checkOptions } from '../core/options.ts'
import { showShape, sizeOf } from '../core/shape.ts'
import { copyTensor, type Tensor, type TensorLike, tensorOf } from '../core/tensor.ts'
import { PLAN_CHECKS, type Plan, type PlanOptions, planChecked } from '../grid/plan.ts'
import { resolveSelection, type Selection } from '../grid/selection.ts'
import { Composable } from './composable.ts'
import { checkBytes, MAX_RESULT_BYTES } from './max-bytes.ts'
import type { Selected } from './selected.ts'
import { type BlockSource, bytesOf, checkWritable, requestsOf } from './source.ts'
import { foldTensor, type Planned, readInto, TRANSFER_CHECKS, type TransferOptions } from './transfers.ts'
import type { Values } from './values.ts'

export interface GetOptions<D extends DType> extends TransferOptions {
  /**
   * Where to put the result instead of fresh memory: data of the array's type, the shape of the result; dense
   * where strides are left out.
   */
  readonly out?: TensorLike & Pick<Tensor<D>, 'data'>
  /** Results of more bytes are refused, unless they go to `out`. 2 GiB unless given. */
  readonly maxBytes?: number
}

const GET_CHECKS: Checks<GetOptions<DType>> = { ...TRANSFER_CHECKS, out: 'object', maxBytes: 'number from 0' }

/** What reading a selection will do. */
export interface ReadPlan extends Plan {
  /** Bytes of the elements read; for strings and binaries a guess. */
  readonly bytes: number
  /**
   * Blocks that are fetched while nothing is cached: of containers those that hold the chunks, of other
   * sources one for each transfer. Undefined where that is not known, as of lazy arrays that keep what they
   * read or are made of several of one file. Beyond 2^20 chunks to look up, as many as could be.
   */
  readonly requests: number | undefined
}

/**
 * An n-dimensional array whose elements live elsewhere: a handle, holding no data. Reading takes `get`,
 * writing `set`; reductions and `assign` go through the chunks once, holding a few MiB of them at a time.
 */
export class DiskArray<D extends DType = DType, R extends number = number> extends Composable<D, R> {
  /** Number of axes. */
  get rank(): R {
    return this.shape.length as R
  }

  /**
   * Narrows the type to a data type and, when it is given, to a rank.
   * @throws InvalidArgumentError when there is no such type
   */
  is<K extends DType, N extends number = R>(dtype: K, rank?: N): this is DiskArray<K, N> {
    checkDType(dtype)
    return (this.dtype as DType) === dtype && (rank === undefined || this.shape.length === rank)
  }

  /**
   * What reading (or writing) a selection would do, before any I/O.
   * @throws InvalidSelectionError; InvalidArgumentError for options that make no sense; TooLargeError for
   *   more than 2^20 reads
   */
  plan(selection?: Selection, options: PlanOptions = {}): ReadPlan {
    const { plan } = this.planned('plan', selection, options, PLAN_CHECKS)
    const requests = requestsOf(
      this.source,
      plan.transfers.map(({ box }) => box),
    )
    return { ...plan, bytes: plan.elements * bytesOf(this.dtype), requests }
  }

  /**
   * Reads a selection (see {@link Selection}): what its selectors pick, in every combination. Integers
   * (negative ones count from the end) drop their axis. The result is dense, in C order; where nothing but
   * integers are given and no axis is left it is the element itself.
   *
   * An abort ends it when the source has given up what was under way.
   * @throws InvalidSelectionError naming axis and numbers; InvalidArgumentError when `out` does not fit;
   *   TooLargeError for more than `maxBytes`; whatever the source throws
   */
  async get<const S extends Selection = null>(selection?: S, options: GetOptions<D> = {}): Promise<Selected<D, S, R>> {
    const planned = this.planned('get', selection, options, GET_CHECKS)
    options.signal?.throwIfAborted()
    const bytes = this.resultBytes(planned, options)
    const { budget } = this.source
    const read = (): Promise<unknown> => this.read(planned, options)
    const done = budget === undefined || bytes === 0 ? read() : budget.result(bytes, read, options.signal)
    return (await done) as Selected<D, S, R>
  }

  private async read(planned: Planned, options: GetOptions<D>): Promise<Tensor<D> | ScalarOf<D>> {
    const { shape } = planned.plan
    const result = await this.target(shape, options)
    const folded = foldTensor(result, planned.selection)
    if (folded !== undefined) await readInto(this.source, planned.plan, folded, options)
    else {
      const dense = tensorOf(this.dtype, shape)
      await readInto(this.source, planned.plan, foldTensor(dense, planned.selection)!, options)
      copyTensor(dense, result)
    }
    const single = planned.selection.scalar && options.out === undefined
    return single ? readElement(this.dtype, result.data, result.offset) : result
  }

  /**
   * Writes a selection: one value for all of it, elements in C order, nested arrays or a tensor of its shape;
   * of several for one element the last stays. Where something between the selected elements cannot be left
   * out, it is read first and written back.
   * @throws ReadOnlyError when the source does not take writes; InvalidSelectionError; InvalidArgumentError
   *   when the values do not fit
   */
  async set(selection: Selection, values: Values<D>, options: TransferOptions = {}): Promise<void> {
    const { source } = this
    const planned = this.planned('set', selection, options, TRANSFER_CHECKS)
    options.signal?.throwIfAborted()
    checkWritable(source)
    // Who only reads does not load it.
    const { writeSelection } = await import('./write.ts')
    await within(source.label ?? {}, () => writeSelection(source, planned, values, options))
  }

  protected derive<K extends DType, N extends number>(source: BlockSource<K>): DiskArray<K, N> {
    return new DiskArray(source)
  }

  private planned(call: string, selection: Selection, options: PlanOptions, checks: Readonly<Record<string, Check>>): Planned {
    return this.named(() => {
      checkOptions(call, options, checks)
      const { source, dtype } = this
      const { strategy, density } = options
      const resolved = resolveSelection(selection, source.shape, source)
      const context = { strategy, density, steps: source.capabilities?.steps, elementBytes: bytesOf(dtype) }
      return { selection: resolved, plan: planChecked(resolved, source.chunks, context) }
    })
  }

  /** What a result is going to take; 0 for one that is there. */
  private resultBytes({ plan: { shape } }: Planned, { out, maxBytes = MAX_RESULT_BYTES }: GetOptions<D>): number {
    if (out !== undefined) return 0
    const bytes = sizeOf(shape) * bytesOf(this.dtype)
    checkBytes(this.source, bytes, maxBytes, `the result ${showShape(shape)}`, 'go through it with blocks(), or raise maxBytes')
    return bytes
  }

  private async target(shape: readonly number[], { out }: GetOptions<D>): Promise<Tensor<D>> {
    if (out !== undefined) {
      const { outOf } = await import('./out.ts')
      return this.named(() => outOf(this.dtype, out, shape))
    }
    return tensorOf(this.dtype, shape)
  }
}
