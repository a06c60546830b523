import { type DType, isBigInt, type ScalarOf } from '../../core/dtype.ts'
import type { Tensor } from '../../core/tensor.ts'
import { type Box, wholeBox } from '../../grid/range.ts'
import type { BlockSource } from '../source.ts'
import { ProductFold, WideProductFold } from './fold.ts'
import { checkFoldable, foldedDType, modeOf } from './fold-kinds.ts'
import { layoutOf, type ReduceOptions, shaped } from './reduce.ts'
import { RegionCells } from './region-cells.ts'
import { RowReader, skippedOf } from './rows.ts'
import { eachRun, eachUnwritten, unwrittenValue } from './runs.ts'
import { type DividedReduction, unitsOf } from './units.ts'

/** Products of the cells of a region, and the numbers of unwritten elements in addition. */
export interface ProductCells {
  readonly region: Box
  readonly products: Float64Array | readonly bigint[]
  readonly unwritten: Float64Array
}

/**
 * Divides the product of elements. Unwritten elements are counted, and multiplied last, so that the result
 * does not depend on the division.
 */
export function divideProduct(
  source: BlockSource,
  options: ReduceOptions,
  unitBytes: number,
): DividedReduction<ProductCells, Tensor | ScalarOf<DType>> {
  const { dtype } = source
  checkFoldable('prod', dtype)
  const layout = layoutOf(source, options.axis)
  const { reduced } = layout
  const units = unitsOf(source, unitBytes)
  const reader = (): RowReader => new RowReader(dtype, modeOf('prod'), skippedOf(source, options))
  const { skipped } = reader()
  const foldOf = (cells: number): ProductFold | WideProductFold =>
    isBigInt(dtype) ? new WideProductFold(dtype, cells, skipped) : new ProductFold(cells, skipped)
  return {
    units,
    merge(parts) {
      const cells = new RegionCells(parts.map(({ region }) => region), reduced) // biome-ignore format: one line
      const { fold, unwritten } = mergedProducts(foldOf, cells, parts)
      return { region: cells.region, products: fold.products, unwritten }
    },
    absorb: () => undefined,
    async reduce(from, to, tree, { signal }) {
      if (from === to) return
      const rows = reader()
      const places = { start: 0, stride: reduced.map(() => 0) }
      const rest = RegionCells.ofUnits(units, from, to, reduced)
      const unwritten = new Float64Array(rest.size)
      const count = eachUnwritten(source, rows, rest, signal, (_, times, cell) => {
        unwritten[cell]! += times
      })
      let next = from
      await eachRun(source, { signal, between: [from, to], runs: units, unwritten: count }, ({ box, tensor }) => {
        const number = units.number(units.find(box.map(({ start }) => start)))
        tree.skip(number - next)
        next = number + 1
        const cells = new RegionCells([box], reduced)
        const fold = foldOf(cells.size)
        rows.each(tensor, { start: 0, stride: cells.stride }, places, fold.row)
        tree.add({ region: cells.region, products: fold.products, unwritten: new Float64Array(cells.size) })
      })
      // Empty products change no cell.
      if (unwritten.some((times) => times > 0)) tree.add({ region: rest.region, products: foldOf(rest.size).products, unwritten })
    },
    finish(all) {
      const { fold, unwritten } = mergedProducts(
        foldOf,
        new RegionCells([wholeBox(source.shape)], reduced),
        all === undefined ? [] : [all],
      )
      const value = unwrittenValue(source, reader())?.value
      for (const [cell, times] of unwritten.entries()) if (times > 0) fold.repeat(value as never, times, cell)
      return shaped(foldedDType(dtype, 'prod'), fold.finish(), layout, options)
    },
  }
}

/** Multiplies the products of parts, and adds their numbers of unwritten elements. */
function mergedProducts(
  foldOf: (cells: number) => ProductFold | WideProductFold,
  cells: RegionCells,
  parts: readonly ProductCells[],
): { readonly fold: ProductFold | WideProductFold; readonly unwritten: Float64Array } {
  const [fold, unwritten] = [foldOf(cells.size), new Float64Array(cells.size)]
  for (const part of parts) {
    cells.each(part.region, (i, cell) => {
      fold.multiply(cell, part.products[i] as never)
      unwritten[cell]! += part.unwritten[i]!
    })
  }
  return { fold, unwritten }
}
