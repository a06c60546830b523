import { DiskArray } from '../array/disk-array.ts'
import { readFresh } from '../array/lazy/picks.ts'
import type { BlockOptions, BlockSource } from '../array/source.ts'
import { eachIndex } from '../core/shape.ts'
import { copyTensor, type Tensor, viewTensor } from '../core/tensor.ts'
import { placeAt } from '../core/tensor-index.ts'
import { type Box, type Range, viewOf } from '../grid/range.ts'
import { slice } from '../grid/slice.ts'

/** Reads the values of a box and of its upper neighbours at once, and subtracts neighbours along an axis. */
export async function readDifferences(
  source: BlockSource,
  axis: number,
  box: Box,
  out: Tensor,
  options: BlockOptions | undefined,
): Promise<void> {
  const values = await readFresh(source, box.map((range, each) => (each === axis ? { ...range, stop: range.stop + 1 } : range)), options) // biome-ignore format: one line
  const [from, to] = [values.data as Float64Array, out.data as Float64Array]
  const [next, last] = [values.stride[axis]!, out.shape.length - 1]
  eachIndex(out.shape.slice(0, last), (index) => {
    let [at, place] = [placeAt(values, index), placeAt(out, index)]
    for (let i = 0; i < out.shape[last]!; i++, at += values.stride[last]!, place += out.stride[last]!)
      to[place] = from[at + next]! - from[at]!
  })
}

/**
 * Sums along an axis from its first position to the end of a box, run by run, and keeps the sums of the box.
 * @param array to be summed, with sums of the type of `sums`
 */
export async function readCumulative(
  array: DiskArray,
  axis: number,
  skip: { readonly skipMissing: boolean; readonly skipNaN?: boolean },
  { dtype }: Pick<BlockSource, 'dtype'>,
  box: Box,
  out: Tensor,
  { signal }: BlockOptions = {},
): Promise<void> {
  const below = array.view(box.map(({ start, stop }, each) => slice(each === axis ? 0 : start, stop)))
  const first = box[axis]!.start
  const into = new DiskArray({
    dtype,
    shape: below.shape,
    chunks: below.chunks,
    readBlock: () => undefined,
    writeBlock: (part, sums) => {
      // Sums before the box are needed for the others only.
      const kept = (range: Range, each: number, origin: number): Range => {
        const start = each === axis ? Math.max(range.start, first) : range.start
        return { start: start - origin, stop: Math.max(start, range.stop) - origin, step: 1 }
      }
      const rows = part.map((range, each) => viewOf(kept(range, each, range.start)))
      const places = part.map((range, each) => viewOf(kept(range, each, each === axis ? first : 0)))
      copyTensor(viewTensor(sums, rows), viewTensor(out, places))
    },
  })
  await below.cumsum(axis, { into: into as never, ...skip, signal })
}
