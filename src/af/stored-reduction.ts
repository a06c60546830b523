import { cellBox } from '../array/reductions/cells.js'
import { constantMoments } from '../array/reductions/moment-cells.js'
import { isPlain, isWhole, type PlacedPart, type Reduction, reduceBoxes } from '../array/reductions/parts.js'
import { givesPositions, positionOf } from '../array/reductions/positions.js'
import type { ReduceBoxOptions } from '../array/source.js'
import { allocate, elementBytes, type TypedArray, toBytes } from '../core/dtype.js'
import { HyperslabError } from '../core/errors.js'
import { sizeOf, stridesOf } from '../core/shape.js'
import type { Signal } from '../core/signal.js'
import type { ChunkGrid } from '../grid/chunks.js'
import { type AxisProjection, projectAxis } from '../grid/projection.js'
import { type Box, boxShape, hullOf, rangeOf } from '../grid/range.js'
import { withArena } from '../kernels/arena.js'
import { type StridedBox, tableOf } from '../kernels/boxes.js'
import type { ReducePiece } from '../pool/task.js'
import { Answers, answer, mayAnswer } from './answers.js'
import type { ArrayState } from './array-state.js'
import type { BlockRef, ChunkAddress } from './block.js'
import type { BlockReader, BlockUse } from './block-reader.js'
import { knownStats, nullsAreFill, statsOfFill } from './chunk-stats.js'
import { selected } from './place.js'
import { checkChunkBytes } from './values.js'

/** A chunk by its position among those the box touches; the rest is worked out when its block is there. */
interface TouchedChunk {
  readonly at: number
  readonly address: ChunkAddress
}

/** Elements of a chunk with the cells they go to. */
interface Target {
  readonly elements: Omit<StridedBox, 'place'>
  readonly cells: Box
}

/** What is reduced at once, with its cells among those of the result. */
type Piece = ReducePiece & { readonly region: Box }

/** How many cells a piece may have for each that elements go to: chunks that lie far apart are not reduced at once. */
const MAX_SPREAD = 4

/** What to reduce, and what missing chunks are full of, as stored. */
interface Request {
  readonly box: Box
  readonly reduction: Reduction
  readonly fill: number | bigint
}

/**
 * Reduces a box of an array, from statistics of its chunks where those are stored and tell.
 * @param take gets the parts: of the same state of the array always the same ones in the same order
 * @throws ConflictError when the array has got another grid meanwhile
 */
export async function reduceStored(
  state: ArrayState,
  request: Request,
  blocks: BlockReader,
  take: (part: PlacedPart) => void,
  { signal, fromData }: ReduceBoxOptions,
): Promise<void> {
  const work = new StoredReduction(state, request)
  const asks = !fromData && work.answerable
  if (asks) {
    const { grid } = state
    await state.loadStats(signal)
    if (state.grid !== grid) throw new HyperslabError('ConflictError', 'the array was resized while it was being reduced')
  }
  await work.run(blocks, take, asks, signal)
}

/**
 * The reduction of a box of an array, block by block: the chunks of each are reduced where they were decoded, without copying an element.
 * Chunks that need no I/O come first, missing and loose ones and those whose statistics answer, then the blocks in the order of their
 * first chunks.
 */
class StoredReduction {
  readonly #state: ArrayState
  readonly #grid: ChunkGrid
  readonly #reduction: Reduction
  readonly #fill: number | bigint
  /** The chunks that the box touches along each axis. */
  readonly #axes: readonly (readonly AxisProjection[])[]

  constructor(state: ArrayState, { box, reduction, fill }: Request) {
    this.#state = state
    this.#grid = state.grid
    this.#reduction = reduction
    this.#fill = fill
    this.#axes = box.map((range, axis) => projectAxis(range, this.#grid.axes[axis]!))
  }

