import { type Cursor, damaged, refuse } from '../cursor.ts'
import { LIMITS } from '../limits.ts'

/** Positions along one axis: blocks of `block` positions, every `stride`. Infinity stands for unlimited. */
export interface AxisBlocks {
  readonly start: number
  readonly stride: number
  readonly count: number
  readonly block: number
  /** Largest number of positions. Optional: all blocks are taken whole. */
  readonly slices?: number
}

/** A box of selected elements. */
export type SelectedBlock = readonly { readonly start: number; readonly stop: number }[]

/** A selection of elements of an array, in C order. */
export type StoredSelection =
  | { readonly kind: 'all' }
  | { readonly kind: 'none' }
  | { readonly kind: 'regular'; readonly axes: readonly AxisBlocks[] }
  | { readonly kind: 'irregular'; readonly rank: number; readonly blocks: readonly SelectedBlock[] }

const [NONE, POINTS, HYPERSLAB, ALL] = [0, 1, 2, 3]

/** Parses a selection as it is stored. */
export function parseStoredSelection(cursor: Cursor): StoredSelection {
  const { position } = cursor
  const type = cursor.u32()
  const version = cursor.u32()
  if (type === NONE || type === ALL) {
    cursor.skip(8)
    return { kind: type === ALL ? 'all' : 'none' }
  }
  if (type === POINTS) return refuse('a virtual array selects points, which is not read here')
  if (type !== HYPERSLAB) return damaged(`a selection of kind ${type}`, position, type)
  if (version === 1) return parseBlocks(cursor.skip(8), 4)
  if (version !== 2 && version !== 3) return refuse(`version ${version} of a selection is not read here`, version)
  const flags = cursor.u8()
  const size = version === 2 ? 8 : cursor.u8()
  if (![2, 4, 8].includes(size)) damaged(`numbers of ${size} bytes in a selection`, position, size)
  if (version === 2) cursor.skip(4)
  return (flags & 1) === 0 ? parseBlocks(cursor, size) : parseRegular(cursor, size)
}

function parseRank(cursor: Cursor): number {
  const { position } = cursor
  const rank = cursor.u32()
  if (rank < 1 || rank > LIMITS.rank) damaged(`a selection of ${rank} axes`, position, rank)
  return rank
}

function parseRegular(cursor: Cursor, size: number): StoredSelection {
  const rank = parseRank(cursor)
  const axes = Array.from({ length: rank }, (): AxisBlocks => {
    const { position } = cursor
    const start = cursor.uint(size)
    const stride = cursor.uint(size)
    const axis = { start, stride, count: parseCount(cursor, size), block: parseCount(cursor, size) }
    const isValid =
      axis.block >= 1 && (axis.count <= 1 || stride >= axis.block) && !(axis.count === Infinity && axis.block === Infinity)
    return isValid ? axis : damaged(`blocks of ${axis.block}, every ${stride}`, position)
  })
  if (axes.some(({ count }) => count === 0)) return { kind: 'none' }
  if (axes.filter(isUnlimited).length > 1) damaged('a selection has two unlimited axes', cursor.start)
  return { kind: 'regular', axes }
}

/** Returns a number; Infinity for all ones. */
function parseCount(cursor: Cursor, size: number): number {
  const bytes = cursor.slice(size)
  if (bytes.every((byte) => byte === 0xff)) return Infinity
  cursor.at -= size
  return cursor.uint(size)
}

function parseBlocks(cursor: Cursor, size: number): StoredSelection {
  const rank = parseRank(cursor)
  const { position } = cursor
  const count = cursor.uint(size)
  if (count > LIMITS.mappedBlocks) refuse(`a selection has ${count} blocks, at most ${LIMITS.mappedBlocks} are read`, count)
  const blocks = Array.from({ length: count }, (): SelectedBlock => {
    const starts = Array.from({ length: rank }, () => cursor.uint(size))
    return starts.map((start) => {
      const stop = cursor.uint(size) + 1
      return stop > start ? { start, stop } : damaged('a block of a selection ends before it starts', position)
    })
  })
  return count === 0 ? { kind: 'none' } : { kind: 'irregular', rank, blocks }
}

export const isUnlimited = ({ count, block }: AxisBlocks): boolean => count === Infinity || block === Infinity

/**
 * Divides an irregular selection into boxes whose elements follow one another in C order, in that order.
 * Blocks may overlap.
 */
export function boxesInOrder(blocks: readonly SelectedBlock[]): SelectedBlock[] {
  const boxes: SelectedBlock[] = []
  let compared = 0
  const visit = (inside: readonly SelectedBlock[], axis: number, above: SelectedBlock): void => {
    if (boxes.length > LIMITS.mappedBlocks) refuse(`a selection is in more than ${LIMITS.mappedBlocks} boxes`)
    if (axis === inside[0]!.length) {
      boxes.push(above)
      return
    }
    const cuts = [...new Set(inside.flatMap((block) => [block[axis]!.start, block[axis]!.stop]))].sort((a, b) => a - b)
    const waiting = [...inside].sort((a, b) => b[axis]!.start - a[axis]!.start)
    let here: SelectedBlock[] = []
    for (let i = 0; i + 1 < cuts.length; i++) {
      const [start, stop] = [cuts[i]!, cuts[i + 1]!]
      here = here.filter((block) => block[axis]!.stop > start)
      while (waiting.length > 0 && waiting.at(-1)![axis]!.start <= start) here.push(waiting.pop()!)
      compared += here.length
      if (compared > LIMITS.comparedBlocks)
        refuse(`the blocks of a selection overlap too often: more than ${LIMITS.comparedBlocks} comparisons`)
      if (here.length === 0) continue
      const isBox = here.every((block) => block.slice(axis + 1).every((range, k) => sameRange(range, here[0]![axis + 1 + k]!)))
      if (isBox) boxes.push([...above, { start, stop }, ...here[0]!.slice(axis + 1)])
      else for (let row = start; row < stop; row++) visit(here, axis + 1, [...above, { start: row, stop: row + 1 }])
    }
  }
  visit(blocks, 0, [])
  return boxes
}

const sameRange = (a: SelectedBlock[number], b: SelectedBlock[number]): boolean => a.start === b.start && a.stop === b.stop
