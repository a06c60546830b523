import { type Checks, checkOptions } from '../../core/options.ts'
import { sizeOf } from '../../core/shape.ts'
import { type AxisChunks, ChunkGrid } from '../../grid/chunks.ts'
import { IrregularChunks } from '../../grid/irregular-chunks.ts'
import { copyWhole, PROGRESS_CHECKS, type ProgressOptions } from '../iteration.ts'
import { type BlockSource, bytesOf } from '../source.ts'

/** Options of `rechunkTo`. */
export interface RechunkOptions extends ProgressOptions {
  /**
   * Bytes of elements held at a time; 64 MiB when left out. One chunk of the target is held even where it is
   * larger.
   */
  readonly maxBytes?: number
}

const CHECKS: Checks<RechunkOptions> = { ...PROGRESS_CHECKS, maxBytes: 'number from 0' }

const DEFAULT_MAX_BYTES = 64 * 1024 * 1024

/**
 * Copies an array into one with other chunks. Each chunk of the target is written once and whole; a chunk of
 * the source is read once if the chunks of both that overlap it fit in `maxBytes`, otherwise in as few parts
 * as fit.
 * @throws InvalidArgumentError when shapes or types differ; ReadOnlyError
 */
export async function rechunkTo(source: BlockSource, target: BlockSource, options: RechunkOptions = {}): Promise<void> {
  checkOptions('rechunkTo', options, CHECKS)
  const room = (options.maxBytes ?? DEFAULT_MAX_BYTES) / bytesOf(source.dtype)
  // Nothing is read while something is held.
  await copyWhole(source, target, { ...options, prefetch: 0 }, () =>
    copyGrid(source.chunks, target.writeGrid ?? target.chunks, room),
  )
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
