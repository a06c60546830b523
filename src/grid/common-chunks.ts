import { type AxisChunks, sameChunks } from './chunks.ts'
import { axisChunks, checkListed, IrregularChunks, listLengths } from './irregular-chunks.ts'

/**
 * Returns chunks that suit several arrays of one shape. If some arrays have chunks made of whole chunks of
 * all others, these are used, so that no chunk is read in parts. Where chunks do not align, the axis is
 * divided at the boundaries of all arrays.
 */
export function commonChunks(all: readonly AxisChunks[]): AxisChunks {
  const [first, ...others] = all
  if (others.every((each) => sameChunks(each, first!))) return first!
  const listBoundaries = (chunks: AxisChunks): number[] => {
    checkListed(chunks.count)
    return Array.from({ length: chunks.count }, (_, k) => chunks.stop(k))
  }
  const lists = all.map(listBoundaries)
  const shared = lists.reduce((common, list) => {
    const set = new Set(list)
    return common.filter((border) => set.has(border))
  })
  const union = [...new Set(lists.flat())].sort((a, b) => a - b)
  const boundaries = [0]
  let next = 0
  for (const end of shared) {
    const start = boundaries.at(-1)!
    const whole = all.some((chunks) => chunks.start(chunks.find(start)) === start && chunks.stop(chunks.find(start)) === end)
    for (; union[next]! < end; next++) if (!whole) boundaries.push(union[next]!)
    boundaries.push(end)
    next++
  }
  return regularised(boundaries)
}

/** Divides an axis at the boundaries of several arrays, each of which begins at its `origin`. */
export function refineChunks(
  length: number,
  pieces: readonly { readonly origin: number; readonly chunks: AxisChunks }[],
): AxisChunks {
  const boundaries = new Set([0, length])
  for (const { origin, chunks } of pieces) {
    boundaries.add(origin)
    checkListed(chunks.count)
    for (let k = 0; k < chunks.count; k++) boundaries.add(origin + chunks.stop(k))
  }
  return regularised([...boundaries].sort((a, b) => a - b))
}

const regularised = (boundaries: readonly number[]): AxisChunks => axisChunks(listLengths(new IrregularChunks(boundaries)))
