import { cellBox, eachCell } from '../../aggregate/cells.ts'
import type { DType } from '../../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import { Pace } from '../../core/pace.ts'
import { quoted } from '../../core/quoted.ts'
import { showShape, sizeOf, stridesOf } from '../../core/shape.ts'
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
import { type DividedReduction, firstPiece, unitsAlong } from './units.ts'

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
  if (typeof (Object(given) as Iterable<L>)[Symbol.iterator] !== 'function')
    invalidArgument(`groupBy: labels must be a list, got ${quoted(given)}`, given)
  const numbers = new Map<L, number>()
  const groupOf = Array.from(given, (label) => {
    if (!numbers.has(label)) numbers.set(label, numbers.size)
    return numbers.get(label)!
  })
  if (groupOf.length !== source.shape[axis]) {
    const text = `${groupOf.length} labels for axis ${along} of an array of shape ${showShape(source.shape)}`
    throw new HyperslabError('InvalidArgumentError', text, { axis, actual: groupOf.length, expected: source.shape[axis] })
  }
  const shape = replaced(source.shape, axis, numbers.size)
  checkBytes(source, 16 * sizeOf(shape), 2 * MAX_RESULT_BYTES, `the result ${showShape(shape)}`, 'reduce parts of the array')
  const skipped = skippedOf(source, options)
  const readerOf = (): RowReader => new RowReader(source.dtype, modeOf(kind), skipped)
  const foldOptions = { ...options, empty: emptyExtreme(source.dtype, skipped) }
  const foldFor = (cells: number): Fold => foldOf(kind, source.dtype, cells, readerOf().skipped, foldOptions)
  foldFor(0)
  const reduced = source.shape.map((_, k) => k === axis)
  const pieced = unitsAlong(source, unitBytes, reduced)
  const { units } = pieced
  const groupsOf = ({ start, stop }: Range): number[] => [...new Set(groupOf.slice(start, stop))].sort((a, b) => a - b)
  const all = Array.from({ length: numbers.size }, (_, group) => group)

  const merged = (cells: GroupedCells, parts: readonly GroupCells[]): { fold: Fold; unwritten: Float64Array | undefined } => {
    const fold = foldFor(cells.size)
    const unwritten = parts.some((part) => part.unwritten !== undefined) ? new Float64Array(cells.size) : undefined
    for (const part of parts)
      cells.eachOf(part, (i, cell) => {
        fold.merge(cell, part.columns, i)
        if (part.unwritten !== undefined) unwritten![cell]! += part.unwritten[i]!
      })
    return { fold, unwritten }
  }
  return {
    units,
    merge(parts) {
      const groups = [...new Set(parts.flatMap((part) => part.groups))].sort((a, b) => a - b)
      const cells = new GroupedCells(axis, groups, cellBox(hullOf(parts.map(({ region }) => region)), reduced))
      const { fold, unwritten } = merged(cells, parts)
      return { groups, region: cells.region, columns: fold.columns, unwritten }
    },
    absorb: () => undefined,
    async reduce(from, to, tree, { signal }) {
      if (from === to) return
      const reader = readerOf()
      const isKept = unwrittenValue(source, reader) !== undefined
      const pace = new Pace(signal)
      const hull = hullOf([...new TouchedChunks(wholeBox(source.shape), units).boxes(from, to)])
      const rest = new GroupedCells(axis, groupsOf(hull[axis]!), cellBox(hull, reduced))
      let unwritten: Float64Array | undefined
      const count = async (box: Box): Promise<void> => {
        if (!isKept) return
        unwritten ??= new Float64Array(rest.size)
        const times = new Map<number, number>()
        for (let k = box[axis]!.start; k < box[axis]!.stop; k++) times.set(groupOf[k]!, (times.get(groupOf[k]!) ?? 0) + 1)
        for (const [group, more] of times)
          for (const part of cutBox(cellBox(box, reduced), MOST_CELLS)) {
            if (pace.due()) await pace.turn()
            eachCell(boxShape(part), rest.first(group, part), rest.stride, (_, cell) => {
              unwritten![cell]! += more
            })
          }
      }
      let [next, unit] = [from, from - 1]
      let cells: GroupedCells | undefined
      let fold: Fold | undefined
      const close = (): void => {
        if (cells === undefined) return
        tree.add({ groups: cells.groups, region: cells.region, columns: fold!.columns, unwritten: undefined })
        next = unit + 1
      }
      const places = { start: 0, stride: shape.map(() => 0) }
      const between = [firstPiece(pieced, from), firstPiece(pieced, to)] as const
      await eachRun(source, { signal, runs: pieced.pieces, between, unwritten: count }, ({ box, tensor }) => {
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
      if (unwritten !== undefined)
        tree.add({ groups: rest.groups, region: rest.region, columns: foldFor(rest.size).columns, unwritten })
    },
    finish(part) {
      const cells = new GroupedCells(axis, all, cellBox(wholeBox(source.shape), reduced))
      const { fold, unwritten } = merged(cells, part === undefined ? [] : [part])
      const value = unwrittenValue(source, readerOf())?.value
      for (const [cell, times] of (unwritten ?? []).entries()) if (times > 0) fold.repeat(value as never, times, cell)
      const dtype = foldedDType(source.dtype, kind)
      return { labels: [...numbers.keys()], values: tensorOf(dtype, shape, fold.finish() as never) as never }
    },
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