  get #cellShape(): number[] {
    return this.#axes.map((projections, axis) => (this.#reduction.reduced[axis] ? 1 : lengthOf(projections)))
  }

  /** Whether statistics of chunks, where there are any, may have answers. */
  get answerable(): boolean {
    const some = this.#axes.every((projections, axis) => projections.some((each) => this.#merges(each, axis)))
    return some && mayAnswer(this.#reduction, this.#cellShape) && nullsAreFill(this.#state.definition)
  }

  /** @param asks statistics that are loaded */
  async run(blocks: BlockReader, take: (part: PlacedPart) => void, asks: boolean, signal: Signal | undefined): Promise<void> {
    const use: BlockUse<TouchedChunk, PlacedPart[]> = {
      here: (arena, chunks, bytesOf) => {
        const pieces = this.#pieces(chunks, (chunk) => {
          const bytes = bytesOf(chunk)
          return bytes instanceof Uint8Array ? arena.put(bytes) : bytes.pointer
        })
        return pieces.map(({ table, shape, region }) =>
          arena.scratch(() => ({ ...reduceBoxes(arena, this.#reduction, table, 0, shape), region })),
        )
      },
      there: (chunks) => {
        const pieces = this.#pieces(chunks, ({ address }) => address.offset)
        return {
          task: { kind: 'reduce', reduction: this.#reduction, pieces: pieces.map(({ table, shape }) => ({ table, shape })) },
          result: ({ parts }) => parts.map((part, i) => ({ ...part, region: pieces[i]!.region })),
        }
      },
    }
    const answers = asks && isPlain(this.#reduction) ? new Answers(this.#reduction, this.#cellShape) : undefined
    const groups = this.#locate(take, answers)
    const answered = answers?.finish()
    if (answered !== undefined) take(answered)
    await blocks.use(groups, use, (parts) => parts.forEach(take), signal)
  }

  /** Groups by block the stored chunks that have no answer. Missing chunks are reduced in runs of neighbours along the last axis. */
  #locate(take: (part: PlacedPart) => void, answers: Answers | undefined): Map<BlockRef, TouchedChunk[]> {
    const blocks = new Map<BlockRef, TouchedChunk[]>()
    let missing: Box | undefined
    const count = sizeOf(this.#axes.map(({ length }) => length))
    for (let at = 0; at < count; at++) {
      const projections = this.#projections(at)
      const number = this.#grid.number(projections.map(({ chunk }) => chunk))
      const found = this.#state.newest(number)
      if (found instanceof Uint8Array) take(this.#reduceLoose(projections, found))
      else if (found !== undefined) {
        if (answers !== undefined && this.#ask(answers, number, projections)) continue
        const known = blocks.get(found.block)
        if (known === undefined) blocks.set(found.block, [{ at, address: found }])
        else known.push({ at, address: found })
      } else {
        const more = outerBox(projections)
        const longer = missing && extended(missing, more)
        if (missing !== undefined && longer === undefined) this.#takeMissing(missing, take)
        missing = longer ?? more
      }
    }
    if (missing !== undefined) this.#takeMissing(missing, take)
    return blocks
  }

  /** Takes in what the statistics of a chunk say, if they are enough. */
  #ask(answers: Answers, number: number, projections: readonly AxisProjection[]): boolean {
    if (!isPlain(this.#reduction) || !projections.every((each, axis) => this.#merges(each, axis))) return false
    const stats = knownStats(this.#state, number)
    const known = stats && answer(this.#reduction, stats, this.#fill)
    if (known !== undefined) answers.add(known, this.#cellsOf(outerBox(projections)))
    return known !== undefined
  }

  /** Whether all of a chunk goes to one position of the result along an axis; where that holds along every axis, it can be answered. */
  #merges({ chunk, inner: { length } }: AxisProjection, axis: number): boolean {
    const chunks = this.#grid.axes[axis]!
    return length === chunks.stop(chunk) - chunks.start(chunk) && (length === 1 || this.#reduction.reduced[axis]!)
  }

  #takeMissing(box: Box, take: (part: PlacedPart) => void): void {
    const { dtype, skip } = this.#reduction
    if (typeof skip === 'object' && Object.is(skip.fill, this.#fill)) return
    const one = toBytes((allocate(dtype, 1) as TypedArray).fill(this.#fill as never))
    if (!isPlain(this.#reduction)) {
      take(constantMoments(this.#reduction, one, box, this.#cellsOf(box)))
      return
    }
    if (isWhole(this.#reduction)) {
      const known = answer(this.#reduction, statsOfFill(sizeOf(boxShape(box))), this.#fill)
      if (known !== undefined) {
        take({ values: [known.value], counts: Float64Array.of(known.count), region: this.#cellsOf(box) })
        return
      }
    }
    // Of equal elements the first is the extreme whose position counts.
    const shape = boxShape(givesPositions(this.#reduction) ? this.#cellsOf(box) : box)
    const elements = { offset: 0, first: positionOf(this.#reduction, box), shape, stride: shape.map(() => 0) }
    take(this.#reduceOne(one, elements, this.#cellsOf(box)))
  }

  #reduceLoose(projections: readonly AxisProjection[], bytes: Uint8Array): PlacedPart {
    return this.#reduceOne(bytes, this.#elements(projections, 0), this.#cellsOf(outerBox(projections)))
  }

  #reduceOne(bytes: Uint8Array, elements: Target['elements'], region: Box): PlacedPart {
    return withArena((arena) => {
      const table = tableOf(elements.shape.length, [{ ...elements, place: 0 }])
      return { ...reduceBoxes(arena, this.#reduction, table, arena.put(bytes), boxShape(region)), region }
    })
  }

  /** @param startOf where the bytes of a chunk start */
  #pieces(chunks: readonly TouchedChunk[], startOf: (chunk: TouchedChunk) => number): Piece[] {
    const pieces: { region: Box; size: number; targets: Target[] }[] = []
    for (const chunk of chunks) {
      const projections = this.#projections(chunk.at)
      checkChunkBytes(
        this.#reduction.dtype,
        chunk.address.size,
        sizeOf(this.#grid.shapeOf(projections.map((axis) => axis.chunk))),
      )
      const target = { elements: this.#elements(projections, startOf(chunk)), cells: this.#cellsOf(outerBox(projections)) }
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
    return pieces.map(({ region, targets }) => pieceOf(region, targets))
  }

  /** The projections of a touched chunk, which are numbered in C order. */
  #projections(at: number): AxisProjection[] {
    const projections = new Array<AxisProjection>(this.#axes.length)
    for (let axis = projections.length - 1; axis >= 0; axis--) {
      const { length } = this.#axes[axis]!
      projections[axis] = this.#axes[axis]![at % length]!
      at = Math.floor(at / length)
    }
    return projections
  }

  #elements(projections: readonly AxisProjection[], start: number): Target['elements'] {
    const chunkShape = this.#grid.shapeOf(projections.map(({ chunk }) => chunk))
    const inner = projections.map((axis) => axis.inner)
    const first = positionOf(this.#reduction, outerBox(projections))
    return { ...selected({ chunkShape, inner }, elementBytes(this.#reduction.dtype), start), first }
  }

  #cellsOf(box: Box): Box {
    return cellBox(box, this.#reduction.reduced)
  }
}

function pieceOf(region: Box, targets: readonly Target[]): Piece {
  const shape = boxShape(region)
  const stride = stridesOf(shape)
  const boxes = targets.map(({ elements, cells }) => ({
    ...elements,
    place: cells.reduce((at, { start }, axis) => at + (start - region[axis]!.start) * stride[axis]!, 0),
  }))
  return { table: tableOf(shape.length, boxes), shape, region }
}

/** The part of the box that a chunk fills. */
const outerBox = (projections: readonly AxisProjection[]): Box => projections.map(({ outer }) => rangeOf(outer))

/** Positions of the result along an axis. */
function lengthOf(projections: readonly AxisProjection[]): number {
  const last = projections.at(-1)
  return last === undefined ? 0 : last.outer.start + last.outer.length
}

/** A box and its neighbour along the last axis as one; undefined when they are no neighbours. */
function extended(box: Box, next: Box): Box | undefined {
  const last = box.length - 1
  if (last < 0 || box[last]!.stop !== next[last]!.start) return undefined
  const same = box.every(({ start, stop }, axis) => axis === last || (start === next[axis]!.start && stop === next[axis]!.stop))
  return same ? [...box.slice(0, last), { start: box[last]!.start, stop: next[last]!.stop, step: 1 }] : undefined
}
