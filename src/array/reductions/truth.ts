import { type DType, isBigInt, isFixed, type ScalarOf } from '../../core/dtype.ts'
import type { Tensor } from '../../core/tensor.ts'
import { type Box, wholeBox } from '../../grid/range.ts'
import type { BlockSource } from '../source.ts'
import { isCount, TruthFold, type TruthKind, truthOf } from './fold.ts'
import type { CountOptions } from './options.ts'
import { layoutOf, shaped } from './reduce.ts'
import { RegionCells } from './region-cells.ts'
import { RowReader, skippedOf } from './rows.ts'
import { eachRun, eachUnwritten } from './runs.ts'
import { type DividedReduction, unitsOf } from './units.ts'

/** Numbers of elements of the cells of a region that satisfy a condition, and of the others. */
export interface TruthCells {
  readonly region: Box
  readonly found: Float64Array
  readonly others: Float64Array
}

/**
 * Divides a count of elements, or whether any or all of them satisfy a condition. Counts do not depend on the
 * order in which they are added.
 */
export function divideTruth(
  source: BlockSource,
  kind: TruthKind,
  options: CountOptions,
  unitBytes: number,
): DividedReduction<TruthCells, Tensor | ScalarOf<DType>> {
  const { dtype } = source
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
      const decided = isCount(kind) ? undefined : () => fold.decided()
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
      return shaped(isCount(kind) ? 'float64' : 'bool', truthOf(kind, found, others), layout, options)
    },
  }
}
