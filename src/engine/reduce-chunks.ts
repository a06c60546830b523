import { cellBox } from '../aggregate/cells.ts'
import { constantMoments } from '../aggregate/moments.ts'
import { firstPosition, givesPositions } from '../aggregate/positions.ts'
import { reduceBoxes } from '../aggregate/reduce-boxes.ts'
import {
  isPlain,
  isWhole,
  type PartialAggregate,
  type PartOp,
  type PlacedAggregate,
  type Reduction,
  splitReduction,
} from '../aggregate/reduction.ts'
import type { ReduceBoxOptions } from '../array/source.ts'
import { allocate, elementBytes, isBigInt, isFloat, type TypedArray, toBytes } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { Pace } from '../core/pace.ts'
import { sizeOf, stridesOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import { type AxisProjection, toChunkCopy } from '../grid/projection.ts'
import { type Box, boxShape, wholeBox } from '../grid/range.ts'
import { cutBox, hullOf, outerBox, TouchedChunks } from '../grid/touched.ts'
import { withArena } from '../kernels/arena.ts'
import { boxIn, createBoxTable, type StridedBox } from '../kernels/boxes.ts'
import type { ReduceOp } from '../kernels/reduce.ts'
import type { ReducePiece } from '../pool/task.ts'
import type { BlockRef, BlockUse, ChunkAddress, StoredChunk } from './block.ts'
import type { ChunkIndex, ChunkSnapshot } from './chunk-index.ts'
import { type ChunkStats, statsOfFill } from './chunk-stats.ts'
import { checkChunkBytes } from './fixed-values.ts'
import { type Aggregate, aggregateFromStats, canUseStats, StatsAggregate } from './statistics-aggregate.ts'
import type { StridedPart } from './strided-reader.ts'
import { visitChunks } from './visit-chunks.ts'

/**
 * A chunk by its number among those the box touches; its projections are computed when its block is decoded.
 */
interface TouchedChunk {
  readonly at: number
  readonly address: ChunkAddress
}

/** Elements taken from a chunk along an axis. */
type Taken = Pick<AxisProjection, 'length' | 'from' | 'to'>

/** Readers of chunks in blocks and of uncompressed chunks. */
type Readers = Pick<ChunkIndex, 'blocks' | 'strided'>

/** Chunks to be read, by how they are stored. */
interface Located {
  readonly blocks: Map<BlockRef, TouchedChunk[]>
  readonly strided: StridedPart<undefined>[]
}

/** Elements of a chunk with the cells they are reduced to. */
interface Target {
  readonly elements: Omit<StridedBox, 'cell'>
  readonly cells: Box
}

/** Chunks that are reduced by one kernel call, with the region of the result that contains their cells. */
type RegionPart = ReducePiece & { readonly region: Box }

/**
 * Largest ratio of the cells of a piece to those that receive elements. Chunks that are far apart are reduced
 * separately.
 */
const MAX_SPREAD = 4

/** Largest number of cells that a run of missing chunks is reduced to at once. */
const MOST_CELLS = 2 ** 18

/** A reduction of a box, with the stored fill of missing chunks. */
interface Request {
  readonly box: Box
  readonly reduction: Reduction
  readonly fill: number | bigint
  /** Whether `fill` is a fill value. Otherwise missing chunks contain zeros, which are valid elements. */
  readonly hasFill: boolean
}

/**
 * Reduces a box of an array, from statistics of its chunks where these suffice.
 * @param take receives the parts; the same chunks yield the same parts in the same order
 * @throws ConflictError if the array was resized during the reduction
 */
export async function reduceChunks(
  snapshot: ChunkSnapshot,
  request: Request,
  readers: Readers,
  take: (part: PlacedAggregate) => void,
  { signal, ignoreStats }: ReduceBoxOptions,
): Promise<void> {
  const work = new ChunkReduction(snapshot, request)
  const asks = !ignoreStats && work.answerable
  if (asks) {
    await snapshot.statistics!.load(signal)
    snapshot.checkGrid('reduced')
  }
  await work.run(readers, take, asks, signal)
}

/**
 * Reduces a box of an array block by block. Chunks are reduced where they were decoded, without copying
 * elements. Chunks without I/O come first: missing chunks, chunks in memory, and those whose statistics
 * suffice. Blocks follow in the order of their first chunks.
 */
class ChunkReduction {
  readonly #snapshot: ChunkSnapshot
  readonly #grid: ChunkGrid
  readonly #reduction: Reduction
  /** The reductions to one operation each. */
  readonly #each: readonly Reduction<PartOp>[]
  readonly #fill: number | bigint
  readonly #box: Box
  readonly #touched: TouchedChunks
  /** The element that statistics leave out. */
  readonly #counted: number | bigint | undefined

  constructor(snapshot: ChunkSnapshot, { box, reduction, fill, hasFill }: Request) {
    this.#snapshot = snapshot
    this.#grid = snapshot.grid
    this.#reduction = reduction
    this.#each = splitReduction(reduction)
    this.#fill = fill
    this.#box = box
    this.#touched = new TouchedChunks(box, this.#grid)
    this.#counted = hasFill ? fill : undefined
  }

  get #cellShape(): number[] {
    return boxShape(this.#box).map((length, axis) => (this.#reduction.reduced[axis] ? 1 : length))
  }

  /** Whether statistics of chunks may replace reads. */
  get answerable(): boolean {
    const some = this.#box.every((_, axis) => this.#touched.someAlong(axis, (each) => this.#merges(each, axis)))
    return some && canUseStats(this.#each, this.#cellShape) && this.#snapshot.statistics !== undefined
  }

  /** @param asks whether to use statistics, which are loaded then */
  async run(
    { blocks, strided }: Readers,
    take: (part: PlacedAggregate) => void,
    asks: boolean,
    signal: Signal | undefined,
  ): Promise<void> {
    const fromStats = asks
      ? this.#each.map((each) => new StatsAggregate(each as Reduction<ReduceOp>, this.#cellShape))
      : undefined
    const isAnswered = fromStats !== undefined && this.#askWhole(fromStats)
    const found = isAnswered ? undefined : await this.#locate(take, fromStats, signal)
    const parts = (fromStats ?? []).flatMap((each) => each.finish() ?? [])
    if (parts.length > 0) take({ parts, region: wholeBox(this.#cellShape) })
    if (found === undefined) return
    const takeAll = (parts: readonly PlacedAggregate[]): void => parts.forEach(take)
    await blocks?.use(
      found.blocks,
      this.#use(({ at }) => this.#touched.projections(at)),
      takeAll,
      signal,
    )
    await strided?.use(
      found.strided,
      this.#use(({ chunkShape, from, to }) => chunkShape.map((length, i) => ({ length, from: from[i]!, to: to[i]! }))),
      takeAll,
      signal,
    )
  }

  /** Reduces decoded chunks; neighbouring chunks share one kernel call. */
  #use<C extends { readonly address: ChunkAddress }>(takenOf: (chunk: C) => readonly Taken[]): BlockUse<C, PlacedAggregate[]> {
    const groupPieces = (chunks: readonly C[], placeOf: (chunk: C) => { size: number; start: number }): RegionPart[] =>
      this.#pieces(chunks.map((chunk) => ({ taken: takenOf(chunk), ...placeOf(chunk) })))
    return {
      onThisThread: (arena, chunks, bytesOf) => {
        const pieces = groupPieces(chunks, (chunk) => {
          const bytes = bytesOf(chunk)
          // Conversion changes the size of elements that are read in place.
          if (bytes instanceof Uint8Array) return { start: arena.put(bytes), size: bytes.length }
          return { start: bytes.pointer, size: chunk.address.size }
        })
        return pieces.map(({ table, shape, region }) =>
          arena.scratch(() => ({ parts: reduceBoxes(arena, this.#reduction, table, 0, shape), region })),
        )
      },
      inWorker: (chunks) => {
        const pieces = groupPieces(chunks, ({ address }) => ({ start: address.offset, size: address.size }))
        return {
          task: { kind: 'reduce', reduction: this.#reduction, pieces: pieces.map(({ table, shape }) => ({ table, shape })) },
          result: (answer) => answer.parts.map((parts, i) => ({ parts, region: pieces[i]!.region })),
        }
      },
    }
  }

  /** Returns the stored chunks that have to be read. Reduces runs of missing chunks at once. */
  async #locate(
    take: (part: PlacedAggregate) => void,
    fromStats: readonly StatsAggregate[] | undefined,
    signal: Signal | undefined,
  ): Promise<Located> {
    const { blocks, strided }: Located = { blocks: new Map(), strided: [] }
    const pace = new Pace(signal)
    const stored = (at: number, found: StoredChunk, projections: AxisProjection[], chunkIndex: number): void => {
      if (found instanceof Uint8Array) {
        take(this.#reduceBuffered(projections, found))
        return
      }
      if (fromStats !== undefined && this.#ask(fromStats, chunkIndex, projections)) return
      if (found.block === undefined) {
        strided.push({ ...toChunkCopy(projections, undefined), found })
        return
      }
      const known = blocks.get(found.block)
      if (known === undefined) blocks.set(found.block, [{ at, address: found }])
      else known.push({ at, address: found })
    }
    const missing = async (from: number, to: number): Promise<void> => {
      for (const box of this.#touched.boxes(from, to)) {
        for (const part of cutBox(box, MOST_CELLS, this.#reduction.reduced)) {
          if (pace.due()) await pace.turn()
          this.#takeMissing(part, take)
        }
      }
    }
    await visitChunks(this.#snapshot, this.#touched, { stored, missing: this.#skipsFill ? () => undefined : missing }, signal)
    return { blocks, strided }
  }

  /** Whether the reduction skips unwritten elements. */
  get #skipsFill(): boolean {
    const { dtype, skip } = this.#reduction
    if (skip === 'none') return false
    if (Number.isNaN(this.#fill)) return skip === 'nan' || skip.nan === true || Number.isNaN(skip.fill)
    if (skip === 'nan') return false
    return (dtype === 'float32' ? Math.fround(skip.fill as number) : skip.fill) === this.#fill
  }

  /** Uses the statistics of the whole array, if minimum or maximum is requested. */
  #askWhole(fromStats: readonly StatsAggregate[]): boolean {
    const { whole } = this.#snapshot.statistics!
    if (whole === undefined || !this.#each.every(({ op }) => op === 'min' || op === 'max')) return false
    const { shape } = this.#grid
    const isAll = this.#box.every(
      ({ start, stop, step }, axis) =>
        start === 0 && stop === shape[axis] && step === 1 && (stop === 1 || this.#reduction.reduced[axis]!),
    )
    if (!isAll) return false
    const all = shape.map(() => ({ to: { start: 0, step: 1, length: 1 } }))
    return this.#take(fromStats, whole, all)
  }

  /** Uses the statistics of a chunk, if they suffice. */
  #ask(fromStats: readonly StatsAggregate[], chunkIndex: number, projections: readonly AxisProjection[]): boolean {
    // Runs once per chunk, often before it is compiled: closures and arrays would dominate its time.
    for (let axis = 0; axis < projections.length; axis++) if (!this.#merges(projections[axis]!, axis)) return false
    const stats = this.#snapshot.statistics!.of(chunkIndex)
    return stats !== undefined && this.#take(fromStats, stats, projections)
  }

  #take(fromStats: readonly StatsAggregate[], stats: ChunkStats, projections: readonly Pick<AxisProjection, 'to'>[]): boolean {
    const known: Aggregate[] = []
    for (let i = 0; i < fromStats.length; i++) {
      const one = aggregateFromStats(this.#each[i] as Reduction<ReduceOp>, stats, this.#counted)
      if (one === undefined) return false
      known.push(one)
    }
    for (let i = 0; i < fromStats.length; i++) fromStats[i]!.add(known[i]!, projections)
    return true
  }

  /**
   * Whether a whole chunk is reduced to one position of the result along an axis. Statistics apply if this
   * holds along every axis.
   */
  #merges({ length, from }: AxisProjection, axis: number): boolean {
    return from.length === length && (length === 1 || this.#reduction.reduced[axis]!)
  }

  #takeMissing(box: Box, take: (part: PlacedAggregate) => void): void {
    const reduction = this.#reduction
    const region = this.#cellsOf(box)
    const one = toBytes((allocate(reduction.dtype, 1) as TypedArray).fill(this.#fill as never))
    if (givesPositions(reduction)) {
      // Among equal elements, the first one determines the position.
      const shape = boxShape(region)
      const elements = { offset: 0, first: firstPosition(reduction, box), shape, stride: shape.map(() => 0) }
      take(this.#reduceOne(one, elements, region))
      return
    }
    const cells = sizeOf(boxShape(region))
    const parts = this.#each.map((each) =>
      isPlain(each) ? this.#constant(each, sizeOf(boxShape(box)) / cells, cells) : constantMoments(each, one, box, region),
    )
    take({ parts, region })
  }

  /**
   * Returns cells that are each reduced from `count` unwritten elements.
   * @throws OverflowError if the largest possible sums do not fit
   */
  #constant(reduction: Reduction<ReduceOp>, count: number, cells: number): PartialAggregate {
    const { op, dtype, reduced } = reduction
    if (op === 'sum' && !isFloat(dtype) && !isWhole(reduction)) {
      const each = boxShape(this.#box).reduce((size, length, axis) => (reduced[axis] ? size * length : size), 1)
      // Cells have 64 bits; for 64-bit integers, the lower and the upper 32 bits are summed separately.
      const largest = Math.abs(Number(this.#fill)) / (isBigInt(dtype) ? 2 ** 32 : 1)
      if (each * largest >= 2 ** 62) {
        const text = `sums of ${each} integers do not fit in 64 bits`
        throw new HyperslabError('OverflowError', text, { actual: each })
      }
    }
    const one = new StatsAggregate(
      { ...reduction, skip: 'none' },
      reduced.map(() => 1),
    )
    const all = aggregateFromStats({ ...reduction, skip: 'none' }, statsOfFill(count), this.#fill)!
    one.add(
      all,
      reduced.map(() => ({ to: { start: 0, step: 1, length: 1 } })),
    )
    const { values, counts } = one.finish()!
    if (cells === 1) return { values, counts }
    const width = values.length
    const Columns = values.constructor as new (length: number) => TypedArray
    const column = new Columns(width * cells)
    for (let i = 0; i < column.length; i++) column[i] = values[i % width]!
    return { values: column, counts: new Float64Array(cells).fill(count) }
  }

  #reduceBuffered(projections: readonly AxisProjection[], bytes: Uint8Array): PlacedAggregate {
    return this.#reduceOne(bytes, this.#elements(projections, 0), this.#cellsOf(outerBox(projections)))
  }

  #reduceOne(bytes: Uint8Array, elements: Target['elements'], region: Box): PlacedAggregate {
    return withArena((arena) => {
      const table = createBoxTable(elements.shape.length, [{ ...elements, cell: 0 }])
      return { parts: reduceBoxes(arena, this.#reduction, table, arena.put(bytes), boxShape(region)), region }
    })
  }

  /** @param chunks with their number of bytes and their address */
  #pieces(chunks: readonly { readonly taken: readonly Taken[]; readonly size: number; readonly start: number }[]): RegionPart[] {
    const pieces: { region: Box; size: number; targets: Target[] }[] = []
    for (const { taken, size: bytes, start } of chunks) {
      checkChunkBytes(this.#reduction.dtype, bytes, sizeOf(taken.map(({ length }) => length)))
      const target = { elements: this.#elements(taken, start), cells: this.#cellsOf(outerBox(taken)) }
      const size = sizeOf(boxShape(target.cells))
      const last = pieces.at(-1)
      const region = last && hullOf([last.region, target.cells])
      if (last === undefined || sizeOf(boxShape(region!)) > MAX_SPREAD * (last.size + size)) {
        pieces.push({ region: target.cells, size, targets: [target] })
      } else {
        last.region = region!
        last.size += size
        last.targets.push(target)
      }
    }
    return pieces.map(({ region, targets }) => createPiece(region, targets))
  }

  #elements(projections: readonly Taken[], start: number): Target['elements'] {
    const first = firstPosition(this.#reduction, outerBox(projections))
    const shape = projections.map(({ length }) => length)
    const slices = projections.map(({ from }) => from)
    return { ...boxIn(shape, slices, elementBytes(this.#reduction.dtype), start), first }
  }

  #cellsOf(box: Box): Box {
    return cellBox(box, this.#reduction.reduced)
  }
}

function createPiece(region: Box, targets: readonly Target[]): RegionPart {
  const shape = boxShape(region)
  const stride = stridesOf(shape)
  const boxes = targets.map(({ elements, cells }) => ({
    ...elements,
    cell: cells.reduce((at, { start }, axis) => at + (start - region[axis]!.start) * stride[axis]!, 0),
  }))
  return { table: createBoxTable(shape.length, boxes), shape, region }
}
