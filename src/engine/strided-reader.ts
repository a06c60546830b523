import { type AxisIndices, indexAt, isListed } from '../core/axis-indices.ts'
import { joinBytes } from '../core/bytes.ts'
import type { DType } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { inOrder } from '../core/in-order.ts'
import { forEachLimited, Limiter } from '../core/limiter.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import { coordsAt, sizeOf, stridesOf } from '../core/shape.ts'
import { raceAbort, type Signal } from '../core/signal.ts'
import { type AxisView, type Tensor, wholeAxis } from '../core/tensor.ts'
import { evenOr } from '../grid/list-projection.ts'
import { type ChunkCopy, toChunkCopy } from '../grid/projection.ts'
import { type Box, boxShape, rangeLength, rangeOf, viewOf } from '../grid/range.ts'
import { filledBox, TouchedChunks } from '../grid/touched.ts'
import { withArena } from '../kernels/arena.ts'
import { putStored, type StoredElements, type StoredRead } from '../kernels/in-place.ts'
import type { WorkerPool } from '../pool/task.ts'
import {
  type BlockRef,
  type BlockUse,
  type ChunkAddress,
  isStrided,
  type PinnedChunks,
  type StridedChunk,
  type StridedLayout,
} from './block.ts'

/** Longest request, unless a single element is longer. */
export const MAX_REQUEST_BYTES = 8 * 1024 * 1024
/** Longest gap that is read and dropped; about as expensive as another request. */
export const MAX_GAP_BYTES = 64 * 1024
/** Requests per portion. */
const MAX_REQUESTS = 256
/** Portions under way at the same time; each worker of a pool adds two. */
const CONCURRENT_PORTIONS = 4
/** Portions below this size are processed faster here than a worker could be notified. */
const LEAST_POOL_BYTES = 2 * 1024 * 1024
/** Size up to which JavaScript copies faster than kernel memory. */
const FEW_BYTES = 2048
/** Largest sum of the fetched and the used bytes of a portion that is read without waiting. */
const MOST_QUICK_BYTES = 2 * 1024 * 1024
/** Fetched bytes of a portion, for copies of up to 8 MiB from a local file. One turn has time for these. */
const QUICK_PORTION_BYTES = 1024 * 1024
/** Concurrent requests per portion to a local file. */
const CONCURRENT_REQUESTS = 4
/** Concurrent short requests per portion to a file that may be remote, where most of the time is waiting. */
const CONCURRENT_REMOTE = 128

/** Requested elements of a chunk as boxes. */
export interface StridedPart<T> {
  readonly found: StridedChunk
  readonly from: readonly AxisView[]
  /** Positions in the result. */
  readonly to: readonly AxisView[]
  /** The result. Reads for different results are never coalesced. */
  readonly out: T
}

/** Requested elements of a chunk along each axis; points may take several axes of the chunk together. */
type PlacedCopy<D extends DType> = ChunkCopy<D> & { readonly found: StridedChunk }

/** Elements that are read and used together: dense, in C order, all of them requested. */
export interface Portion<T> extends Omit<ChunkCopy<DType, AxisView>, 'out'> {
  readonly out: T
  readonly address: ChunkAddress
}

/** An axis of elements in a file, ascending; distances are in bytes. */
interface FileAxis {
  readonly length: number
  /** Distance between neighbours. */
  readonly step: number
  /** Distances from the first element. Optional: evenly spaced elements omit it. */
  readonly offsets?: Float64Array
}

/** Evenly spaced elements, arranged along the axes of a result. */
interface Lattice {
  readonly layout: StridedLayout
  /** Position in the file of the element at the result's origin, whether or not that element exists. */
  readonly start: number
  /** Bytes between neighbours along each axis of the result. */
  readonly steps: readonly number[]
  readonly outer: Box
}

type Work<C> = readonly [StridedLayout, StoredElements, C]

/**
 * Reads uncompressed elements in place: the requested ones, and the short gaps between them. Chunks whose
 * elements continue at the same distances are read together.
 */
export class StridedReader {
  readonly #pool: WorkerPool | undefined
  readonly #budget: MemoryBudget | undefined

  /**
   * @param pool processes portions on worker threads
   * @param budget bounds the memory under way, across all readers that share it
   */
  constructor(pool?: WorkerPool, budget?: MemoryBudget) {
    this.#pool = pool
    this.#budget = budget
  }

