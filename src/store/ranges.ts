import type { ByteRange } from './store.ts'

/** A request, with the ranges (or parts of ranges) that it answers. */
export interface RangeRequest extends ByteRange {
  readonly parts: readonly RangePart[]
}

/** Part of range number `range`: `length` bytes at `from` in the answer, at `to` in the range. */
export interface RangePart {
  readonly range: number
  readonly from: number
  readonly to: number
  readonly length: number
}

export interface MergeLimits {
  /**
   * Most bytes between two ranges that share a request. Transferring a small gap is cheaper than a second
   * request.
   */
  readonly maxGapBytes: number
  /** Most bytes of a request. Larger ranges are split. */
  readonly maxRequestBytes: number
}

/**
 * Plans the requests for ranges of one object, in ascending order. Ranges may overlap and come in any order;
 * empty ranges need no request.
 */
export function planRangeReads(ranges: readonly ByteRange[], { maxGapBytes, maxRequestBytes }: MergeLimits): RangeRequest[] {
  const pieces = ranges.flatMap((range, index) => split(range, index, maxRequestBytes)).sort((a, b) => a.offset - b.offset)
  const requests: { offset: number; end: number; parts: Piece[] }[] = []
  for (const piece of pieces) {
    const last = requests.at(-1)
    const end = piece.offset + piece.length
    const joins =
      last !== undefined && piece.offset - last.end <= maxGapBytes && Math.max(end, last.end) - last.offset <= maxRequestBytes
    if (joins) {
      last.end = Math.max(last.end, end)
      last.parts.push(piece)
    } else requests.push({ offset: piece.offset, end, parts: [piece] })
  }
  return requests.map(({ offset, end, parts }) => ({
    offset,
    length: end - offset,
    parts: parts.map((piece) => ({ range: piece.range, from: piece.offset - offset, to: piece.to, length: piece.length })),
  }))
}

/** Copies the answer of a request into the ranges that it answers. */
export function putParts(results: readonly Uint8Array[], { parts }: RangeRequest, bytes: Uint8Array): void {
  for (const { range, from, to, length } of parts) results[range]!.set(bytes.subarray(from, from + length), to)
}

interface Piece extends ByteRange {
  readonly range: number
  readonly to: number
}

function split({ offset, length }: ByteRange, range: number, maxBytes: number): Piece[] {
  return Array.from({ length: Math.ceil(length / maxBytes) }, (_, i) => {
    const to = i * maxBytes
    return { range, offset: offset + to, to, length: Math.min(maxBytes, length - to) }
  })
}
