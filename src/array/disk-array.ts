import { type DType, readElement, type ScalarOf } from '../core/dtype.js'
import { HyperslabError } from '../core/errors.js'
import { sameShape, showShape } from '../core/shape.js'
import { copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.js'
import { type Plan, plan, type Transfer } from '../grid/plan.js'
import { boxShape } from '../grid/range.js'
import { resolveSelection, type Selection } from '../grid/selection.js'
import { IterableArray } from './iterable.js'
import type { BlockOptions } from './source.js'
import { toTensor, type Values } from './values.js'

/** A scalar where every selector is an integer, a tensor otherwise. Integers for fewer than all axes leave the rest: add `null`s to have the type say so. */
export type Selected<D extends DType, S extends Selection> = S extends readonly []
  ? Tensor<D> | ScalarOf<D>
  : S extends readonly number[]
    ? ScalarOf<D>
    : Tensor<D>

export interface GetOptions<D extends DType> extends BlockOptions {
  /** Where to put the result instead of fresh memory; its shape must be that of the result. */
  readonly out?: Tensor<D>
}

/** How far long work has come, in chunks. */
export interface Progress {
  readonly done: number
  readonly total: number
}

/**
 * An n-dimensional array whose elements live elsewhere: a handle, holding no data. Reading takes `get`, writing `set`; reductions and
 * `assign` go through the chunks once, holding a few MiB of them at a time.
 */
export class DiskArray<D extends DType = DType> extends IterableArray<D> {
  /** Narrows the type to a data type. */
  is<K extends DType>(dtype: K): this is DiskArray<K> {
    return (this.dtype as DType) === dtype
  }

  /**
   * What reading (or writing) a selection would do, before any I/O.
   * @throws InvalidSelectionError
   */
  plan(selection?: Selection): Plan {
    return this.named(() => plan(resolveSelection(selection, this.shape), this.chunks, this.source.capabilities?.steps ?? false))
  }

  /**
   * Reads a selection: integers (negative ones count from the end) drop their axis, slices and `null` keep it, missing trailing selectors
   * mean `null`. The result is dense, in C order; where every axis is dropped it is the element itself.
   * @throws InvalidSelectionError naming axis and numbers; InvalidArgumentError when `out` has another shape; whatever the source throws
   */
  async get<const S extends Selection = null>(selection?: S, options: GetOptions<D> = {}): Promise<Selected<D, S>> {
    const { shape, fullShape, transfers } = this.plan(selection)
    const result = this.target(shape, options.out)
    // Axes of length 1 may take any stride: seen with the integer axes back in, the result is the same memory.
    const full = { ...result, shape: fullShape, stride: restoreStrides(fullShape, result) }
    for (const transfer of transfers) {
      options.signal?.throwIfAborted()
      await this.read(transfer, full, options)
    }
    return (
      shape.length === 0 && options.out === undefined ? readElement(this.dtype, result.data, result.offset) : result
    ) as Selected<D, S>
  }

  /**
   * Writes a selection: one value for all of it, elements in C order, or a tensor of its shape. Where the source takes no steps, what lies
   * between the selected positions is read first and written back.
   * @throws ReadOnlyError when the source does not take writes; InvalidSelectionError; InvalidArgumentError when the values do not fit
   */
  async set(selection: Selection, values: Values<D>, options: BlockOptions = {}): Promise<void> {
    if (this.source.writeBlock === undefined) throw this.readOnly()
    const { shape, fullShape, transfers } = this.plan(selection)
    const given = this.named(() => toTensor(this.dtype, values, shape))
    const full = { ...given, shape: fullShape, stride: restoreStrides(fullShape, given) }
    for (const { box, inner, outer } of transfers) {
      options.signal?.throwIfAborted()
      const part = viewTensor(full, outer)
      if (inner === null) await this.source.writeBlock(box, part, options)
      else {
        const hull = tensorOf(this.dtype, boxShape(box))
        await this.source.readBlock(box, hull, options)
        copyTensor(part, viewTensor(hull, inner))
        await this.source.writeBlock(box, hull, options)
      }
    }
  }

  private async read({ box, inner, outer }: Transfer, full: Tensor<D>, options: BlockOptions): Promise<void> {
    const place = viewTensor(full, outer)
    if (inner === null) return this.source.readBlock(box, place, options)
    const hull = tensorOf(this.dtype, boxShape(box))
    await this.source.readBlock(box, hull, options)
    copyTensor(viewTensor(hull, inner), place)
  }

  private target(shape: readonly number[], out: Tensor<D> | undefined): Tensor<D> {
    if (out === undefined) return tensorOf(this.dtype, shape)
    if (sameShape(out.shape, shape)) return out
    throw new HyperslabError('InvalidArgumentError', `out has shape ${showShape(out.shape)}, the selection ${showShape(shape)}`, {
      ...this.source.label,
      actual: out.shape,
      expected: shape,
    })
  }

  private readOnly(): HyperslabError {
    return new HyperslabError('ReadOnlyError', 'this array cannot be written', this.source.label)
  }
}

/** Strides for `fullShape`, which is the shape of `tensor` with axes of length 1 added. */
function restoreStrides(fullShape: readonly number[], { shape, stride }: Tensor): number[] {
  let axis = 0
  return fullShape.map((length) => (length === shape[axis] && axis < shape.length ? stride[axis++]! : 0))
}
