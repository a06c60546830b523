import { movedPart, type PlacedAggregate, type Reduction } from '../../aggregate/reduction.ts'
import {
  allocate,
  type DataOf,
  type DType,
  fillElement,
  readElement,
  type ScalarOf,
  type TypedArray,
  toBytes,
} from '../../core/dtype.ts'
import { HyperslabError, invalidArgument, within } from '../../core/errors.ts'
import { ahead, inSequence } from '../../core/in-order.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { Pace } from '../../core/pace.ts'
import { checkShape, showShape, sizeOf } from '../../core/shape.ts'
import { type AxisView, fillTensor, tensorOf, viewTensor } from '../../core/tensor.ts'
import { type AxisChunks, ChunkGrid } from '../../grid/chunks.ts'
import { commonChunks, refineChunks } from '../../grid/common-chunks.ts'
import { findOverlap, type Overlap, without } from '../../grid/overlap.ts'
import { type Box, boxShape, wholeBox } from '../../grid/range.ts'
import { cutBox } from '../../grid/touched.ts'
import { isAnyMissing, type MissingElements, missingElement, missingElements, missingOf, NOTHING } from '../missing.ts'
import { sameMissing } from '../missing-test.ts'
import { restateFill, unwrittenStats } from '../part-stats.ts'
import {
  type BlockOptions,
  type BlockSource,
  type BoxRead,
  type BulkAccess,
  estimateRequests,
  type PartVisitor,
  type ReduceBoxOptions,
} from '../source.ts'
import { deriveSource, inCommon, type Kind, sharedAttributes } from './derive.ts'
import { READS_AT_A_TIME } from './picks.ts'
import { missingAs } from './replace-missing.ts'

/** An array, and the position of its first element in the whole. */
export interface Tile<D extends DType = DType> {
  readonly origin: readonly number[]
  readonly source: BlockSource<D>
}

/** Options of `mosaic`. */
export interface MosaicOptions<D extends DType> {
  /** Shape of the whole; by default the extent of the tiles. */
  readonly shape?: readonly number[]
  /**
   * Value of uncovered positions, and of all missing elements. By default the missing value of the first tile
   * that has one. If there is none, it is the fill value of the first tile, or zero, and nothing is missing.
   */
  readonly fillValue?: ScalarOf<D>
}

const CHECKS: Checks<MosaicOptions<DType>> = { shape: 'list', fillValue: 'value' }

/**
 * Joins tiles of any shapes. Uncovered positions have the fill value and cannot be written. Tiles that a read
 * does not touch are not read. If tiles have different missing values, their missing elements become one
 * value.
 * @throws InvalidArgumentError if there are no tiles, or if they differ in type or rank, overlap, or exceed
 *   the shape; when read, for an element that is not missing in its tile and would be in the whole, unless
 *   `fillValue` was given
 */
export function mosaicSource<D extends DType>(tiles: readonly Tile<D>[], options: MosaicOptions<D> = {}): BlockSource<D> {
  checkOptions('mosaic', options, CHECKS)
  const first = tiles[0]?.source
  if (first === undefined) return invalidArgument('there are no tiles', tiles)
  const rank = first.shape.length
  for (const { source, origin } of tiles) {
    checkShape(origin, 'the origin of a tile')
    if (source.dtype !== first.dtype || source.shape.length !== rank || origin.length !== rank) {
      const named = ({ dtype, shape }: BlockSource): string => `${dtype} ${showShape(shape)}`
      invalidArgument(`a tile ${named(source)} at ${showShape(origin)} does not fit one of ${named(first)}`, named(source))
    }
  }
  const shape = options.shape ?? first.shape.map((_, axis) => Math.max(...tiles.map((tile) => tileEnd(tile, axis))))
  checkShape(shape, 'shape')
  checkPlaces(tiles, shape)
  const [agreeing, kind] = agreed(tiles, options.fillValue)
  return new Mosaic(agreeing, kind, shape).source
}

