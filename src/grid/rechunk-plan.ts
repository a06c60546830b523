import { commonDivisor } from '../core/divisors.ts'
import { HyperslabError } from '../core/errors.ts'
import { sizeOf } from '../core/shape.ts'
import { type AxisChunks, ChunkGrid } from './chunks.ts'
import { type AxisDocument, gridDocument, parseGrid } from './grid-document.ts'
import { IrregularChunks } from './irregular-chunks.ts'

/**
 * Plan for copying an array into one with other chunks, region by region of `write`. Without `first`, regions
 * are read from the source. With it, they are read from an intermediate array, which is written before,
 * region by region of `first.read`. Regions can be copied independently, on any machine and repeatedly,
 * because each writes whole objects that no other region writes.
 */
export interface RechunkPlan {
  /** Regions of the target that are written at once: runs of its whole objects. */
  readonly write: ChunkGrid
  /** The first of two passes; undefined if the target is written straight from the source. */
  readonly first?: FirstPass | undefined
}

/**
 * The pass that copies elements to an intermediate array, in which few chunks contain those of a target
 * object.
 */
export interface FirstPass {
  /** Regions of the source that are read at once: made of whole chunks of the intermediate array. */
  readonly read: ChunkGrid
  /** Regular chunks of the intermediate array. */
  readonly chunks: ChunkGrid
}

/** Input of planning. */
export interface RechunkRequest {
  /** Chunks of the source. Each is read as a whole, however few of its elements are needed. */
  readonly from: ChunkGrid
  /** Objects of the target. Each is written once and as a whole. */
  readonly to: ChunkGrid
  readonly elementBytes: number
  /** Largest size of a region in bytes; a larger object of the target is a region of its own. */
  readonly maxBytes: number
  /** 1 if no intermediate array can be stored. */
  readonly mostPasses?: 1 | 2 | undefined
}

/** Bytes that could be read in the time that it takes to create or open an object. */
const OBJECT_BYTES = 64 * 1024

/** Largest number of chunks along an axis. A plan goes through them several times, in seconds. */
const MAX_AXIS_CHUNKS = 2 ** 22

/** @throws TooLargeError for more chunks along an axis than a plan can go through */
function checkAxes({ axes }: ChunkGrid, what: string): void {
  const axis = axes.findIndex(({ count }) => count > MAX_AXIS_CHUNKS)
  if (axis < 0) return
  const { count, length } = axes[axis]!
  const text = `axis ${axis} has ${count} chunks of the ${what}, and copies go through ${MAX_AXIS_CHUNKS} at most; select a part of its ${length} elements, or use larger chunks`
  throw new HyperslabError('TooLargeError', text, { actual: count, expected: MAX_AXIS_CHUNKS })
}

/**
 * Returns the plan with the least I/O. Source chunks that overlap several regions are read for each of them.
 * If that costs more than writing and reading an intermediate array, the plan has two passes.
 * @throws TooLargeError for more than 2^22 chunks along an axis
 */
export function planRechunk({ from, to, elementBytes, maxBytes, mostPasses = 2 }: RechunkRequest): RechunkPlan {
  checkAxes(from, 'source')
  checkAxes(to, 'target')
  const room = maxBytes / elementBytes
  const write = copyGrid(from, to, room)
  const bytes = sizeOf(from.shape) * elementBytes
  const rest = bytes * (rereads(write, from) - 2)
  if (mostPasses === 1 || !(rest > 0)) return { write }
  const two = twoPasses(from, to, room)
  if (two === undefined) return { write }
  const { read, chunks } = two.first
  // Copying elements uncompressed and reading them again takes about as long as reading the source once more.
  const more = rereads(read, from) - 1 + (rereads(two.write, chunks) - 1) / 2
  const objects = chunks.count * (1 + rereads(two.write, chunks))
  return rest <= bytes * more + objects * OBJECT_BYTES ? { write } : two
}

