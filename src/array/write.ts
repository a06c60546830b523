import { copyIndices } from '../core/copy-indices.ts'
import type { DType } from '../core/dtype.ts'
import { within } from '../core/errors.ts'
import { stridesOf } from '../core/shape.ts'
import { cloneTensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { cutPicks } from '../grid/list-pieces.ts'
import { boxShape } from '../grid/range.ts'
import type { ResolvedSelection } from '../grid/selection.ts'
import { planResolved } from './get.ts'
import type { BlockSource } from './source.ts'
import { foldTensor, move, type Planned, type TransferOptions, type Views } from './transfers.ts'
import { toTensor, type Values } from './values.ts'

/** Plans how to write what was selected, and writes it; errors name the array. */
export const writeResolved = <D extends DType>(
  source: BlockSource<D>,
  resolved: ResolvedSelection,
  values: Values<D>,
  options: TransferOptions,
): Promise<void> =>
  within(source.label ?? {}, () => writeSelection(source, planResolved(source, resolved, options, cutPicks), values, options))

/**
 * Writes `values` to what was selected. A block is read first exactly where something in it is not selected.
 */
export async function writeSelection<D extends DType>(
  source: BlockSource<D>,
  { selection, plan }: Planned,
  values: Values<D>,
  options: TransferOptions,
): Promise<void> {
  const given = toTensor(source.dtype, values, plan.shape)
  const full = foldTensor(given, selection) ?? foldTensor(cloneTensor(source.dtype, given), selection)!
  const { signal } = options
  const concurrency = concurrencyOf(source, options)
  await move(source, plan, { ...options, concurrency }, async ({ box, shape, inner, outer, covered }) => {
    if (inner === null) return source.writeBlock!(box, viewTensor(full, outer as Views), { signal })
    const hull = tensorOf(source.dtype, boxShape(box))
    if (!covered && source.writeMasked !== undefined) {
      const [mask, one] = [
        tensorOf('bool', hull.shape),
        { ...full, data: Uint8Array.of(1), stride: full.shape.map(() => 0), offset: 0 },
      ]
      for (const [from, to] of [[full, hull], [one, mask]] as const) // biome-ignore format: one line
        copyIndices(from, outer, { ...to, shape: [...shape], stride: stridesOf(shape) }, inner)
      return source.writeMasked(box, hull, mask, { signal })
    }
    if (!covered) await source.readBlock(box, hull, { signal })
    copyIndices(full, outer, { ...hull, shape: [...shape], stride: stridesOf(shape) }, inner)
    await source.writeBlock!(box, hull, { signal })
  })
}

/**
 * Blocks cut by ranges may lie in one chunk, which the source may have to change twice: one after another.
 */
const concurrencyOf = (source: BlockSource, { concurrency, strategy }: TransferOptions): number =>
  strategy === 'ranges' ? 1 : (concurrency ?? source.capabilities?.concurrency ?? 1)
