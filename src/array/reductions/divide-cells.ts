import type { MergeTree } from '../../aggregate/merge-tree.ts'
import { type DType, isBigInt, isFixed, type ScalarOf, type TypedArray } from '../../core/dtype.ts'
import type { Signal } from '../../core/signal.ts'
import type { Tensor } from '../../core/tensor.ts'
import { wholeBox } from '../../grid/range.ts'
import type { BlockSource } from '../source.ts'
import { createFold, emptyExtreme, type Fold, type FoldColumns, isCount, type TruthKind } from './fold.ts'
import { checkFoldable, chooseRowMode, type FoldKind, type FoldOptions, foldedDType } from './fold-kinds.ts'
import type { CountOptions } from './options.ts'
import { layoutOf, type ReduceOptions, shaped } from './reduce.ts'
import { type AxisGroups, type CellRegion, RegionCells } from './region-cells.ts'
import { type RowMode, RowReader, type SkipOptions, skippedOf } from './rows.ts'
import { foldRuns, type Run, readRows, unwrittenValue } from './runs.ts'
import { type DividedReduction, firstPiece, type PiecedUnits, unitsOf } from './units.ts'

/** Cells of some units. */
export interface FoldedCells extends CellRegion {
  readonly columns: FoldColumns
  /**
   * Number of unwritten elements of each cell, which are added after all others. Optional: omitted without
   * such elements.
   */
  readonly unwritten?: Float64Array | undefined
}

/** A reduction whose elements are folded row by row. */
interface CellFolding {
  readonly source: BlockSource
  readonly kind: FoldKind | TruthKind
  readonly mode: RowMode
  readonly options: SkipOptions & FoldOptions & Pick<CountOptions, 'where'>
  readonly reduced: readonly boolean[]
  readonly pieced: PiecedUnits
  readonly grouping?: AxisGroups
}

/**
 * Divides a reduction that is folded row by row. Unless the order of elements does not matter, each unit is
 * folded by itself, and unwritten elements are counted and added last. The result then does not depend on the
 * division.
 * @param result converts the values of all cells
 */
export function divideCells<R>(folding: CellFolding, result: (values: TypedArray) => R): DividedReduction<FoldedCells, R> {
  const { source, reduced, grouping, pieced } = folding
  const merged = (cells: RegionCells, parts: readonly FoldedCells[]): { fold: Fold; unwritten: Float64Array | undefined } => {
    const fold = foldFor(folding, cells)
    const unwritten = parts.some((part) => part.unwritten !== undefined) ? new Float64Array(cells.size) : undefined
    for (const part of parts)
      cells.each(part, (i, cell) => {
        fold.merge(cell, part.columns, i)
        if (part.unwritten !== undefined) unwritten![cell]! += part.unwritten[i]!
      })
    return { fold, unwritten }
  }
  return {
    units: pieced.units,
    merge(parts) {
      const cells = RegionCells.ofParts(parts, reduced, grouping)
      const { fold, unwritten } = merged(cells, parts)
      return { ...foldedCells(cells, fold), unwritten }
    },
    absorb: () => undefined,
    async reduce(from, to, tree, { signal }) {
      if (from !== to) await foldUnits(folding, [from, to], tree, signal)
    },
    finish(all) {
      const cells = new RegionCells([wholeBox(source.shape)], reduced, grouping)
      const { fold, unwritten } = merged(cells, all === undefined ? [] : [all])
      const value = unwrittenValue(source, readerFor(folding))?.value
      for (const [cell, times] of (unwritten ?? []).entries()) if (times > 0) fold.repeat(value as never, times, cell)
      return result(fold.finish())
    },
  }
}

const readerFor = ({ source, mode, options }: CellFolding): RowReader =>
  new RowReader(source.dtype, mode, skippedOf(source, options))

function foldFor(folding: CellFolding, { size }: RegionCells): Fold {
  const { kind, source, options } = folding
  const { skipped } = readerFor(folding)
  const empty = emptyExtreme(source.dtype, skippedOf(source, options))
  return createFold(kind, { ...options, dtype: source.dtype, cells: size, skipped, empty })
}

