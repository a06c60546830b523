import { astype, promote } from '../../../array/lazy/astype.ts'
import { view } from '../../../array/lazy/axes-view.ts'
import { concatSource } from '../../../array/lazy/concat.ts'
import { deriveSource } from '../../../array/lazy/derive.ts'
import { rechunk } from '../../../array/lazy/rechunk.ts'
import { reshape } from '../../../array/lazy/reshape.ts'
import { type BlockReadOptions, type BlockSource, type BoxRead, scalarReadsOf } from '../../../array/source.ts'
import { commonDivisor } from '../../../core/divisors.ts'
import { type DataOf, type DType, elementBytes, fillElement, isFixed } from '../../../core/dtype.ts'
import { HyperslabError } from '../../../core/errors.ts'
import { kept } from '../../../core/kept.ts'
import { forEachLimited } from '../../../core/limiter.ts'
import { sizeOf } from '../../../core/shape.ts'
import { fillTensor, viewTensor } from '../../../core/tensor.ts'
import { ChunkGrid } from '../../../grid/chunks.ts'
import { boxShape } from '../../../grid/range.ts'
import { type Slice, slice } from '../../../grid/slice.ts'
import { refuse } from '../cursor.ts'
import { LIMITS } from '../limits.ts'
import { boxesInOrder } from './selection.ts'
import {
  type BlockPlaces,
  boxPlaces,
  findEnd,
  mayOverlap,
  type PlaceRun,
  runsWithin,
  type SourceTile,
  toPlaces,
  wholePlaces,
} from './tiles.ts'

/** Sources that are read at the same time. */
const AT_ONCE = 8
/** Parts of a read that are compared with one another. */
const MOST_COMPARED = 1024
/** Bytes of an element whose length varies, for the division into chunks. */
const VARIABLE_BYTES = 64

/** Receives the number of sources that an operation leads to. Throws if there are too many. */
export type OnSources = (count: number) => void

/** Returns a counter of the sources of one operation, which throws an UnsupportedError beyond the limit. */
export function countSources(): OnSources {
  let sum = 0
  return (count) => {
    sum += count
    if (sum > LIMITS.sources)
      refuse(`one operation leads to more than ${LIMITS.sources} sources of virtual arrays within one another`, sum)
  }
}

/** Returns the elements of a source; undefined if it is absent. */
export type OpenSource = (file: string, array: string, onSources: OnSources) => Promise<BlockSource | undefined>

/** Facts about a virtual array. */
export interface VirtualKind
  extends Pick<
    BlockSource,
    'dtype' | 'dimensionNames' | 'fillValue' | 'missing' | 'attrs' | 'label' | 'origins' | 'budget' | 'maxElements'
  > {
  readonly scalar: Parameters<typeof scalarReadsOf>[0]
  /** Lengths of the axes within elements, which follow those of the array. */
  readonly innerShape: readonly number[]
}

/** Returns the elements of a virtual array. Reads open the sources that they meet. */
export function virtualSource(
  { innerShape, scalar, ...kind }: VirtualKind,
  outerShape: readonly number[],
  tiles: readonly SourceTile[],
  open: OpenSource,
): BlockSource {
  const shape = [...outerShape, ...innerShape]
  const virtual = new Virtual(tiles, innerShape, kind.dtype, fillElement(kind.dtype, kind.fillValue), open)
  const bytes = isFixed(kind.dtype) ? elementBytes(kind.dtype) : VARIABLE_BYTES
  const below = { ...kind, scalarReads: scalarReadsOf(scalar, shape), capabilities: {} }
  return deriveSource(
    below,
    {
      chunks: ChunkGrid.regular(shape, [
        ...chunkShape(outerShape, tiles, bytes * sizeOf(innerShape)),
        ...innerShape.map((n) => Math.max(1, n)),
      ]),
      readBlock: (box, out, options) => virtual.read([{ box, out }], options),
      bulk: { read: (reads, options) => virtual.read(reads, options), requests: async () => undefined },
    },
    kind,
  )
}

/** Returns the shape of chunks: the extent of the first part, divided to some MiB. */
function chunkShape(shape: readonly number[], [first]: readonly SourceTile[], bytes: number): readonly number[] {
  const extent = shape.map((length, axis) => {
    const places = first?.places[axis]
    if (places === undefined) return length
    const isSpread = places.length > places.block
    return Math.min(length, isSpread ? Math.ceil(places.length / places.block) * places.stride : places.block)
  })
  return ChunkGrid.estimate(
    extent.map((length) => Math.max(1, length)),
    Math.max(1, bytes),
  ).chunkShape
}