  /**
   * Reads parts of chunks, portion by portion, and passes the result of `use` for each to `take`. The same
   * parts yield the same portions in the same order.
   * @throws any error of the file
   */
  async use<T, R>(
    parts: readonly StridedPart<T>[],
    use: BlockUse<Portion<T>, R>,
    take: (result: R) => void,
    signal?: Signal,
  ): Promise<void> {
    await this.#each(joinedPortions(parts), use, take, signal)
  }

  /** Reads parts of chunks, each as one portion. */
  async useEach<T, R>(
    parts: readonly StridedPart<T>[],
    use: BlockUse<Portion<T>, R>,
    take: (result: R) => void,
    signal?: Signal,
  ): Promise<void> {
    await this.#each(wholePortions(parts), use, take, signal)
  }

  /**
   * Reads the requested elements of chunks and scatters them.
   * @param listed whether lists or points select elements; each chunk becomes one portion then
   */
  copy<D extends DType>(
    copies: readonly PlacedCopy<D>[],
    use: BlockUse<ChunkCopy<D> & { readonly address: ChunkAddress }, void>,
    listed: boolean,
    signal: Signal | undefined,
  ): Promise<void> {
    if (listed) return this.#gather(copies, use, signal)
    const parts = copies as readonly StridedPart<Tensor<D>>[]
    const own = use as unknown as BlockUse<Portion<Tensor<D>>, void>
    const most = this.#pool?.size ? mostBytes : mostHereBytes
    // Most reads need one portion of one chunk, so joining, cutting and ordering are skipped.
    if (parts.length === 1) {
      const lattice = createLattice(parts[0]!)
      const extents = findExtents(fileAxes(lattice)[1], lattice.layout.elementBytes)
      if (fitsOne(extents, 0, most(lattice, extents)))
        return this.#run(createPortion(lattice, parts[0]!.out, extents), own, signal)
    }
    return this.#each(joinedPortions(parts, most), own, () => undefined, signal)
  }