/** Returns the tiles with the same missing values, and the facts about uncovered elements. */
function agreed<D extends DType>(tiles: readonly Tile<D>[], fillValue: ScalarOf<D> | undefined): [readonly Tile<D>[], Kind<D>] {
  const { dtype, fillValue: own } = tiles[0]!.source
  const known = tiles.map(({ source }) => missingElements(source))
  const first = known.find(isAnyMissing)
  const as = (kind: Kind<D>, taken: boolean): [readonly Tile<D>[], Kind<D>] => {
    const wanted = missingElements(kind)
    const value = missingElement(wanted)!
    const changes = (each: MissingElements): boolean => (taken ? isAnyMissing(each) : true) && !sameMissing(each, wanted)
    return [
      tiles.map((tile, i) => (changes(known[i]!) ? { ...tile, source: missingAs(tile.source, value, { taken }) } : tile)),
      kind,
    ]
  }
  if (fillValue !== undefined) return as({ dtype, fillValue }, true)
  if (first === undefined) return [tiles, { dtype, fillValue: own, missing: NOTHING }]
  const fill = readElement(dtype, [missingElement(first)] as unknown as DataOf<D>, 0)
  if (known.every((each) => sameMissing(each, first)))
    return [tiles, { dtype, fillValue: fill, missing: missingOf(tiles[known.indexOf(first)]!.source) }]
  return as({ dtype, fillValue: fill }, false)
}

/** A part of a tile that a box touches. */
interface TouchedTile<D extends DType> extends Overlap {
  readonly tile: BlockSource<D>
}

/** Number of uncovered elements that are created at once. */
const UNCOVERED_AT_ONCE = 2 ** 18

class Mosaic<D extends DType> {
  readonly source: BlockSource<D>
  readonly #tiles: readonly Tile<D>[]
  readonly #kind: Kind<D>
  readonly #fill: DataOf<D>[number]