const foldedCells = ({ region, groups }: RegionCells, { columns }: Fold): FoldedCells => ({ region, groups, columns })

/** Kinds whose results do not depend on the order in which elements are added. */
const ORDERLESS: ReadonlySet<string> = new Set<TruthKind>(['count', 'countNonzero', 'any', 'all'])

/** Folds units, and adds their cells to the tree. */
async function foldUnits(
  folding: CellFolding,
  [from, to]: readonly [number, number],
  tree: MergeTree<FoldedCells>,
  signal: Signal | undefined,
): Promise<void> {
  const { source, kind, reduced, grouping, pieced } = folding
  const { units, pieces } = pieced
  const reader = readerFor(folding)
  const spanned = RegionCells.ofUnits(units, [from, to], reduced, grouping)
  const runs = { signal, runs: pieces, between: [firstPiece(pieced, from), firstPiece(pieced, to)] as const }
  if (ORDERLESS.has(kind)) {
    const fold = foldFor(folding, spanned)
    await foldRuns(source, reader, spanned, { ...fold, add: (run) => addRun(reader, run, spanned, fold) }, runs)
    tree.add(foldedCells(spanned, fold))
    return
  }
  let unwritten = undefined as Float64Array | undefined
  const repeat = (_: never, times: number, cell: number): void => {
    unwritten ??= new Float64Array(spanned.size)
    unwritten[cell]! += times
  }
  let [next, unit] = [from, from]
  let open: { readonly cells: RegionCells; readonly fold: Fold } | undefined
  const close = (): void => {
    if (open === undefined) return
    tree.add(foldedCells(open.cells, open.fold))
    next = unit + 1
  }
  const add = (run: Run): void => {
    const number = units.chunkIndex(units.find(run.box.map(({ start }) => start)))
    if (open === undefined || number !== unit) {
      close()
      tree.skip(number - next)
      unit = number
      const cells = new RegionCells([units.box(units.index(number))], reduced, grouping)
      open = { cells, fold: foldFor(folding, cells) }
    }
    addRun(reader, run, open.cells, open.fold)
  }
  await foldRuns(source, reader, spanned, { add, repeat }, runs)
  close()
  if (unwritten !== undefined) tree.add({ ...foldedCells(spanned, foldFor(folding, spanned)), unwritten })
}

/** Adds the elements of a run to their cells. */
function addRun(reader: RowReader, run: Run, cells: RegionCells, { row }: Fold): void {
  for (const { tensor, first } of cells.partsOf(run)) readRows(reader, tensor, cells, first, row)
}

/** Divides the product of elements. */
export function divideProduct(
  source: BlockSource,
  options: ReduceOptions,
  unitBytes: number,
): DividedReduction<FoldedCells, Tensor | ScalarOf<DType>> {
  const { dtype } = source
  checkFoldable('prod', dtype)
  const layout = layoutOf(source, options.axis)
  const units = unitsOf(source, unitBytes)
  const pieced = { units, pieces: units }
  return divideCells({ source, kind: 'prod', mode: chooseRowMode('prod'), options, reduced: layout.reduced, pieced }, (values) =>
    shaped(foldedDType(dtype, 'prod'), values, layout, options),
  )
}

/** Divides a count of elements, or whether any or all of them satisfy a condition. */
export function divideTruth(
  source: BlockSource,
  kind: TruthKind,
  options: CountOptions,
  unitBytes: number,
): DividedReduction<FoldedCells, Tensor | ScalarOf<DType>> {
  const { dtype } = source
  const layout = layoutOf(source, options.axis)
  const units = unitsOf(source, unitBytes)
  const mode = options.where || isBigInt(dtype) || !isFixed(dtype) ? 'raw' : 'float'
  const pieced = { units, pieces: units }
  return divideCells({ source, kind, mode, options, reduced: layout.reduced, pieced }, (values) =>
    shaped(isCount(kind) ? 'float64' : 'bool', values, layout, options),
  )
}
