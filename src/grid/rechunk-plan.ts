import { commonDivisor } from '../core/divisors.ts'
import { sizeOf } from '../core/shape.ts'
import { type AxisChunks, ChunkGrid } from './chunks.ts'
import { type AxisDocument, gridDocument, parseGrid } from './grid-document.ts'
import { IrregularChunks } from './irregular-chunks.ts'

/**
 * How an array is copied into one with other chunks: region by region of `write`, straight from the source,
 * or through an intermediate array that is written region by region of `first.read` before. Each region can
 * be copied by itself, by any machine and again, as it writes whole objects that no other region writes.
 */
export interface RechunkPlan {
  /** What is written to the target at once: runs of its whole objects. */
  readonly write: ChunkGrid
  /** The first of two passes; undefined where the target is written straight from the source. */
  readonly first?: FirstPass | undefined
}

/**
 * The pass that copies elements to an intermediate array, in which those of a target object are in few
 * chunks.
 */
export interface FirstPass {
  /** What is read of the source at once: made of whole chunks of the intermediate array. */
  readonly read: ChunkGrid
  /** The chunks of the intermediate array, which are regular. */
  readonly chunks: ChunkGrid
}

/** What there is to plan for. */
export interface RechunkRequest {
  /** The chunks of the source, each of which is read as a whole however little of it is wanted. */
  readonly from: ChunkGrid
  /** The objects of the target, each of which is written once and as a whole. */
  readonly to: ChunkGrid
  readonly elementBytes: number
  /** Bytes of elements of a region; an object of the target that is larger is a region of its own. */
  readonly maxBytes: number
  /** 1 where there is no place for an intermediate array. */
  readonly mostPasses?: 1 | 2 | undefined
}

/** Bytes that could be read in the time that it takes to make or to open an object. */
const OBJECT_BYTES = 64 * 1024

/**
 * The plan that reads and writes least. Chunks of the source that lie in several regions are read for each of
 * them; where that is more than an intermediate array takes to be written and read, the plan has two passes.
 */
export function planRechunk({ from, to, elementBytes, maxBytes, mostPasses = 2 }: RechunkRequest): RechunkPlan {
  const room = maxBytes / elementBytes
  const write = copyGrid(from, to, room)
  const bytes = sizeOf(from.shape) * elementBytes
  const rest = bytes * (rereads(write, from) - 2)
  if (mostPasses === 1 || !(rest > 0)) return { write }
  const two = twoPasses(from, to, room)
  if (two === undefined) return { write }
  const { read, chunks } = two.first
  // Copied uncompressed and read again, elements take about as long as one more reading of the source.
  const more = rereads(read, from) - 1 + (rereads(two.write, chunks) - 1) / 2
  const objects = chunks.count * (1 + rereads(two.write, chunks))
  return rest <= bytes * more + objects * OBJECT_BYTES ? { write } : two
}

/**
 * What a copy takes at most: each request reads a chunk or writes an object, whose elements have so many
 * bytes.
 */
export interface RechunkTraffic {
  readonly requests: number
  readonly bytes: number
}

/** What the copy by a plan takes, with what goes through an intermediate array. */
export function trafficOf(
  { write, first }: RechunkPlan,
  { from, to, elementBytes }: Pick<RechunkRequest, 'from' | 'to' | 'elementBytes'>,
): RechunkTraffic {
  const passes = first === undefined ? [[write, from, to]] : [[first.read, from, first.chunks], [write, first.chunks, to]] // biome-ignore format: one line
  let [requests, bytes] = [0, 0]
  for (const [regions, chunks, objects] of passes as [ChunkGrid, ChunkGrid, ChunkGrid][]) {
    requests += readsOf(regions, chunks) + objects.count
    bytes += Math.ceil(sizeOf(from.shape) * elementBytes * (rereads(regions, chunks) + 1))
  }
  return { requests, bytes }
}

/** How many chunks are read when each region of a grid reads those in it. */
const readsOf = (regions: ChunkGrid, chunks: ChunkGrid): number =>
  regions.axes.reduce((product, own, axis) => product * parts(own, chunks.axes[axis]!), 1)

/** The same for a chunk, on average. */
const rereads = (regions: ChunkGrid, chunks: ChunkGrid): number => readsOf(regions, chunks) / Math.max(1, chunks.count)

/**
 * Two passes with as few chunks between them as there can be; undefined where no chunk of the source fits.
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
  // Along an axis, chunks in between are as long as the shorter of both; so that one is made longer.
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
  // The axis with most chunks first; of several the last one, whose elements lie beside each other.
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

/** The largest multiple up to a length; undefined where that is less than half of it. */
function multiple(length: number, step: number): number | undefined {
  const found = step * Math.floor(length / step)
  return 2 * found >= length ? found : undefined
}

/**
 * What to copy at once: runs of whole chunks of the target. Starting from single ones, the axis that saves
 * most for the memory it takes is widened to where chunks of both end, or to twice as many, as long as that
 * fits.
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
  // What is left of the memory does not go to waste.
  const room = (own: AxisChunks): number => Math.floor((maxElements * own.chunkLength) / longest(aligning))
  const filling = widen(aligning, (own, axis) => [to.axes[axis]!.coarsen(room(own))])
  return new ChunkGrid(filling).coarsen(maxElements)
}

/** How many parts the chunks of a source are read in. */
function parts(own: AxisChunks, source: AxisChunks): number {
  let count = 0
  for (let k = 0; k < own.count; k++) count += source.find(own.stop(k) - 1) - source.find(own.start(k)) + 1
  return count
}

/** Only those borders at which a chunk of the source ends, too. */
function aligned(own: AxisChunks, source: AxisChunks): AxisChunks {
  const borders = [0]
  for (let k = 0; k < own.count; k++) {
    const stop = own.stop(k)
    if (source.stop(source.find(stop - 1)) === stop) borders.push(stop)
  }
  return new IrregularChunks(borders)
}

/** A plan as JSON. */
export interface RechunkDocument {
  readonly write: readonly AxisDocument[]
  readonly first?: { readonly read: readonly AxisDocument[]; readonly chunks: readonly AxisDocument[] } | undefined
}

/** A plan as JSON, from which {@link parseRechunk} makes the same plan. */
export const rechunkDocument = ({ write, first }: RechunkPlan): RechunkDocument => ({
  write: gridDocument(write),
  ...(first && { first: { read: gridDocument(first.read), chunks: gridDocument(first.chunks) } }),
})

/** @throws InvalidArgumentError for numbers that make no chunks */
export const parseRechunk = ({ write, first }: RechunkDocument): RechunkPlan => ({
  write: parseGrid(write),
  ...(first && { first: { read: parseGrid(first.read), chunks: parseGrid(first.chunks) } }),
})
