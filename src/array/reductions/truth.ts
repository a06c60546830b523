import { type DType, isBigInt, isFixed, type ScalarOf } from '../../core/dtype.ts'
import { invalidArgument } from '../../core/errors.ts'
import type { Tensor } from '../../core/tensor.ts'
import { type Box, wholeBox } from '../../grid/range.ts'
import type { BlockSource } from '../source.ts'
import { TruthFold, truthOf } from './fold.ts'
import type { CountOptions } from './options.ts'
import { layoutOf, shaped } from './reduce.ts'
import { RegionCells } from './region-cells.ts'
import { RowReader, skippedOf } from './rows.ts'
import { eachRun, eachUnwritten } from './runs.ts'
import { type DividedReduction, unitsOf } from './units.ts'

/** Numbers of true and of other elements of the cells of a region. */
export interface TruthCells {
  readonly region: Box
  readonly found: Float64Array
  readonly others: Float64Array
}

/**
 * Divides the count of true elements, or whether any or all of them are. Counts do not depend on the order in
 * which they are added.
 */
export function divideTruth(
  source: BlockSource,
  kind: 'count' | 'any' | 'all',
  options: CountOptions,
  unitBytes: number,
): DividedReduction<TruthCells, Tensor | ScalarOf<DType>> {
  const { dtype } = source
  const { zeros = false } = options
  if (zeros && options.where !== undefined) invalidArgument('count takes `where` or `zeros`, not both', options)
  const layout = layoutOf(source, options.axis)
  const { reduced } = layout
  const units = unitsOf(source, unitBytes)
  const merge = (parts: readonly TruthCells[], boxes = parts.map(({ region }) => region)): TruthCells => {
    const cells = new RegionCells(boxes, reduced)
    const [found, others] = [new Float64Array(cells.size), new Float64Array(cells.size)]
    for (const part of parts) {
      cells.each(part.region, (i, cell) => {
        found[cell]! += part.found[i]!
        others[cell]! += part.others[i]!
      })
    }
    return { region: cells.region, found, others }
  }
  return {
    units,
    merge: (parts) => merge(parts),
    absorb: () => undefined,
    async reduce(from, to, tree, { signal }) {
      if (from === to) return
      const cells = RegionCells.ofUnits(units, from, to, reduced)
      const mode = options.where || isBigInt(dtype) || !isFixed(dtype) ? 'raw' : 'float'
      const reader = new RowReader(dtype, mode, skippedOf(source, options))
      const fold = new TruthFold(kind, cells.size, reader.skipped, options.where as never, dtype === 'bool')
      const decided = kind === 'count' ? undefined : () => fold.decided()
      const unwritten = eachUnwritten(source, reader, cells, signal, fold.repeat.bind(fold), decided)
      const places = { start: 0, stride: reduced.map(() => 0) }
      await eachRun(source, { signal, between: [from, to], runs: units, unwritten, ...(decided && { atOnce: 1 }) }, (run) => {
        reader.each(run.tensor, { start: cells.first(run.box), stride: cells.stride }, places, fold.row)
        return decided?.()
      })
      tree.add({ region: cells.region, found: fold.found, others: fold.others })
    },
    finish(all) {
      const { found, others } = merge(all === undefined ? [] : [all], [wholeBox(source.shape)])
      if (zeros) return shaped('float64', found.map((count, cell) => count + others[cell]!), layout, options) // biome-ignore format: one line
      return shaped(kind === 'count' ? 'float64' : 'bool', truthOf(kind, found, others), layout, options)
    },
  }
}
