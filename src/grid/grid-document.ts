import { type AxisChunks, ChunkGrid, RegularChunks } from './chunks.ts'
import { IrregularChunks } from './irregular-chunks.ts'

/** Chunks along one axis as JSON: chunk length, axis length and offset; or all boundaries. */
export type AxisDocument =
  | readonly [chunkLength: number, length: number, offset: number]
  | { readonly boundaries: readonly number[] }

/** Converts a chunk grid to JSON. */
export const gridDocument = ({ axes }: ChunkGrid): AxisDocument[] => axes.map(axisDocument)

const axisDocument = (axis: AxisChunks): AxisDocument =>
  axis instanceof RegularChunks
    ? [axis.chunkLength, axis.length, axis.offset]
    : { boundaries: [0, ...Array.from({ length: axis.count }, (_, k) => axis.stop(k))] }

/**
 * Converts JSON to a chunk grid.
 * @throws InvalidArgumentError if the numbers are not valid chunks
 */
export const parseGrid = (axes: readonly AxisDocument[]): ChunkGrid =>
  new ChunkGrid(axes.map((axis) => ('boundaries' in axis ? new IrregularChunks(axis.boundaries) : new RegularChunks(...axis))))