/**
 * Upper bound of the I/O of a copy. Each request reads a chunk or writes an object; bytes are those of its
 * elements.
 */
export interface RechunkTraffic {
  readonly requests: number
  readonly bytes: number
}

/** Returns the I/O of a plan, including that of an intermediate array. */
export function countTraffic(
  { write, first }: RechunkPlan,
  { from, to, elementBytes }: Pick<RechunkRequest, 'from' | 'to' | 'elementBytes'>,
): RechunkTraffic {
  const passes = first === undefined ? [[write, from, to]] : [[first.read, from, first.chunks], [write, first.chunks, to]] // biome-ignore format: one line
  let [requests, bytes] = [0, 0]
  for (const [regions, chunks, objects] of passes as [ChunkGrid, ChunkGrid, ChunkGrid][]) {
    requests += countReads(regions, chunks) + objects.count
    bytes += Math.ceil(sizeOf(from.shape) * elementBytes * (rereads(regions, chunks) + 1))
  }
  return { requests, bytes }
}

/** Returns the number of chunk reads if each region of a grid reads the chunks it overlaps. */
const countReads = (regions: ChunkGrid, chunks: ChunkGrid): number =>
  regions.axes.reduce((product, own, axis) => product * parts(own, chunks.axes[axis]!), 1)

/** Returns the average number of reads per chunk. */
const rereads = (regions: ChunkGrid, chunks: ChunkGrid): number => countReads(regions, chunks) / Math.max(1, chunks.count)

/**
 * Returns a plan of two passes with as few intermediate chunks as possible; undefined if a source chunk does
 * not fit.
 */
function twoPasses(from: ChunkGrid, to: ChunkGrid, room: number): (Required<RechunkPlan> & { first: FirstPass }) | undefined {
  const { shape } = from
  const clip = ({ axes }: ChunkGrid): number[] =>
    axes.map(({ chunkLength, length }) => Math.max(1, Math.min(chunkLength, length)))
  const [chunk, object] = [clip(from), clip(to)]
  if (sizeOf(chunk) > room) return undefined
  const [read, write] = [[...chunk], [...object]]
  const fits = (lengths: readonly number[], axis: number, length: number): boolean =>
    (sizeOf(lengths) / lengths[axis]!) * length <= room
  // Along an axis, intermediate chunks have the length of the shorter side, so that side is lengthened.
  const grow = (axis: number, longer: (own: number, step: number, lengths: readonly number[]) => number): boolean => {
    const length = shape[axis]!
    const least = Math.min(read[axis]!, write[axis]!)
    const changes = (
      [
        [read, chunk[axis]!],
        [write, object[axis]!],
      ] as const
    )
      .filter(([lengths]) => lengths[axis]! <= least)
      .map(([lengths, step]) => [lengths, Math.min(length, longer(lengths[axis]!, step, lengths))] as const)
    if (least >= length || !changes.every(([lengths, next]) => next > lengths[axis]! && fits(lengths, axis, next))) return false
    for (const [lengths, next] of changes) lengths[axis] = next
    return true
  }
  // Starts with the axis of most chunks; among equals, with the last axis, whose elements are contiguous.
  const counts = (axis: number): number => Math.ceil(shape[axis]! / Math.min(read[axis]!, write[axis]!))
  const axes = shape.map((_, axis) => axis)
  const order = (): number[] => [...axes].sort((a, b) => counts(b) - counts(a) || b - a)
  while (order().some((axis) => grow(axis, (own) => 2 * own)));
  for (const axis of order()) grow(axis, (own, step, lengths) => step * Math.floor((room * own) / sizeOf(lengths) / step))
  const between = axes.map((axis) => {
    const [r, w, length] = [read[axis]!, write[axis]!, shape[axis]!]
    if (r >= length) return w
    if (r <= w) {
      if (w < length) write[axis] = multiple(w, common(r, object[axis]!)) ?? w
      return r
    }
    read[axis] = multiple(r, common(w, chunk[axis]!)) ?? w * Math.floor(r / w)
    return w
  })
  const grid = (lengths: readonly number[]): ChunkGrid => ChunkGrid.regular(shape, lengths)
  return {
    write: new ChunkGrid(to.axes.map((own, axis) => own.coarsen(write[axis]!))),
    first: { read: grid(read), chunks: grid(between) },
  }
}

