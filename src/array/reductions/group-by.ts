import { cellBox, eachCell } from '../../aggregate/cells.ts'
import type { MergeTree } from '../../aggregate/merge-tree.ts'
import type { DType } from '../../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import { Pace } from '../../core/pace.ts'
import { quoted } from '../../core/quoted.ts'
import { showShape, sizeOf, stridesOf } from '../../core/shape.ts'
import type { Signal } from '../../core/signal.ts'
import { type Tensor, tensorOf, viewTensor } from '../../core/tensor.ts'
import { type Box, boxShape, type Range, wholeBox } from '../../grid/range.ts'
import { cutBox, hullOf, TouchedChunks } from '../../grid/touched.ts'
import { type Axis, resolveAxes } from '../axes.ts'
import { checkBytes, MAX_RESULT_BYTES } from '../bounds.ts'
import type { BlockSource } from '../source.ts'
import { emptyExtreme, foldOf } from './fold.ts'
import { checkKind, type Fold, type FoldColumns, type FoldedDType, type FoldKind, foldedDType, modeOf } from './fold-kinds.ts'
import type { GroupOptions } from './options.ts'
import { RowReader, skippedOf } from './rows.ts'
import { eachRun, MOST_CELLS, unwrittenValue } from './runs.ts'
import { type DividedReduction, firstPiece, type PiecedUnits, unitsAlong } from './units.ts'

/** Groups of positions, each reduced to one. */
export interface GroupByResult<R extends DType, L> {
  /** Distinct labels in order of first appearance. */
  readonly labels: readonly L[]
  /** The reduced array, in which groups replace the axis. */
  readonly values: Tensor<R>
}

/**
 * Partial result of some groups: cells in C order, in which groups replace the axis, and the number of
 * unwritten elements.
 */
export interface GroupCells {
  /** Group numbers, ascending. */
  readonly groups: readonly number[]
  /** Region of the cells along the other axes; the axis of groups has length 1. */
  readonly region: Box
  readonly columns: FoldColumns
  readonly unwritten: Float64Array | undefined
}

/**
 * Reduces the positions of an axis that have the same label together, reading each chunk once. Unwritten
 * elements of units are counted, and added last.
 * @throws InvalidArgumentError if there is another number of labels than positions
 */
export function divideGroups<D extends DType, L, K extends FoldKind>(
  source: BlockSource<D>,
  options: GroupOptions,
  unitBytes: number,
  along: Axis,
  given: Iterable<L>,
  kind: K,
): DividedReduction<GroupCells, GroupByResult<FoldedDType<D, K>, L>> {
  checkKind('groupBy', kind, source)
  const axis = [...resolveAxes(along, source)][0]!
  const { numbers, groupOf } = groupsByLabel(source, axis, along, given)
  const shape = replaced(source.shape, axis, numbers.size)
  checkBytes(source, 16 * sizeOf(shape), 2 * MAX_RESULT_BYTES, `the result ${showShape(shape)}`, 'reduce parts of the array')
  const skipped = skippedOf(source, options)
  const readerOf = (): RowReader => new RowReader(source.dtype, modeOf(kind), skipped)
  const foldOptions = { ...options, empty: emptyExtreme(source.dtype, skipped) }
  const foldFor = (cells: number): Fold => foldOf(kind, source.dtype, cells, readerOf().skipped, foldOptions)
  foldFor(0)
  const reduced = source.shape.map((_, k) => k === axis)
  const pieced = unitsAlong(source, unitBytes, reduced)
  const grouping = { source, axis, groupOf, reduced, pieced, readerOf, foldFor }
  const all = Array.from({ length: numbers.size }, (_, group) => group)
  return {
    units: pieced.units,
    merge(parts) {
      const groups = [...new Set(parts.flatMap((part) => part.groups))].sort((a, b) => a - b)
      const cells = new GroupedCells(axis, groups, cellBox(hullOf(parts.map(({ region }) => region)), reduced))
      const { fold, unwritten } = mergedGroups(foldFor, cells, parts)
      return { groups, region: cells.region, columns: fold.columns, unwritten }
    },
    absorb: () => undefined,
    async reduce(from, to, tree, { signal }) {
      if (from !== to) await reduceGroups(grouping, [from, to], tree, signal)
    },
    finish(part) {
      const cells = new GroupedCells(axis, all, cellBox(wholeBox(source.shape), reduced))
      const { fold, unwritten } = mergedGroups(foldFor, cells, part === undefined ? [] : [part])
      const value = unwrittenValue(source, readerOf())?.value
      for (const [cell, times] of (unwritten ?? []).entries()) if (times > 0) fold.repeat(value as never, times, cell)
      const dtype = foldedDType(source.dtype, kind)
      return { labels: [...numbers.keys()], values: tensorOf(dtype, shape, fold.finish() as never) as never }
    },
  }
}