  constructor(tiles: readonly Tile<D>[], kind: Kind<D>, shape: readonly number[]) {
    const sources = tiles.map(({ source }) => source)
    this.#tiles = tiles
    this.#kind = kind
    this.#fill = fillElement(kind.dtype, kind.fillValue)
    const each = (has: (bulk: BulkAccess<D>) => unknown): boolean => sources.every(({ bulk }) => bulk !== undefined && has(bulk))
    const bulk: BulkAccess<D> = {
      requests: (boxes) => this.#requests(boxes),
      // Sources without bulk reads are read faster box by box.
      ...(each(({ read }) => read) && { read: (reads, options) => this.#read(reads, options) }),
      ...(each(({ reduce }) => reduce) && {
        reduce: (box, reduction, take, options) => this.#reduce(box, reduction, take, options),
      }),
      ...(sources.some(({ bulk }) => bulk?.visit) && {
        visit: (box, visitor, options) => this.#visit(box, visitor, options),
      }),
    }
    this.source = deriveSource<D>(
      {
        ...inCommon(sources, shape.length),
        writeBlock: sources.every(({ writeBlock }) => writeBlock),
        writeMasked: sources.every(({ writeMasked }) => writeMasked),
      },
      {
        chunks: new ChunkGrid(shape.map((length, axis) => chunksAlong(tiles, axis, length))),
        readBlock: (box, out, options) => this.#read([{ box, out }], options),
        write: async (box, values, mask, options) => {
          const { touched, covered } = this.#touched(box)
          if (!covered)
            throw new HyperslabError('ReadOnlyError', 'there is no tile where this would be written', this.source.label)
          const { writeWhere } = await import('./picked.ts')
          for (const { tile, box: part, outer } of touched)
            await within(tile.label ?? {}, () =>
              writeWhere(tile, part, viewTensor(values, outer), mask && viewTensor(mask, outer), options),
            )
        },
        bulk,
      },
      { ...kind, attrs: sharedAttributes(sources) },
    )
  }

  async #read(reads: readonly BoxRead<D>[], options?: BlockOptions): Promise<void> {
    for (const { box, out } of reads) if (!this.#touched(box).covered) fillTensor(out, this.#fill)
    const jobs = [...this.#byTile(reads)].flatMap(([tile, parts]) => {
      const own = parts.map(({ read, box, outer }) => ({ box, out: viewTensor(read.out, outer) }))
      const { bulk } = tile
      if (bulk?.read !== undefined) return [{ tile, work: () => bulk.read!(own, options) }]
      return own.map(({ box, out }) => ({ tile, work: async () => tile.readBlock(box, out, options) }))
    })
    await forEachLimited(jobs, READS_AT_A_TIME, async ({ tile, work }) => {
      options?.signal?.throwIfAborted()
      await within(tile.label ?? {}, work)
    })
  }

  async #requests(boxes: readonly Box[]): Promise<number | undefined> {
    const touched = this.#byTile(boxes.map((box) => ({ box })))
    // Blocks may contain chunks of several arrays of a file.
    if (new Set(this.#tiles.map(({ source }) => source)).size < this.#tiles.length) return undefined
    const files = new Set([...touched.keys()].map(({ label }) => label?.file))
    if (touched.size > 1 && (files.size < touched.size || files.has(undefined))) return undefined
    let sum = 0
    for (const [tile, parts] of touched) {
      const own = await estimateRequests(tile, parts.map(({ box }) => box)) // biome-ignore format: one line
      if (own === undefined) return undefined
      sum += own
    }
    return sum
  }

  /** Visits tile by tile, some of them ahead, then the uncovered positions. */
  async *#visit<R>(box: Box, visitor: PartVisitor<D, R>, options: BlockOptions = {}): AsyncGenerator<R, void, undefined> {
    const { visitParts } = await import('../visit.ts')
    const { touched, covered } = this.#touched(box)
    const parts = touched.map(({ tile, box, outer }) => () => {
      const placed = (part: Box): Box => shifted(part, outer)
      const own: PartVisitor<D, R> = {
        shouldRead: (part, stats) => visitor.shouldRead(placed(part), stats && restateFill(stats, tile, this.#kind)),
        visit: (part, elements) => visitor.visit(placed(part), elements),
      }
      return visitParts(tile, box, own, options)
    })
    yield* inSequence(parts, READS_AT_A_TIME)
    if (covered) return
    const pace = new Pace(options.signal)
    const { dtype, fillValue } = this.#kind
    const shouldRead = (part: Box): boolean => {
      const constant = { fill: this.#fill, hasFill: fillValue !== undefined }
      return visitor.shouldRead(part, unwrittenStats(constant, sizeOf(boxShape(part))))
    }
    for (const piece of this.#uncovered(box, touched)) {
      if (!shouldRead(piece)) continue
      for (const part of cutBox(piece, UNCOVERED_AT_ONCE)) {
        if (pace.due()) await pace.turn()
        if (part !== piece && !shouldRead(part)) continue
        const elements = tensorOf(dtype, boxShape(part))
        fillTensor(elements, this.#fill)
        yield visitor.visit(part, elements)
      }
    }
  }

  /** Reduces tile by tile, then the uncovered positions. */
  async #reduce(
    box: Box,
    reduction: Reduction,
    take: (part: PlacedAggregate) => void,
    options: ReduceBoxOptions = {},
  ): Promise<void> {
    const { touched, covered } = this.#touched(box)
    const { reduced, places = [] } = reduction
    const reduceTile = async ({ tile, box, outer }: TouchedTile<D>): Promise<PlacedAggregate[]> => {
      options.signal?.throwIfAborted()
      const parts: PlacedAggregate[] = []
      const first = places.reduce((sum, step, axis) => sum + step * outer[axis]!.start, 0)
      const kept = outer.map((view, axis) => (reduced[axis] ? { ...view, start: 0 } : view))
      const add = (part: PlacedAggregate): void => {
        parts.push(movedPart(part, shifted(part.region, kept), first))
      }
      await within(tile.label ?? {}, () => tile.bulk!.reduce!(box, reduction, add, options))
      return parts
    }
    for await (const parts of ahead(touched, { count: READS_AT_A_TIME }, reduceTile)) parts.forEach(take)
    if (covered) return
    const { reduceConstant } = await import('../../aggregate/reduce-boxes.ts')
    const pace = new Pace(options.signal)
    const element = toBytes((allocate(this.#kind.dtype, 1) as TypedArray).fill(this.#fill as never))
    for (const piece of this.#uncovered(box, touched)) {
      for (const part of cutBox(piece, UNCOVERED_AT_ONCE)) {
        if (pace.due()) await pace.turn()
        take(reduceConstant(reduction, element, part))
      }
    }
  }

  /** Returns the overlaps of some boxes with each tile that they touch. */
  #byTile<R extends { readonly box: Box }>(reads: readonly R[]): Map<BlockSource<D>, (Overlap & { readonly read: R })[]> {
    const tiles = new Map<BlockSource<D>, (Overlap & { readonly read: R })[]>()
    for (const read of reads)
      for (const { tile, box, outer } of this.#touched(read.box).touched) {
        const parts = tiles.get(tile)
        if (parts === undefined) tiles.set(tile, [{ box, outer, read }])
        else parts.push({ box, outer, read })
      }
    return tiles
  }

  #touched(box: Box): { touched: TouchedTile<D>[]; covered: boolean } {
    const touched = this.#tiles.flatMap(({ source, origin }) => {
      const overlap = findOverlap(box, origin, source.shape)
      return overlap === undefined ? [] : [{ ...overlap, tile: source }]
    })
    const elements = touched.reduce((sum, { outer }) => sum + sizeOf(outer.map(({ length }) => length)), 0)
    return { touched, covered: elements === sizeOf(boxShape(box)) }
  }

  /** Yields the uncovered pieces of a box, as positions of the result. */
  #uncovered(box: Box, touched: readonly TouchedTile<D>[]): Generator<Box, void> {
    const covers = touched.map(({ outer }) => outer.map(({ start, length }) => ({ start, stop: start + length, step: 1 })))
    return without(wholeBox(boxShape(box)), covers)
  }
}

/** Shifts a box to another origin. */
const shifted = (box: Box, by: readonly AxisView[]): Box =>
  box.map(({ start, stop, step }, axis) => ({ start: start + by[axis]!.start, stop: stop + by[axis]!.start, step }))

const tileEnd = ({ origin, source }: Tile, axis: number): number => origin[axis]! + source.shape[axis]!

/**
 * Returns chunks along an axis. Tiles in one row share chunks that suit all of them; overlapping rows are
 * divided at all boundaries.
 */
function chunksAlong(tiles: readonly Tile[], axis: number, length: number): AxisChunks {
  const rows = new Map<string, { origin: number; all: AxisChunks[] }>()
  for (const tile of tiles) {
    const origin = tile.origin[axis]!
    const key = `${origin} ${tileEnd(tile, axis)}`
    const chunks = tile.source.chunks.axes[axis]!
    const row = rows.get(key)
    if (row === undefined) rows.set(key, { origin, all: [chunks] })
    else row.all.push(chunks)
  }
  return refineChunks(
    length,
    [...rows.values()].map(({ origin, all }) => ({ origin, chunks: commonChunks(all) })),
  )
}

/**
 * @throws InvalidArgumentError if tiles overlap or exceed the shape. Tiles are sorted by the first axis, so
 *   that only near ones are compared
 */
function checkPlaces(tiles: readonly Tile[], shape: readonly number[]): void {
  const beyond = tiles.find((tile) => shape.some((length, axis) => tileEnd(tile, axis) > length))
  if (beyond !== undefined)
    invalidArgument(
      `a tile ${showShape(beyond.source.shape)} at ${showShape(beyond.origin)} reaches beyond ${showShape(shape)}`,
      beyond.origin,
    )
  const sorted = tiles.filter(({ source }) => sizeOf(source.shape) > 0).sort((a, b) => (a.origin[0] ?? 0) - (b.origin[0] ?? 0))
  sorted.forEach((tile, i) => {
    const box = wholeBox(tile.source.shape).map(({ start, stop, step }, axis) => {
      const shift = tile.origin[axis]!
      return { start: start + shift, stop: stop + shift, step }
    })
    for (const other of sorted.slice(i + 1)) {
      if (shape.length > 0 && other.origin[0]! >= box[0]!.stop) return
      if (findOverlap(box, other.origin, other.source.shape) !== undefined)
        invalidArgument(`tiles at ${showShape(tile.origin)} and ${showShape(other.origin)} overlap`, other.origin)
    }
  })
}