const common = (a: number, b: number): number => (a / commonDivisor(a, b)) * b

/** Returns the largest multiple up to a length; undefined if it is below half of the length. */
function multiple(length: number, step: number): number | undefined {
  const found = step * Math.floor(length / step)
  return 2 * found >= length ? found : undefined
}

/**
 * Returns the regions of a copy: runs of whole chunks of the target. Starts from single chunks and repeatedly
 * widens the axis that saves most reads. An axis widens to where chunks of both grids end, or to twice the
 * length, as long as the region fits.
 */
export function copyGrid(from: ChunkGrid, to: ChunkGrid, maxElements: number): ChunkGrid {
  const longest = (all: readonly AxisChunks[]): number =>
    sizeOf(all.map(({ chunkLength, length }) => Math.min(chunkLength, length)))
  const widen = (axes: readonly AxisChunks[], widths: (own: AxisChunks, axis: number) => AxisChunks[]): readonly AxisChunks[] => {
    let [best, chosen] = [1, axes]
    axes.forEach((own, axis) => {
      for (const wider of widths(own, axis)) {
        const changed = axes.with(axis, wider)
        if (wider.count >= own.count || longest(changed) > maxElements) continue
        const gain = parts(own, from.axes[axis]!) / parts(wider, from.axes[axis]!)
        if (gain > best) [best, chosen] = [gain, changed]
      }
    })
    return chosen === axes ? axes : widen(chosen, widths)
  }
  const aligning = widen(to.axes, (own, axis) => [aligned(own, from.axes[axis]!), own.coarsen(2 * own.chunkLength)])
  // The remaining memory is used, too.
  const room = (own: AxisChunks): number => Math.floor((maxElements * own.chunkLength) / longest(aligning))
  const filling = widen(aligning, (own, axis) => [to.axes[axis]!.coarsen(room(own))])
  return new ChunkGrid(filling).coarsen(maxElements)
}

/** Returns the number of parts in which the chunks of a source are read. */
function parts(own: AxisChunks, source: AxisChunks): number {
  let count = 0
  for (let k = 0; k < own.count; k++) count += source.find(own.stop(k) - 1) - source.find(own.start(k)) + 1
  return count
}

/** Keeps only the boundaries at which a chunk of the source ends, too. */
function aligned(own: AxisChunks, source: AxisChunks): AxisChunks {
  const boundaries = [0]
  for (let k = 0; k < own.count; k++) {
    const stop = own.stop(k)
    if (source.stop(source.find(stop - 1)) === stop) boundaries.push(stop)
  }
  return new IrregularChunks(boundaries)
}

/** A plan as JSON. */
export interface RechunkDocument {
  readonly write: readonly AxisDocument[]
  readonly first?: { readonly read: readonly AxisDocument[]; readonly chunks: readonly AxisDocument[] } | undefined
}

/** Converts a plan to JSON; {@link parseRechunk} converts it back. */
export const rechunkDocument = ({ write, first }: RechunkPlan): RechunkDocument => ({
  write: gridDocument(write),
  ...(first && { first: { read: gridDocument(first.read), chunks: gridDocument(first.chunks) } }),
})

/** @throws InvalidArgumentError if the numbers are not valid chunks */
export const parseRechunk = ({ write, first }: RechunkDocument): RechunkPlan => ({
  write: parseGrid(write),
  ...(first && { first: { read: parseGrid(first.read), chunks: parseGrid(first.chunks) } }),
})