/** The division of an axis into groups, and how their elements are read and folded. */
interface Grouping {
  readonly source: BlockSource
  readonly axis: number
  /** Number of the group of each position along the axis. */
  readonly groupOf: readonly number[]
  /** Whether an axis is reduced, for each axis. */
  readonly reduced: readonly boolean[]
  readonly pieced: PiecedUnits
  readerOf(): RowReader
  foldFor(cells: number): Fold
}

/**
 * Numbers the labels in order of first appearance.
 * @throws InvalidArgumentError if there is another number of labels than positions
 */
function groupsByLabel<L>(
  { shape }: BlockSource,
  axis: number,
  along: Axis,
  given: Iterable<L>,
): { readonly numbers: ReadonlyMap<L, number>; readonly groupOf: readonly number[] } {
  if (typeof (Object(given) as Iterable<L>)[Symbol.iterator] !== 'function')
    invalidArgument(`groupBy: labels must be a list, got ${quoted(given)}`, given)
  const numbers = new Map<L, number>()
  const groupOf = Array.from(given, (label) => {
    if (!numbers.has(label)) numbers.set(label, numbers.size)
    return numbers.get(label)!
  })
  if (groupOf.length === shape[axis]) return { numbers, groupOf }
  const text = `${groupOf.length} labels for axis ${along} of an array of shape ${showShape(shape)}`
  throw new HyperslabError('InvalidArgumentError', text, { axis, actual: groupOf.length, expected: shape[axis] })
}

/** Merges parts into cells. */
function mergedGroups(
  foldFor: Grouping['foldFor'],
  cells: GroupedCells,
  parts: readonly GroupCells[],
): { readonly fold: Fold; readonly unwritten: Float64Array | undefined } {
  const fold = foldFor(cells.size)
  const unwritten = parts.some((part) => part.unwritten !== undefined) ? new Float64Array(cells.size) : undefined
  for (const part of parts)
    cells.eachOf(part, (i, cell) => {
      fold.merge(cell, part.columns, i)
      if (part.unwritten !== undefined) unwritten![cell]! += part.unwritten[i]!
    })
  return { fold, unwritten }
}

/** Reduces units, and adds their cells to the tree. */
async function reduceGroups(
  grouping: Grouping,
  [from, to]: readonly [number, number],
  tree: MergeTree<GroupCells>,
  signal: Signal | undefined,
): Promise<void> {
  const { source, axis, groupOf, reduced, pieced, readerOf, foldFor } = grouping
  const { units } = pieced
  const reader = readerOf()
  const groupsOf = ({ start, stop }: Range): number[] => [...new Set(groupOf.slice(start, stop))].sort((a, b) => a - b)
  const hull = hullOf([...new TouchedChunks(wholeBox(source.shape), units).boxes(from, to)])
  const rest = new UnwrittenCells(grouping, new GroupedCells(axis, groupsOf(hull[axis]!), cellBox(hull, reduced)), signal)
  let [next, unit] = [from, from - 1]
  let cells: GroupedCells | undefined
  let fold: Fold | undefined
  const close = (): void => {
    if (cells === undefined) return
    tree.add({ groups: cells.groups, region: cells.region, columns: fold!.columns, unwritten: undefined })
    next = unit + 1
  }
  const places = { start: 0, stride: source.shape.map(() => 0) }
  const between = [firstPiece(pieced, from), firstPiece(pieced, to)] as const
  const unwritten = (box: Box): Promise<void> => rest.count(box)
  await eachRun(source, { signal, runs: pieced.pieces, between, unwritten }, ({ box, tensor }) => {
    const number = units.number(units.find(box.map(({ start }) => start)))
    if (number !== unit) {
      close()
      tree.skip(number - next)
      unit = number
      const whole = units.box(units.index(number))
      cells = new GroupedCells(axis, groupsOf(whole[axis]!), cellBox(whole, reduced))
      fold = foldFor(cells.size)
    }
    const { start, stop } = box[axis]!
    for (let at = start, end = start; at < stop; at = end) {
      while (end < stop && groupOf[end] === groupOf[at]) end++
      const whole = tensor.shape.map((length) => ({ start: 0, step: 1, length }))
      const slice = viewTensor(tensor, replaced(whole, axis, { start: at - start, step: 1, length: end - at }))
      reader.each(slice, { start: cells!.first(groupOf[at]!, box), stride: cells!.stride }, places, fold!.row)
    }
  })
  close()
  rest.addTo(tree)
}

