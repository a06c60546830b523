import { type AxisChunks, ChunkGrid, RegularChunks } from './chunks.ts'
import { IrregularChunks } from './irregular-chunks.ts'

/** Chunks along one axis as JSON: the length of chunks, that of the axis, the offset; or all borders. */
export type AxisDocument =
  | readonly [chunkLength: number, length: number, offset: number]
  | { readonly borders: readonly number[] }

/** Where the axes of an array are cut, as JSON. */
export const gridDocument = ({ axes }: ChunkGrid): AxisDocument[] => axes.map(axisDocument)

const axisDocument = (axis: AxisChunks): AxisDocument =>
  axis instanceof RegularChunks
    ? [axis.chunkLength, axis.length, axis.offset]
    : { borders: [0, ...Array.from({ length: axis.count }, (_, k) => axis.stop(k))] }

/** @throws InvalidArgumentError for numbers that make no chunks */
export const parseGrid = (axes: readonly AxisDocument[]): ChunkGrid =>
  new ChunkGrid(axes.map((axis) => ('borders' in axis ? new IrregularChunks(axis.borders) : new RegularChunks(...axis))))