  async #gather<D extends DType>(
    copies: readonly PlacedCopy<D>[],
    use: BlockUse<ChunkCopy<D> & { readonly address: ChunkAddress }, void>,
    signal: Signal | undefined,
  ): Promise<void> {
    function* work() {
      for (const copy of copies) {
        const { layout, shape, offset } = copy.found
        let [axis, start] = [0, offset]
        const wanted = copy.chunkShape.map((size, i) => {
          // Collects the axes that one selector takes together. Axes of length 1 may go to either group.
          const first = axis
          for (let product = 1; axis === first || product < size; axis++) product *= shape[axis]!
          const own = findWanted(copy.from[i]!, shape.slice(first, axis), layout.byteStrides.slice(first, axis))
          start += own.start
          return own
        })
        const elements = elementsOf(layout, start, wanted.map((own) => own.axis)) // biome-ignore format: one line
        const chunkShape = wanted.map((own) => own.axis.length)
        const from = wanted.map(({ ranks }) => ranks)
        yield [layout, elements, { ...copy, chunkShape, from, address: findAddress(layout, elements) }] as const
      }
    }
    await this.#each(work(), use, () => undefined, signal)
  }

  /** Returns the number of requests that reading some boxes of uncompressed chunks takes. */
  countRequests(snapshot: PinnedChunks, boxes: readonly Box[]): number {
    let count = 0
    for (const box of boxes) {
      const touched = new TouchedChunks(box, snapshot.grid)
      const parts: StridedPart<Box>[] = []
      for (let at = 0; at < touched.count; at++) {
        const projections = touched.projections(at)
        const found = snapshot.locate(touched.numberOf(projections))
        if (!isStrided(found)) continue
        parts.push({ ...toChunkCopy(projections, box), found })
      }
      for (const [lattice] of joined(parts)) count += findExtents(fileAxes(lattice)[1], lattice.layout.elementBytes).requests[0]!
    }
    return count
  }

  async #each<C, R>(
    work: Iterable<Work<C>>,
    use: BlockUse<C, R>,
    take: (result: R) => void,
    signal: Signal | undefined,
  ): Promise<void> {
    const read = (item: Work<C>): Promise<R> => this.#run(item, use, signal)
    await inOrder(work, { count: CONCURRENT_PORTIONS + 2 * (this.#pool?.size ?? 0) }, read, take)
  }

  #run<C, R>(item: Work<C>, use: BlockUse<C, R>, signal: Signal | undefined): Promise<R> {
    if (this.#budget === undefined) return this.#useOne(item, use, signal)
    return this.#budget.blocks(heldBytes(item[1]), () => this.#useOne(item, use, signal), signal)
  }

  async #useOne<C, R>([layout, elements, chunk]: Work<C>, use: BlockUse<C, R>, signal: Signal | undefined): Promise<R> {
    signal?.throwIfAborted()
    const { origin, payloadOf } = layout
    const size = elements.count * elements.elementBytes
    const pool = this.#pool?.size && payloadOf === undefined && heldBytes(elements) >= LEAST_POOL_BYTES ? this.#pool : undefined
    const there = pool && use.inWorker?.([chunk])
    const run = async (input: Parameters<WorkerPool['run']>[0]['input']): Promise<[R] | undefined> =>
      pool!.run({ input, decodedBytes: size, stored: elements }, there!.task, (answer) => [there!.result(answer)], signal)
    if (there !== undefined && origin.local !== undefined) {
      const done = await run({ ...origin.local, offset: 0, length: 0, crc: undefined })
      if (done !== undefined) return done[0]
    }
    // Stores that must observe every read have no local paths, so none of their reads is missed.
    const isQuick = there === undefined && origin.local !== undefined && heldBytes(elements) <= MOST_QUICK_BYTES
    const quick = isQuick ? origin.quickReads?.() : undefined
    if (quick !== undefined) {
      // Waits again if other readers have used the time of the turn.
      for (let turn = quick.ready(); turn !== undefined; turn = quick.ready()) await turn
      signal?.throwIfAborted()
      const read = ({ offset }: StoredRead, into: Uint8Array): boolean => quick.read(into, offset)
      const done = useHere(layout, elements, chunk, use, read, () => quick.isUnchanged())
      if (done !== undefined) return done[0]
    }
    const { reads } = elements
    const fetched = reads.length === 1 ? [await fetchRead(origin, reads[0]!, signal)] : await fetchReads(origin, reads, signal)
    // Sending bytes to a worker and back takes longer than copying them here.
    if (there?.task.kind === 'reduce') {
      const done = await run(joinBytes(fetched))
      if (done !== undefined) return done[0]
    }
    let i = 0
    const copy = (_: StoredRead, into: Uint8Array): boolean => {
      into.set(fetched[i++]!)
      return true
    }
    const [result] = useHere(layout, elements, chunk, use, copy)!
    for (const bytes of fetched) origin.recycle?.(bytes)
    return result
  }
}

/**
 * Uses elements on this thread.
 * @param fill writes the bytes of a read; returns false if it cannot
 * @param isValid returns whether the file is unchanged after the reads
 * @returns undefined if they were not used
 */
function useHere<C, R>(
  { payloadOf }: StridedLayout,
  elements: StoredElements,
  chunk: C,
  use: BlockUse<C, R>,
  fill: (read: StoredRead, into: Uint8Array) => boolean,
  isValid: () => boolean = () => true,
): readonly [R] | undefined {
  const size = elements.count * elements.elementBytes
  const hasGaps = elements.reads.reduce((sum, { length }) => sum + length, 0) > size
  const isFew = size <= FEW_BYTES && payloadOf === undefined && !hasGaps
  return withArena((arena) => {
    const stored = isFew ? joinFew(elements, fill) : putStored(arena, elements, fill)
    if (stored === undefined || !isValid()) return undefined
    const bytes =
      typeof stored !== 'number' ? stored : (payloadOf?.(arena.bytes(stored, size), elements.count) ?? { pointer: stored, size })
    return [use.onThisThread(arena, [chunk], () => bytes)]
  })
}

/** Fetches ranges. After an abort, requests under way continue, but the caller no longer waits for them. */
async function fetchReads(
  origin: StridedLayout['origin'],
  reads: readonly StoredRead[],
  signal: Signal | undefined,
): Promise<Uint8Array[]> {
  const fetched = new Array<Uint8Array>(reads.length)
  const fetch = async (i: number): Promise<void> => {
    fetched[i] = await fetchRead(origin, reads[i]!, signal)
  }
  if (origin.local !== undefined) await forEachLimited(reads.keys(), CONCURRENT_REQUESTS, fetch)
  else {
    const limiter = new Limiter(CONCURRENT_REMOTE, CONCURRENT_REQUESTS * MAX_REQUEST_BYTES)
    await forEachLimited(reads.keys(), CONCURRENT_REMOTE, (i) => limiter.run(reads[i]!.length, () => fetch(i)))
  }
  return fetched
}

async function fetchRead(
  origin: StridedLayout['origin'],
  { offset, length }: StoredRead,
  signal: Signal | undefined,
): Promise<Uint8Array> {
  signal?.throwIfAborted()
  const reading = origin.read(offset, length, signal)
  const bytes = await (signal === undefined ? reading : raceAbort(reading, signal))
  if (bytes.length !== length) {
    const text = `reading bytes ${offset} to ${offset + length} returned ${bytes.length} bytes instead of ${length}`
    throw new HyperslabError('FormatError', text, { file: origin.file, actual: bytes.length, expected: length })
  }
  return bytes
}

/** Joins elements in JavaScript as `putStored` does. No other bytes lie between them. */
function joinFew(
  { elementBytes, bigEndian, count, reads }: StoredElements,
  fill: (read: StoredRead, into: Uint8Array) => boolean,
): Uint8Array | undefined {
  const bytes = new Uint8Array(count * elementBytes)
  for (const read of reads) {
    const from = read.before * elementBytes
    if (!fill(read, bytes.subarray(from, from + read.length))) return undefined
  }
  if (!bigEndian || elementBytes === 1) return bytes
  const view = new DataView(bytes.buffer)
  if (elementBytes === 2) for (let k = 0; k < bytes.length; k += 2) view.setUint16(k, view.getUint16(k), true)
  else if (elementBytes === 4) for (let k = 0; k < bytes.length; k += 4) view.setUint32(k, view.getUint32(k), true)
  else
    for (let k = 0; k < bytes.length; k += 8) {
      const low = view.getUint32(k + 4)
      view.setUint32(k + 4, view.getUint32(k), true)
      view.setUint32(k, low, true)
    }
  return bytes
}

/** Sums the bytes as fetched and as used. */
const heldBytes = ({ reads, count, elementBytes }: StoredElements): number =>
  reads.reduce((sum, { length }) => sum + length, count * elementBytes)

/** Returns the address of a portion as a block that contains nothing else. */
function findAddress({ origin }: StridedLayout, { reads, count, elementBytes }: StoredElements): ChunkAddress {
  const size = count * elementBytes
  const block: BlockRef = {
    origin,
    id: 0,
    fileOffset: reads[0]!.offset,
    compressedBytes: size,
    uncompressedBytes: size,
    codec: 'none',
    crc: undefined,
  }
  return { block, offset: 0, size }
}

function createLattice({ found, from, to }: StridedPart<unknown>): Lattice {
  const { layout, offset } = found
  const steps = from.map(({ step }, axis) => step * layout.byteStrides[axis]!)
  const start = from.reduce(
    (sum, own, axis) => sum + own.start * layout.byteStrides[axis]! - to[axis]!.start * steps[axis]!,
    offset,
  )
  return { layout, start, steps, outer: to.map(rangeOf) }
}

function createPortion<T>(lattice: Lattice, out: T, extents?: Extents): Work<Portion<T>> {
  const { layout, outer } = lattice
  const elements = elementsOf(layout, ...fileAxes(lattice), extents)
  const chunkShape = boxShape(outer)
  const address = findAddress(layout, elements)
  return [layout, elements, { chunkShape, from: chunkShape.map(wholeAxis), to: outer.map(viewOf), out, address }]
}

function* wholePortions<T>(parts: readonly StridedPart<T>[]): Generator<Work<Portion<T>>> {
  for (const part of parts) yield createPortion(createLattice(part), part.out)
}

/** Yields portions: joins parts that continue in the file, and cuts those that are too large. */
function* joinedPortions<T>(parts: readonly StridedPart<T>[], most: MostBytes = mostBytes): Generator<Work<Portion<T>>> {
  for (const [lattice, out] of joined(parts))
    for (const outer of cutPortions(lattice, most)) yield createPortion({ ...lattice, outer }, out)
}

/** Returns the largest number of bytes that a portion fetches, given all that is requested. */
type MostBytes = (lattice: Lattice, extents: Extents) => number

const mostBytes: MostBytes = () => MAX_REQUEST_BYTES

/**
 * Cuts a copy of up to 8 MiB into portions of 1 MiB if the file can be read without waiting.
 * Reductions are not cut so: their results depend on the portions, which must be the same wherever a file
 * lies.
 */
const mostHereBytes: MostBytes = ({ layout }, { bytes }) =>
  bytes[0]! <= MAX_REQUEST_BYTES && layout.origin.local !== undefined && layout.origin.quickReads?.() !== undefined
    ? QUICK_PORTION_BYTES
    : MAX_REQUEST_BYTES

/**
 * Yields parts in order; those that continue at the same distances and fill a box of their result are joined.
 */
function* joined<T>(parts: readonly StridedPart<T>[]): Generator<readonly [Lattice, T]> {
  const lattices = parts.map(createLattice)
  for (let from = 0, to = 0; from < parts.length; from = to) {
    const first = lattices[from]!
    while (to < parts.length && goesOn(parts[from]!, parts[to]!, first, lattices[to]!)) to++
    const outer = filledBox(lattices.slice(from, to).map(({ outer }) => outer))
    if (outer !== undefined) yield [{ ...first, outer }, parts[from]!.out]
    else for (let i = from; i < to; i++) yield [lattices[i]!, parts[i]!.out]
  }
}

const goesOn = (one: StridedPart<unknown>, other: StridedPart<unknown>, a: Lattice, b: Lattice): boolean =>
  one.out === other.out && a.layout === b.layout && a.start === b.start && a.steps.every((step, axis) => step === b.steps[axis])

/** Returns the position of the first element of a box, and its axes. */
function fileAxes({ start, steps, outer }: Lattice): [number, FileAxis[]] {
  const first = outer.reduce((sum, range, axis) => sum + range.start * steps[axis]!, start)
  return [first, outer.map((range, axis) => ({ length: rangeLength(range), step: steps[axis]! }))]
}

/** Returns the distinct places that are picked along some axes of a chunk, taken together. */
function findWanted(
  inner: AxisIndices,
  lengths: readonly number[],
  strides: readonly number[],
): { start: number; axis: FileAxis; ranks: AxisIndices } {
  const { length } = inner
  if (lengths.length === 1 && !isListed(inner) && (inner.step > 0 || length === 1))
    return { start: inner.start * strides[0]!, axis: { length, step: inner.step * strides[0]! }, ranks: wholeAxis(length) }
  const all = Uint32Array.from({ length }, (_, i) => indexAt(inner, i))
  const places = all.slice().sort().filter((place, i, sorted) => place !== sorted[i - 1]) // biome-ignore format: one line
  const ranks = new Map<number, number>()
  const offsets = new Float64Array(places.length)
  places.forEach((place, rank) => {
    ranks.set(place, rank)
    offsets[rank] = coordsAt(place, lengths).reduce((sum, at, axis) => sum + at * strides[axis]!, 0)
  })
  const start = offsets[0] ?? 0
  const axis = { length: places.length, step: 0, offsets: offsets.map((offset) => offset - start) }
  return { start, axis, ranks: evenOr(all.map((place) => ranks.get(place)!)) }
}

const distance = ({ step, offsets }: FileAxis, i: number): number => offsets?.[i] ?? i * step

/** Extents of elements, for each axis together with those after it. The last entry describes one element. */
interface Extents {
  /** Bytes from the start of the first element to the end of the last. */
  readonly span: number[]
  /** Whether one request reads all elements. */
  readonly isOne: boolean[]
  readonly requests: number[]
  /** Bytes of those requests. */
  readonly bytes: number[]
}

function findExtents(axes: readonly FileAxis[], elementBytes: number): Extents {
  const rank = axes.length
  const of = (last: number): number[] => new Array<number>(rank + 1).fill(last)
  const all: Extents = {
    span: of(elementBytes),
    bytes: of(elementBytes),
    requests: of(1),
    isOne: new Array<boolean>(rank + 1).fill(true),
  }
  for (let axis = rank - 1; axis >= 0; axis--) {
    const own = axes[axis]!
    const { length } = own
    all.span[axis] = distance(own, length - 1) + all.span[axis + 1]!
    all.requests[axis] = all.isOne[axis + 1] ? countGroups(own, all.span[axis + 1]!) : length * all.requests[axis + 1]!
    all.isOne[axis] = all.requests[axis] === 1
    const isGrouped = all.requests[axis]! < length || length === 1
    all.bytes[axis] = isGrouped ? all.span[axis]! : length * all.bytes[axis + 1]!
  }
  return all
}

/** Whether the elements along an axis and those after it fit into one portion. */
const fitsOne = ({ bytes, requests }: Extents, axis: number, most: number): boolean =>
  bytes[axis]! <= most && requests[axis]! <= MAX_REQUESTS

/** Returns the number of neighbours coalesced into the request that starts at `from`. */
function groupLength(axis: FileAxis, from: number, inner: number): number {
  const { length, step, offsets } = axis
  if (offsets === undefined) {
    const most = step - inner > MAX_GAP_BYTES ? 1 : Math.max(1, Math.floor((MAX_REQUEST_BYTES - inner) / step) + 1)
    return Math.min(most, length - from)
  }
  const first = offsets[from]!
  let to = from + 1
  while (
    to < length &&
    offsets[to]! - offsets[to - 1]! - inner <= MAX_GAP_BYTES &&
    offsets[to]! - first + inner <= MAX_REQUEST_BYTES
  )
    to++
  return to - from
}

function countGroups(axis: FileAxis, inner: number): number {
  if (axis.offsets === undefined) return Math.ceil(axis.length / groupLength(axis, 0, inner))
  let count = 0
  for (let i = 0; i < axis.length; i += groupLength(axis, i, inner)) count++
  return count
}

/** Cuts a box into parts that do not exceed the limits of requests and bytes. */
function* cutPortions(lattice: Lattice, most: MostBytes): Generator<Box> {
  const { layout, outer } = lattice
  const [, axes] = fileAxes(lattice)
  const extents = findExtents(axes, layout.elementBytes)
  const { span, bytes, requests, isOne } = extents
  const limit = most(lattice, extents)
  function* cut(axis: number, before: Box): Generator<Box> {
    if (axis === outer.length || fitsOne(extents, axis, limit)) {
      yield [...before, ...outer.slice(axis)]
      return
    }
    const { start, stop } = outer[axis]!
    const few = Math.min(limit / bytes[axis + 1]!, MAX_REQUESTS / requests[axis + 1]!)
    const group = isOne[axis + 1] ? groupLength(axes[axis]!, 0, span[axis + 1]!) : 1
    const count = Math.max(
      1,
      group > 1 ? Math.min(group, Math.floor((limit - span[axis + 1]!) / axes[axis]!.step) + 1) : Math.floor(few),
    )
    for (let at = start; at < stop; at += count) {
      const own = [...before, { start: at, stop: Math.min(stop, at + count), step: 1 }]
      if (count > 1 || fitsOne(extents, axis + 1, limit)) yield [...own, ...outer.slice(axis + 1)]
      else yield* cut(axis + 1, own)
    }
  }
  yield* cut(0, [])
}

/** Returns the requests for elements; ascending if the axes are in file order. */
export function elementsOf(
  { elementBytes, bigEndian }: Pick<StridedLayout, 'elementBytes' | 'bigEndian'>,
  start: number,
  axes: readonly FileAxis[],
  { span, isOne }: Extents = findExtents(axes, elementBytes),
): StoredElements {
  const count = sizeOf(axes.map(({ length }) => length))
  const common = { elementBytes, bigEndian, count }
  if (isOne[0]) return { ...common, reads: [{ offset: start, length: span[0]!, axes: axes.map(axisIndices), before: 0 }] }
  const sizes = stridesOf(axes.map(({ length }) => length))
  const reads: StoredRead[] = []
  const add = (own: readonly FileAxis[], offset: number, length: number, before: number): void => {
    reads.push({ offset, length, axes: own.map(axisIndices), before })
  }
  const cut = (axis: number, offset: number, before: number): void => {
    if (isOne[axis]) {
      add(axes.slice(axis), offset, span[axis]!, before)
      return
    }
    const own = axes[axis]!
    const inner = span[axis + 1]!
    for (let i = 0, count = 1; i < own.length; i += count) {
      const [at, place] = [offset + distance(own, i), before + i * sizes[axis]!]
      if (!isOne[axis + 1]) cut(axis + 1, at, place)
      else {
        count = groupLength(own, i, inner)
        const group = groupOf(own, i, count)
        add([group, ...axes.slice(axis + 1)], at, distance(group, count - 1) + inner, place)
      }
    }
  }
  cut(0, start, 0)
  return { ...common, reads }
}

const groupOf = ({ step, offsets }: FileAxis, from: number, length: number): FileAxis =>
  offsets === undefined
    ? { length, step }
    : { length, step, offsets: offsets.subarray(from, from + length).map((offset) => offset - offsets[from]!) }

const axisIndices = ({ length, step, offsets }: FileAxis): AxisIndices =>
  offsets === undefined ? { start: 0, step, length } : Uint32Array.from(offsets)