/** Numbers of unwritten elements of each cell. They are folded once, after all others. */
class UnwrittenCells {
  readonly #grouping: Grouping
  readonly #cells: GroupedCells
  readonly #isKept: boolean
  readonly #pace: Pace
  #counts: Float64Array | undefined

  constructor(grouping: Grouping, cells: GroupedCells, signal: Signal | undefined) {
    this.#grouping = grouping
    this.#cells = cells
    this.#isKept = unwrittenValue(grouping.source, grouping.readerOf()) !== undefined
    this.#pace = new Pace(signal)
  }

  /** Counts the elements of an unwritten box, unless they are skipped. */
  async count(box: Box): Promise<void> {
    if (!this.#isKept) return
    const { axis, groupOf, reduced } = this.#grouping
    this.#counts ??= new Float64Array(this.#cells.size)
    const counts = this.#counts
    const times = new Map<number, number>()
    for (let k = box[axis]!.start; k < box[axis]!.stop; k++) times.set(groupOf[k]!, (times.get(groupOf[k]!) ?? 0) + 1)
    for (const [group, more] of times)
      for (const part of cutBox(cellBox(box, reduced), MOST_CELLS)) {
        if (this.#pace.due()) await this.#pace.turn()
        eachCell(boxShape(part), this.#cells.first(group, part), this.#cells.stride, (_, cell) => {
          counts[cell]! += more
        })
      }
  }

  addTo(tree: MergeTree<GroupCells>): void {
    if (this.#counts === undefined) return
    const { groups, region, size } = this.#cells
    tree.add({ groups, region, columns: this.#grouping.foldFor(size).columns, unwritten: this.#counts })
  }
}

/** Cells of some groups, which replace an axis, over a region of the other axes, in C order. */
class GroupedCells {
  readonly groups: readonly number[]
  readonly region: Box
  readonly size: number
  /** Number of cells between neighbours along each axis; 0 along the axis of groups. */
  readonly stride: readonly number[]
  readonly #axis: number
  readonly #step: number
  readonly #places: ReadonlyMap<number, number>

  /** @param region has length 1 along the axis */
  constructor(axis: number, groups: readonly number[], region: Box) {
    const shape = replaced(boxShape(region), axis, groups.length)
    const stride = stridesOf(shape)
    this.groups = groups
    this.region = region
    this.size = sizeOf(shape)
    this.stride = replaced(stride, axis, 0)
    this.#axis = axis
    this.#step = stride[axis]!
    this.#places = new Map(groups.map((group, i) => [group, i]))
  }

  /** Returns the cell of a group that the first element of a box is reduced to. */
  first(group: number, box: Box): number {
    const start = this.#places.get(group)! * this.#step
    return box.reduce((cell, range, k) => cell + (range.start - this.region[k]!.start) * this.stride[k]!, start)
  }

  /** Visits the cells of a part, with their numbers here. */
  eachOf({ groups, region }: GroupCells, visit: (i: number, cell: number) => void): void {
    const shape = boxShape(region)
    const inner = sizeOf(shape.slice(this.#axis + 1))
    for (const [at, group] of groups.entries())
      eachCell(shape, this.first(group, region), this.stride, (i, cell) => {
        const outer = Math.floor(i / inner)
        visit(i + (outer * (groups.length - 1) + at) * inner, cell)
      })
  }
}

const replaced = <T>(list: readonly T[], axis: number, item: T): T[] => list.map((each, k) => (k === axis ? item : each))
