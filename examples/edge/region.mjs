import { ChunkGrid, DiskArray, RegularChunks, slice } from 'hyperslab'

/**
 * A part of an array as an array of its own, which holds no data. Its chunks are those of the whole, cut at the borders, so that a
 * reduction reads each block once and holds a few MiB of them at a time.
 * @param spans a `{ start, length }` an axis, by name; longitudes may go on at the start of their axis
 */
export function regionOf(array, spans) {
  const parts = array.dimensionNames.map((name) => spans[name])
  const axes = parts.map(({ start, length }, axis) => {
    const { chunkLength } = array.chunks.axes[axis]
    return new RegularChunks(chunkLength, length, start % chunkLength)
  })
  return new DiskArray({
    dtype: array.dtype,
    shape: parts.map(({ length }) => length),
    dimensionNames: array.dimensionNames,
    fillValue: array.fillValue,
    chunks: new ChunkGrid(axes),
    async readBlock(box, out, options) {
      const absolute = box.map(({ start, stop }, axis) => ({ start: start + parts[axis].start, stop: stop + parts[axis].start }))
      const round = array.dimensionNames.indexOf('lon')
      for (const { range, at } of cutAtEnd(absolute[round], array.shape[round])) {
        const selection = absolute
          .map((each, axis) => (axis === round ? range : each))
          .map(({ start, stop }) => slice(start, stop))
        const shape = out.shape.map((length, axis) => (axis === round ? range.stop - range.start : length))
        await array.get(selection, { ...options, out: { ...out, shape, offset: out.offset + at * out.stride[round] } })
      }
    },
  })
}

/** A range that may go beyond the end of an axis of `length` positions, as one range or two; `at` counts from its start. */
function cutAtEnd({ start, stop }, length) {
  if (stop <= length) return [{ range: { start, stop }, at: 0 }]
  if (start >= length) return [{ range: { start: start - length, stop: stop - length }, at: 0 }]
  return [
    { range: { start, stop: length }, at: 0 },
    { range: { start: 0, stop: stop - length }, at: length - start },
  ]
}
