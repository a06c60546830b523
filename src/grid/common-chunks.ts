import { type AxisChunks, sameChunks } from './chunks.ts'
import { axisChunks, checkListed, IrregularChunks, listLengths } from './irregular-chunks.ts'

/**
 * Returns chunks that suit several arrays of one shape. If some arrays have chunks made of whole chunks of
 * all others, these are used, so that no chunk is read in parts. Where chunks do not align, the axis is
 * divided at the borders of all arrays.
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
  const borders = [0]
  let next = 0
  for (const end of shared) {
    const start = borders.at(-1)!
    const whole = all.some((chunks) => chunks.start(chunks.find(start)) === start && chunks.stop(chunks.find(start)) === end)
    for (; union[next]! < end; next++) if (!whole) borders.push(union[next]!)
    borders.push(end)
    next++
  }
  return regularised(borders)
}

/** Divides an axis at the borders of several arrays, each of which begins at its `origin`. */
export function refineChunks(
  length: number,
  pieces: readonly { readonly origin: number; readonly chunks: AxisChunks }[],
): AxisChunks {
  const borders = new Set([0, length])
  for (const { origin, chunks } of pieces) {
    borders.add(origin)
    checkListed(chunks.count)
    for (let k = 0; k < chunks.count; k++) borders.add(origin + chunks.stop(k))
  }
  return regularised([...borders].sort((a, b) => a - b))
}

const regularised = (borders: readonly number[]): AxisChunks => axisChunks(listLengths(new IrregularChunks(borders)))
