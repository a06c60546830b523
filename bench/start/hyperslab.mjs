// Typical first steps: reads a slice of a small source, and the sum of all elements, which needs the kernels.
import { DiskArray, slice } from 'hyperslab'

const COLUMNS = 6

export async function run() {
  const readBlock = ([rows, columns], { data, stride, offset }) => {
    for (let i = rows.start; i < rows.stop; i++)
      for (let j = columns.start; j < columns.stop; j++)
        data[offset + (i - rows.start) * stride[0] + (j - columns.start) * stride[1]] = i * COLUMNS + j
  }
  const array = new DiskArray({ dtype: 'float32', shape: [4, COLUMNS], chunks: [2, 3], readBlock })
  const { data } = await array.get([slice(1, 3), slice(2, 4)])
  return [...data, await array.sum({ skipMissing: false })]
}
