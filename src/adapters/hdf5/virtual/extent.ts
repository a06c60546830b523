import { HyperslabError } from '../../../core/errors.ts'
import { isPattern, type Mapping, nameOfBlock } from './mappings.ts'
import { type AxisBlocks, isUnlimited } from './selection.ts'
import { type BlockPlaces, checkTiles, countIn, findEnd, listTiles, type SourceTile, toPlaces } from './tiles.ts'

/** Sources that are looked for at the same time. */
const AT_ONCE = 16

/** Returns the shape of a source; undefined if it is absent. */
export type FindShape = (file: string, array: string) => Promise<readonly number[] | undefined>

/**
 * Returns the parts of a virtual array, and its shape. Unlimited axes end where the last source ends, as in
 * h5py; sources of patterns end with the first that is absent.
 */
export async function resolveTiles(
  mappings: readonly Mapping[],
  stored: readonly number[],
  findShape: FindShape,
): Promise<{ tiles: SourceTile[]; shape: number[] }> {
  const tiles: SourceTile[] = []
  const ends = stored.map((): number | undefined => undefined)
  const least = stored.map(() => 0)
  for (const mapping of mappings) {
    const { target } = mapping
    const axis = target.kind === 'regular' ? target.axes.findIndex(isUnlimited) : -1
    if (axis < 0) {
      if (isPattern(mapping)) damagedPattern()
      const own = listTiles(mapping, [nameOfBlock(mapping.file, 0), nameOfBlock(mapping.array, 0)], stored)
      tiles.push(...own)
      for (const { places } of own) for (const [at, each] of places.entries()) least[at] = Math.max(least[at]!, findEnd(each))
    } else {
      const axes = (target as { readonly axes: readonly AxisBlocks[] }).axes
      const own = isPattern(mapping)
        ? await findBlocks(mapping, axes, axis, findShape)
        : await sliced(mapping, axes, axis, findShape)
      tiles.push(...own)
      ends[axis] = Math.max(ends[axis] ?? 0, ...own.map(({ places }) => findEnd(places[axis]!)))
      for (const [at, each] of axes.entries()) if (at !== axis) least[at] = Math.max(least[at]!, findEnd(toPlaces(each)))
    }
    checkTiles(tiles.length)
  }
  return { tiles, shape: stored.map((length, axis) => (ends[axis] === undefined ? length : Math.max(ends[axis], least[axis]!))) }
}

function damagedPattern(): never {
  throw new HyperslabError('FormatError', 'a virtual array has a pattern of names, and its selection is not unlimited')
}

/** Returns the tiles of a pattern, one for each block whose source exists. */
async function findBlocks(
  mapping: Mapping,
  axes: readonly AxisBlocks[],
  axis: number,
  findShape: FindShape,
): Promise<SourceTile[]> {
  const tiles: SourceTile[] = []
  const { start, stride, count, block } = axes[axis]!
  if (count !== Infinity) return damagedPattern()
  for (let from = 0; ; from += AT_ONCE) {
    const names = Array.from({ length: AT_ONCE }, (_, i) => {
      return [nameOfBlock(mapping.file, from + i), nameOfBlock(mapping.array, from + i)] as const
    })
    const found = await Promise.all(names.map(([file, array]) => findShape(file, array)))
    const absent = found.indexOf(undefined)
    for (const [i, name] of names.slice(0, absent < 0 ? AT_ONCE : absent).entries()) {
      const at = { start: start + (from + i) * stride, stride: block, count: 1, block }
      const target = { kind: 'regular', axes: axes.map((each, k) => (k === axis ? at : each)) } as const
      tiles.push(
        ...listTiles(
          { ...mapping, target },
          name,
          axes.map(() => 0),
        ),
      )
    }
    checkTiles(tiles.length)
    if (absent >= 0) return tiles
  }
}

/** Returns the tile of a source that is unlimited itself. */
async function sliced(mapping: Mapping, axes: readonly AxisBlocks[], axis: number, findShape: FindShape): Promise<SourceTile[]> {
  const [file, array] = [nameOfBlock(mapping.file, 0), nameOfBlock(mapping.array, 0)]
  const shape = await findShape(file, array)
  if (shape === undefined) return []
  const { source } = mapping
  const own = source.kind === 'regular' ? source.axes.findIndex(isUnlimited) : -1
  if (source.kind !== 'regular' || own < 0)
    throw new HyperslabError('FormatError', 'a virtual array is unlimited, and its source is not')
  const slices = countWithin(source.axes[own]!, shape[own] ?? 0)
  const limited = source.axes.map((each, k) => (k === own ? limitBlocks(each, slices) : each))
  const places = axes.map((each, k): BlockPlaces => toPlaces(k === axis ? { ...each, slices } : each))
  if (slices === 0) return []
  const total = countIn(places)
  return [{ places, first: 0, file, array, source: { kind: 'regular', axes: limited }, total }]
}

/** Number of selected positions below a length. */
function countWithin({ start, stride, block }: AxisBlocks, length: number): number {
  if (start >= length) return 0
  if (block === Infinity || block === stride) return length - start
  const from = length - start
  return Math.floor(from / stride) * block + Math.min(block, from % stride)
}

/** Returns blocks of so many positions. The last one may be cut. */
function limitBlocks({ start, stride, block }: AxisBlocks, slices: number): AxisBlocks {
  return { start, stride, count: block === Infinity ? 1 : Math.ceil(slices / block), block: Math.min(block, slices), slices }
}
