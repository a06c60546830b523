import { expect } from 'vitest'
import { DiskArray } from '../../../src/array/disk-array.ts'
import { allocate, type DType, isBigInt } from '../../../src/core/dtype.ts'
import { sizeOf } from '../../../src/core/shape.ts'
import { ChunkGrid } from '../../../src/grid/chunks.ts'
import { listLengths } from '../../../src/grid/irregular-chunks.ts'
import type { Box } from '../../../src/grid/range.ts'
import { CountingSource } from '../../support/counting-source.ts'

/** An array of 1, 2, 3 … with a log of what is read and written. */
export function counted<D extends DType = 'float64'>(
  shape: number[],
  chunkShape: number[] = shape.map((length) => Math.max(1, length)),
  { dtype = 'float64' as D, first = 1, same }: { dtype?: D; first?: number; same?: number } = {},
) {
  const data = allocate(dtype, sizeOf(shape))
  for (let i = 0; i < data.length; i++) data[i] = (isBigInt(dtype) ? BigInt(first + i) : (same ?? first + i)) as never
  const source = new CountingSource({ dtype, shape, data }, ChunkGrid.regular(shape, chunkShape))
  return { array: new DiskArray(source), source, data, reads: source.reads, writes: source.writes }
}

/** The elements of an array, in C order. */
export const all = async (array: DiskArray): Promise<unknown[]> => {
  const result: unknown = await array.get([])
  return typeof result === 'object' ? [...(result as { data: ArrayLike<unknown> & Iterable<unknown> }).data] : [result]
}

/** Lengths of the chunks along each axis. */
export const chunkLengths = ({ chunks }: DiskArray): number[][] => chunks.axes.map(listLengths)

/** Starts and stops only. */
export const bounds = (box: Box): number[][] => box.map(({ start, stop }) => [start, stop])

export const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i)

export const refused = (tag: string) => expect.objectContaining({ tag })
