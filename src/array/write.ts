import { copyIndices } from '../core/copy-indices.ts'
import { cloneTensor } from '../core/dense.ts'
import type { DType } from '../core/dtype.ts'
import { within } from '../core/errors.ts'
import { stridesOf } from '../core/shape.ts'
import { type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { boxShape } from '../grid/range.ts'
import type { ResolvedSelection } from '../grid/selection.ts'
import { planResolved } from './get.ts'
import type { BlockSource } from './source.ts'
import { foldTensor, move, type Planned, type TransferOptions, type Views } from './transfers.ts'
import { toTensor, type Values } from './values.ts'

/** Plans and writes a selection; errors name the array. */
export const writeResolved = <D extends DType>(
  source: BlockSource<D>,
  resolved: ResolvedSelection,
  values: Values<D>,
  options: TransferOptions,
): Promise<void> =>
  within(source.label ?? {}, async () => writeSelection(source, await planResolved(source, resolved, options), values, options))

/**
 * Writes `values` to a selection. A block is read first only if it contains unselected elements.
 * @param mask of the selection: elements are written only where it is 1, by a source that accepts masks
 */
export async function writeSelection<D extends DType>(
  source: BlockSource<D>,
  { selection, plan }: Planned,
  values: Values<D>,
  options: TransferOptions,
  mask?: Tensor<'bool'>,
): Promise<void> {
  const folded = <E extends DType>(dtype: E, tensor: Tensor<E>): Tensor<E> =>
    foldTensor(tensor, selection) ?? foldTensor(cloneTensor(dtype, tensor), selection)!
  const full = folded(source.dtype, toTensor(source.dtype, values, plan.shape))
  const marks = mask && folded('bool', mask)
  const { signal } = options
  const concurrency = chooseConcurrency(source, options)
  await move(source, plan, { ...options, concurrency }, async ({ box, shape, inner, outer, covered }) => {
    if (inner === null) {
      const own = viewTensor(full, outer as Views)
      return marks === undefined
        ? source.writeBlock!(box, own, { signal })
        : source.writeMasked!(box, own, viewTensor(marks, outer as Views), { signal })
    }
    const hull = tensorOf(source.dtype, boxShape(box))
    if (marks !== undefined || (!covered && source.writeMasked !== undefined)) {
      const written = tensorOf('bool', hull.shape)
      const one = marks ?? { ...full, data: Uint8Array.of(1), stride: full.shape.map(() => 0), offset: 0 }
      for (const [from, to] of [[full, hull], [one, written]] as const) // biome-ignore format: one line
        copyIndices(from, outer, { ...to, shape: [...shape], stride: stridesOf(shape) }, inner)
      return source.writeMasked!(box, hull, written, { signal })
    }
    if (!covered) await source.readBlock(box, hull, { signal })
    copyIndices(full, outer, { ...hull, shape: [...shape], stride: stridesOf(shape) }, inner)
    await source.writeBlock!(box, hull, { signal })
  })
}

/**
 * Blocks cut by ranges may share a chunk, which the source may have to modify twice, so they are written one
 * after another.
 */
const chooseConcurrency = (source: BlockSource, { concurrency, strategy }: TransferOptions): number =>
  strategy === 'ranges' ? 1 : (concurrency ?? source.capabilities?.concurrency ?? 1)
