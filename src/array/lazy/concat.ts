import type { DType, ScalarOf } from '../../core/dtype.ts'
import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { quoted } from '../../core/quoted.ts'
import { eachIndex, showShape, sizeOf, stridesOf } from '../../core/shape.ts'
import { type Axis, resolveAxes } from '../axes.ts'
import { sourceOf } from '../operand.ts'
import type { BlockSource } from '../source.ts'
import { astype, promote } from './astype.ts'
import { expandDims } from './axis-order.ts'
import { mosaicSource, type Tile } from './mosaic.ts'

/** Arrays in lists, nested once per axis of joining; `null` stands for a missing tile. */
export type TileGrid<T> = readonly (T | null | TileGrid<T>)[]

/** Options of `concat`. */
export interface ConcatOptions<D extends DType = DType> {
  /** The axis, or one per level of nesting, by number or name; by default the first axes. */
  readonly axis?: Axis | readonly Axis[]
  /**
   * Value of missing tiles and of all missing elements. By default the missing value of the first array that
   * has one, or else its fill value.
   */
  readonly fillValue?: ScalarOf<D>
}

const CONCAT_CHECKS: Checks<ConcatOptions> = { axis: 'number or string or list', fillValue: 'value' }

/**
 * Joins arrays one after another along an axis, or nested lists of them along several. Their data types are
 * promoted to one. A missing tile has the size of the other tiles in its row, or length 1 if there are none.
 * @throws InvalidArgumentError if there is no array, if lists are not nested evenly, or if lengths do not
 *   form a grid
 */
export function concatSource(tiles: TileGrid<BlockSource>, options: ConcatOptions = {}): BlockSource {
  checkOptions('concat', options, CONCAT_CHECKS)
  const { axis, fillValue } = options
  const { counts, list } = flatten(tiles)
  const first = list.find((tile) => tile !== null) ?? invalidArgument('there are no arrays', tiles)
  const axes = axis === undefined ? [...counts.keys()] : [...resolveAxes(axis as Axis, first)]
  if (axes.length !== counts.length || axes.some((each) => each >= first.shape.length))
    invalidArgument(`lists nested ${counts.length} deep go along as many axes, not ${axes.length} of ${first.shape.length}`, axis)
  const dtype = promote([...new Set(list.flatMap((tile) => (tile === null ? [] : [tile.dtype])))])
  const stride = stridesOf(counts)
  const placeOf = (number: number, level: number): number => Math.floor(number / stride[level]!) % counts[level]!
  const lengths = first.shape.map((length, each) => {
    const level = axes.indexOf(each)
    return lengthsAlong(list, each, level < 0 ? [length] : new Array<number>(counts[level]!), (i) =>
      level < 0 ? 0 : placeOf(i, level),
    )
  })
  const origins = lengths.map((each) => each.map((_, k) => each.slice(0, k).reduce((sum, length) => sum + length, 0)))
  const placed = list.flatMap((tile, number): Tile[] => {
    if (tile === null) return []
    const origin = first.shape.map((_, each) => (axes.includes(each) ? origins[each]![placeOf(number, axes.indexOf(each))]! : 0))
    return [{ origin, source: tile.dtype === dtype ? tile : astype(tile, dtype) }]
  })
  const shape = lengths.map((each) => each.reduce((sum, length) => sum + length, 0))
  return mosaicSource(placed, { shape, ...(fillValue !== undefined && { fillValue }) })
}

/** Options of `stack`; `fillValue` is that of `concat`. */
export interface StackOptions<D extends DType = DType> {
  /** The new axis, or one per level of nesting, by number in the result; by default the first axes. */
  readonly axis?: number | readonly number[]
  readonly fillValue?: ScalarOf<D>
  /** Names of the new dimensions. */
  readonly names?: readonly string[]
}

const STACK_CHECKS: Checks<StackOptions> = { axis: 'number or list', fillValue: 'value', names: 'list of strings' }

/**
 * Joins arrays of one shape along a new axis, or nested lists of them along several.
 * @throws InvalidArgumentError as {@link concatSource}
 */
export function stackSource(tiles: TileGrid<BlockSource>, options: StackOptions = {}): BlockSource {
  checkOptions('stack', options, STACK_CHECKS)
  const { axis, fillValue, names = [] } = options
  const { counts, list } = flatten(tiles)
  const rank = (list.find((tile) => tile !== null)?.shape.length ?? 0) + counts.length
  const given = axis === undefined ? [...counts.keys()] : ([axis].flat() as number[])
  const axes = [...resolveAxes(given, { shape: new Array<number>(rank).fill(1) })]
  const named = axes.map((each, i) => [each, names[i] ?? ''] as const).sort(([a], [b]) => a - b)
  const expanded = mapTiles(tiles, (tile) => named.reduce((below, [each, name]) => expandDims(below, each, name), tile))
  return concatSource(expanded, { axis: axes, ...(fillValue !== undefined && { fillValue }) })
}

/** Maximum depth of nested lists of tiles. */
const MAX_NESTING = 64

/** @throws InvalidArgumentError for a tile that is neither an array, a list of arrays, nor null */
export function listSources<D extends DType>(
  call: string,
  tiles: TileGrid<{ readonly source: BlockSource<D> }>,
  depth = 0,
): TileGrid<BlockSource<D>> {
  if (!Array.isArray(tiles) || depth > MAX_NESTING)
    invalidArgument(`${call} takes lists of arrays, nested at most ${MAX_NESTING} deep, got ${quoted(tiles)}`, tiles)
  return Array.from(tiles as readonly unknown[], (tile) =>
    Array.isArray(tile) ? listSources<D>(call, tile, depth + 1) : tile === null ? null : sourceOf(call, tile as never),
  )
}

const mapTiles = <T, U>(tiles: TileGrid<T>, fn: (tile: T) => U): TileGrid<U> =>
  tiles.map((tile) => (Array.isArray(tile) ? mapTiles(tile, fn) : tile === null ? null : fn(tile as T)))

/** Lists all tiles in C order of the levels. */
function flatten<T>(tiles: TileGrid<T>): { counts: number[]; list: (T | null)[] } {
  const counts: number[] = []
  for (let level: TileGrid<T> | T | null = tiles; Array.isArray(level); level = level[0] as never) counts.push(level.length)
  const list: (T | null)[] = []
  eachIndex(counts, (index) => {
    let tile: unknown = tiles
    index.forEach((i, level) => {
      if (!Array.isArray(tile) || tile.length !== counts[level])
        invalidArgument(`lists of tiles must be nested as ${showShape(counts)}`, tiles)
      tile = (tile as unknown[])[i]
    })
    if (Array.isArray(tile)) invalidArgument(`lists of tiles must be nested as ${showShape(counts)}`, tiles)
    list.push(tile as T | null)
  })
  if (sizeOf(counts) === 0) invalidArgument('there are no arrays', tiles)
  return { counts, list }
}

/** Returns the common length of all tiles at each position along an axis. */
function lengthsAlong(
  list: readonly (BlockSource | null)[],
  axis: number,
  lengths: number[],
  placeOf: (number: number) => number,
): number[] {
  list.forEach((tile, number) => {
    if (tile === null) return
    const place = placeOf(number)
    const length = tile.shape[axis]
    if (length !== (lengths[place] ?? length) || length === undefined) {
      throw new HyperslabError(
        'InvalidArgumentError',
        `arrays of length ${lengths[place]} and ${length} meet along axis ${axis}`,
        {
          ...tile.label,
          axis,
          actual: length,
          expected: lengths[place],
        },
      )
    }
    lengths[place] = length
  })
  return Array.from(lengths, (length) => length ?? 1)
}