/** A part of a read that one tile has. */
interface TilePart {
  readonly tile: SourceTile
  readonly reads: readonly BoxRead[]
}

class Virtual {
  readonly #tiles: readonly SourceTile[]
  readonly #innerShape: readonly number[]
  readonly #dtype: DType
  readonly #fill: DataOf<DType>[number]
  readonly #open: OpenSource
  /** Sources by their file and array, which several tiles may show. */
  readonly #sources = new Map<string, Promise<BlockSource | undefined>>()
  readonly #shown = new Map<SourceTile, Promise<BlockSource | undefined>>()

  constructor(
    tiles: readonly SourceTile[],
    innerShape: readonly number[],
    dtype: DType,
    fill: DataOf<DType>[number],
    open: OpenSource,
  ) {
    this.#tiles = tiles
    this.#innerShape = innerShape
    this.#dtype = dtype
    this.#fill = fill
    this.#open = open
  }

  async read(reads: readonly BoxRead[], options: BlockReadOptions = {}): Promise<void> {
    const { onSources = countSources() } = options
    const below = { ...options, onSources }
    const parts = this.#tiles.flatMap((tile) => findParts(tile, reads))
    onSources(parts.length)
    const wanted = reads.reduce((sum, { box }) => sum + sizeOf(boxShape(box)), 0)
    const found = parts.reduce((sum, part) => sum + part.reads.reduce((count, { box }) => count + sizeOf(boxShape(box)), 0), 0)
    const isShared = anyOverlap(parts)
    if (found !== wanted || isShared) for (const { out } of reads) fillTensor(out, this.#fill)
    // The last one of overlapping mappings whose sources exist counts.
    await forEachLimited(parts, isShared ? 1 : AT_ONCE, async ({ tile, reads: own }) => {
      options.signal?.throwIfAborted()
      const source = await kept(this.#shown, tile, () => this.#openTile(tile, onSources), LIMITS.otherFiles)
      if (source?.bulk?.read !== undefined) await source.bulk.read(own, below)
      else if (source !== undefined) for (const { box, out } of own) await source.readBlock(box, out, below)
      else if (!isShared) for (const { out } of own) fillTensor(out, this.#fill)
    })
  }

  /** Returns the elements of a tile, in the shape that they have in the virtual array. */
  async #openTile(tile: SourceTile, onSources: OnSources): Promise<BlockSource | undefined> {
    const { file, array } = tile
    const open = (): Promise<BlockSource | undefined> => this.#open(file, array, onSources)
    const source = await kept(this.#sources, `${file}\0${array}`, open, LIMITS.otherFiles)
    if (source === undefined) return undefined
    const rank = source.shape.length - this.#innerShape.length
    const dtype = this.#dtype
    const exact = source.dtype === dtype ? source : convert(source, dtype, tile)
    const selected = selectElements(exact, tile, rank)
    const shape = tile.places.map(({ length }) => length)
    const { parts, count } = selected
    if (count !== tile.total) {
      const text = `the source '${tile.array}' of '${tile.file}' has ${count} selected elements, the virtual array has ${tile.total}`
      throw new HyperslabError('FormatError', text, { actual: count, expected: tile.total })
    }
    return reshaped(parts, tile.first, shape, this.#innerShape)
  }
}

/** Whether parts may have elements in common. Very many parts are not compared. */
const anyOverlap = (parts: readonly TilePart[]): boolean =>
  parts.length > MOST_COMPARED || parts.some(({ tile }, i) => parts.slice(0, i).some((other) => mayOverlap(tile, other.tile)))

/** Returns the reads of a tile that some reads meet. */
function findParts(tile: SourceTile, reads: readonly BoxRead[]): TilePart[] {
  const own = reads.flatMap(({ box, out }) => {
    const rank = tile.places.length
    const runs = tile.places.map((places, axis) => runsWithin(places, box[axis]!))
    if (runs.some(({ length }) => length === 0)) return []
    return combine(runs).map((each): BoxRead => {
      const outer = each.map(({ range, start, step }) => ({ start, step, length: range.stop - range.start }))
      const inner = box.slice(rank).map(({ start, stop }) => ({ start: 0, step: 1, length: stop - start }))
      return { box: [...each.map(({ range }) => range), ...box.slice(rank)], out: viewTensor(out, [...outer, ...inner]) }
    })
  })
  return own.length === 0 ? [] : [{ tile, reads: own }]
}

const combine = (runs: readonly (readonly PlaceRun[])[]): PlaceRun[][] =>
  runs.reduce<PlaceRun[][]>((all, axis) => all.flatMap((each) => axis.map((run) => [...each, run])), [[]])

/** @throws UnsupportedError if the type cannot represent all elements */
function convert(source: BlockSource, dtype: DType, { file, array }: SourceTile): BlockSource {
  const isNumber = isFixed(source.dtype) && isFixed(dtype) && ![source.dtype, dtype].includes('bool')
  if (isNumber && promote([source.dtype, dtype]) === dtype)
    return astype({ ...source, missing: undefined, fillValue: undefined }, dtype)
  return refuse(
    `the source '${array}' of '${file}' is ${source.dtype}, and the virtual array ${dtype}, which is not converted here`,
  )
}

/** Returns the selected elements of a source, in parts that follow one another. */
function selectElements(
  source: BlockSource,
  { source: selection, file, array }: SourceTile,
  rank: number,
): { parts: BlockSource[]; count: number } {
  const shape = source.shape.slice(0, rank)
  const take = (places: readonly BlockPlaces[]): BlockSource => {
    for (const [axis, each] of places.entries()) {
      const end = findEnd(each)
      if (end <= (shape[axis] ?? 0)) continue
      const text = `a virtual array shows positions up to ${end} of axis ${axis} of '${array}' of '${file}', which has ${shape[axis]}`
      throw new HyperslabError('FormatError', text, { axis, actual: shape[axis], expected: end })
    }
    const isWhole = places.every(({ start, length }, axis) => start === 0 && length === shape[axis])
    return isWhole ? source : view(source, [...places.map(toSelector), ...source.shape.slice(rank).map(() => null)])
  }
  const checked = (given: number): void => {
    if (given !== rank)
      throw new HyperslabError('FormatError', `a selection of ${given} axes in an array of ${rank}`, { actual: given })
  }
  const countElements = (part: BlockSource): number => sizeOf(part.shape.slice(0, rank))
  if (selection.kind === 'none') return { parts: [], count: 0 }
  if (selection.kind === 'irregular') {
    checked(selection.rank)
    const parts = boxesInOrder(selection.blocks).map((box) => take(boxPlaces(box)))
    return { parts, count: parts.reduce((sum, part) => sum + countElements(part), 0) }
  }
  if (selection.kind === 'regular') checked(selection.axes.length)
  const part = take(selection.kind === 'all' ? shape.map(wholePlaces) : selection.axes.map(toPlaces))
  return { parts: [part], count: countElements(part) }
}

function toSelector({ start, stride, block, length }: BlockPlaces): Slice | number[] {
  if (block >= length) return slice(start, start + length)
  if (block === 1) return slice(start, start + (length - 1) * stride + 1, stride)
  if (length > LIMITS.listedPositions) {
    const most = LIMITS.listedPositions
    refuse(`a virtual array shows ${length} positions of one axis, in blocks of ${block}; at most ${most} are read`, length)
  }
  return Array.from({ length }, (_, i) => start + Math.floor(i / block) * stride + (i % block))
}

/** Returns elements from a position on, in C order, under another shape. */
function reshaped(parts: readonly BlockSource[], first: number, shape: readonly number[], inner: readonly number[]): BlockSource {
  const [only] = parts
  const outerShape = (source: BlockSource): readonly number[] => source.shape.slice(0, source.shape.length - inner.length)
  const without1 = (lengths: readonly number[]): string => lengths.filter((length) => length !== 1).join(' ')
  if (parts.length === 1 && first === 0 && without1(outerShape(only!)) === without1(shape))
    return reshape(only!, [...shape, ...inner])
  const flat = parts.map((part) => {
    const own = outerShape(part)
    const size = sizeOf(own)
    return reshape(inRuns(part, own.length, commonDivisor(own.at(-1) ?? 1, shape.at(-1) ?? 1)), [size, ...inner])
  })
  const joined = flat.length === 1 ? flat[0]! : concatSource(flat, { axis: 0 })
  const size = sizeOf(shape)
  const cut = view(joined, [slice(first, first + size), ...inner.map(() => null)])
  return reshape(inRuns(cut, 1, shape.at(-1) ?? 1), [...shape, ...inner])
}

/** Returns an array with chunks of one run of elements. */
function inRuns(source: BlockSource, rank: number, length: number): BlockSource {
  const outer = source.shape.slice(0, rank).map((_, axis) => (axis === rank - 1 ? Math.max(1, length) : 1))
  return rechunk(source, [...outer, ...source.shape.slice(rank).map((each) => Math.max(1, each))])
}
