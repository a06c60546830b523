import { type AxisChunks, ChunkGrid, READ_BYTES, RegularChunks, sameChunks } from '../grid/chunks.ts'
import { commonChunks as alignedChunks } from '../grid/joined-chunks.ts'
import { type BlockSource, bytesOf } from './source.ts'

/**
 * Parts of an array that come one after another in C order of its elements, as large as fits in some MiB:
 * whole rows of chunks where they fit. Where not even one does, its chunks are read as often as there are
 * parts of it.
 */
export function arrayOrder({ shape, chunks, dtype }: BlockSource, maxBytes = 4 * READ_BYTES): ChunkGrid {
  const room = Math.floor(maxBytes / bytesOf(dtype))
  const rests = new Array<number>(shape.length)
  for (let axis = shape.length - 1, rest = 1; axis >= 0; rest *= Math.max(1, shape[axis]!), axis--) rests[axis] = rest
  return new ChunkGrid(
    shape.map((length, axis) => {
      const fits = Math.max(1, Math.min(Math.floor(room / rests[axis]!), Math.max(1, length)))
      // One axis is cut: those before it go position by position, those after it are whole.
      if (fits >= length) return new RegularChunks(Math.max(1, length), length)
      const own = chunks.axes[axis]!
      return fits >= own.chunkLength ? own.coarsen(fits) : new RegularChunks(fits, length)
    }),
  )
}

/**
 * Chunks for going through arrays of one shape together: unions of whole chunks of all of them where these
 * fit in some MiB, so that each is read once; the chunks of the first array where they do not.
 */
export function traversalChunks(sources: readonly [BlockSource, ...BlockSource[]]): ChunkGrid {
  const [{ shape, chunks }, ...others] = sources
  const grid = new ChunkGrid(
    shape.map((length, axis) =>
      others.reduce((common, other) => union(common, other.chunks.axes[axis]!, length), chunks.axes[axis]!),
    ),
  )
  const size = grid.chunkShape.reduce((product, length, axis) => product * Math.min(length, shape[axis]!), 1)
  const bytes = sources.reduce((sum, { dtype }) => sum + bytesOf(dtype), 0)
  return size * bytes <= 4 * READ_BYTES ? grid.coarsen(READ_BYTES / bytes) : chunks
}

function union(a: AxisChunks, b: AxisChunks, length: number): AxisChunks {
  if (sameChunks(a, b)) return a
  if (!(a instanceof RegularChunks && b instanceof RegularChunks)) return alignedChunks([a, b])
  const common = (a.chunkLength / divisor(a.chunkLength, b.chunkLength)) * b.chunkLength
  if (a.offset === 0 && b.offset === 0 && common < length) return new RegularChunks(common, length)
  return new RegularChunks(Math.max(1, length), length)
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b))
