import { type AxisChunks, RegularChunks } from './chunks.ts'
import { axisChunks, checkListed, listLengths } from './irregular-chunks.ts'
import { countTouched, projectAxis } from './projection.ts'

/**
 * Returns the chunks of an axis with `low` positions added before it and `high` after it. Regular chunks
 * extend over the new positions; irregular ones get an extra chunk at each end.
 */
export function padChunks(chunks: AxisChunks, low: number, high: number): AxisChunks {
  if (low === 0 && high === 0) return chunks
  if (chunks instanceof RegularChunks) {
    const { chunkLength, length, offset } = chunks
    const shifted = (((offset - low) % chunkLength) + chunkLength) % chunkLength
    return new RegularChunks(chunkLength, low + length + high, shifted)
  }
  return axisChunks([low, ...listLengths(chunks), high].filter((length) => length > 0))
}

/** `length` positions from `start`, `step` apart; the step may be negative. */
interface Progression {
  readonly start: number
  readonly step: number
  readonly length: number
}

/**
 * Returns the chunks of selected positions, in the order of selection. Neighbours in the selection stay
 * together if they belong to one chunk. Regular chunks stay regular if possible.
 */
export function subsetChunks(chunks: AxisChunks, taken: Progression | Iterable<number>): AxisChunks {
  if ('step' in taken) return subsetProgression(chunks, taken)
  const lengths: number[] = []
  let last: number | undefined
  for (const position of taken) {
    const chunk = chunks.find(position)
    if (chunk === last) lengths[lengths.length - 1]!++
    else lengths.push(1)
    last = chunk
  }
  return axisChunks(lengths)
}

function subsetProgression(chunks: AxisChunks, { start, step, length }: Progression): AxisChunks {
  if (length === 0) return new RegularChunks(1, 0)
  if (start === 0 && step === 1 && length === chunks.length) return chunks
  const stride = Math.abs(step)
  if (chunks instanceof RegularChunks && chunks.chunkLength % stride === 0) {
    const own = chunks.chunkLength / stride
    // Number of selectable positions of an unclipped first chunk that come before the first selected one.
    const skipped = Math.floor(((start + chunks.offset) % chunks.chunkLength) / stride)
    return single(new RegularChunks(own, length, step > 0 ? skipped : own - 1 - skipped))
  }
  // Each touched chunk contributes one position.
  if (chunks instanceof RegularChunks && stride >= chunks.chunkLength) return single(new RegularChunks(1, length))
  const first = step > 0 ? start : start + (length - 1) * step
  const range = { start: first, stop: first + (length - 1) * stride + 1, step: stride }
  checkListed(countTouched(range, chunks))
  const touched = projectAxis(range, chunks)
  const lengths = touched.map(({ from }) => from.length)
  return axisChunks(step > 0 ? lengths : lengths.reverse())
}

/** Replaces a lone chunk by one without offset or excess nominal length. */
const single = (chunks: RegularChunks): RegularChunks =>
  chunks.count > 1 ? chunks : new RegularChunks(chunks.length, chunks.length)
