import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { HttpStore } from '../../src/store/http/http.ts'
import { planRangeReads } from '../../src/store/ranges.ts'
import { RangeRequester, type RequestOptions } from '../../src/store/requester.ts'
import type { ByteRange } from '../../src/store/store.ts'
import { runs } from '../support/budget.ts'

const LOOSE = { maxGapBytes: 10, maxRequestBytes: 1000 }
const asked = (pairs: number[][], limits = LOOSE): number[][] =>
  planRangeReads(
    pairs.map(([offset, length]) => ({ offset: offset!, length: length! })),
    limits,
  ).map(({ offset, length }) => [offset, length])

test.each([
  ['nothing', [], []],
  ['empty ranges', [[5, 0]], []],
  ['one range', [[5, 3]], [[5, 3]]],
  [
    'adjacent ranges',
    [
      [5, 3],
      [8, 2],
    ],
    [[5, 5]],
  ],
  [
    'a gap that may be read',
    [
      [0, 5],
      [15, 5],
    ],
    [[0, 20]],
  ],
  [
    'a gap one byte wider',
    [
      [0, 5],
      [16, 5],
    ],
    [
      [0, 5],
      [16, 5],
    ],
  ],
  [
    'descending order',
    [
      [20, 5],
      [0, 5],
      [10, 5],
    ],
    [[0, 25]],
  ],
  [
    'one inside another',
    [
      [0, 50],
      [10, 5],
      [55, 5],
    ],
    [[0, 60]],
  ],
  [
    'equal ranges',
    [
      [7, 7],
      [7, 7],
    ],
    [[7, 7]],
  ],
  [
    'a range that is too large, split evenly',
    [[0, 2500]],
    [
      [0, 1000],
      [1000, 1000],
      [2000, 500],
    ],
  ],
  [
    'ranges that are too large together',
    [
      [0, 600],
      [600, 600],
    ],
    [
      [0, 600],
      [600, 600],
    ],
  ],
])('requests for %s', (_, ranges, requests) => {
  expect(asked(ranges)).toEqual(requests)
})

const object = Uint8Array.from({ length: 400 }, (_, i) => (i * 7) % 251)
const someRange = fc
  .tuple(fc.nat(400), fc.nat(400))
  .map(([a, b]): ByteRange => ({ offset: Math.min(a, b), length: Math.abs(a - b) }))
const someRanges = fc.array(someRange, { maxLength: 12 })
const someLimits = fc.record({ maxGapBytes: fc.nat(40), maxRequestBytes: fc.integer({ min: 1, max: 200 }) })
const wantedOf = (ranges: readonly ByteRange[]) => ranges.map(({ offset, length }) => object.slice(offset, offset + length))

test('requests stay within the limits, ascend, and no two that touch could be one', () => {
  fc.assert(
    fc.property(someRanges, someLimits, (ranges, limits) => {
      const requests = planRangeReads(ranges, limits)
      requests.forEach(({ offset, length, parts }, i) => {
        expect(length).toBeGreaterThan(0)
        expect(length).toBeLessThanOrEqual(limits.maxRequestBytes)
        // Begins and ends with bytes that are wanted, and between them no gap is larger than allowed.
        const pieces = parts.map(({ from, length }) => [from, from + length]).sort((a, b) => a[0]! - b[0]!)
        expect(pieces[0]![0]).toBe(0)
        expect(Math.max(...pieces.map(([, end]) => end!))).toBe(length)
        let reached = 0
        for (const [from, end] of pieces) {
          expect(from! - reached).toBeLessThanOrEqual(limits.maxGapBytes)
          reached = Math.max(reached, end!)
        }
        if (i > 0) expect(offset).toBeGreaterThanOrEqual(requests[i - 1]!.offset)
      })
    }),
    { numRuns: runs(150) },
  )
})

test('every byte lands once, where it belongs', async () => {
  await fc.assert(
    fc.asyncProperty(someRanges, someLimits, async (ranges, limits) => {
      const landed = ranges.map(({ length }) => new Uint8Array(length))
      for (const { parts } of planRangeReads(ranges, limits)) {
        for (const { range, to, length } of parts) for (let i = to; i < to + length; i++) landed[range]![i]!++
      }
      for (const [i, each] of landed.entries()) expect(each).toEqual(new Uint8Array(ranges[i]!.length).fill(1))

      const requester = new RangeRequester(limits)
      const fetch = async ({ offset, length }: ByteRange) => object.slice(offset, offset + length)
      expect(await requester.get('v', ranges, fetch)).toEqual(wantedOf(ranges))
    }),
    { numRuns: runs(150) },
  )
})

describe('requester', () => {
  test('limits hold for callers together, and results are nobody else’s', async () => {
    let [count, bytes, mostCount, mostBytes] = [0, 0, 0, 0]
    const requester = new RangeRequester({ maxRequests: 3, maxBytesInFlight: 50, maxGapBytes: 0, maxRequestBytes: 40 })
    const fetch = async ({ offset, length }: ByteRange) => {
      mostCount = Math.max(mostCount, ++count)
      bytes += length
      mostBytes = Math.max(mostBytes, bytes)
      await new Promise((resolve) => setImmediate(resolve))
      count--
      bytes -= length
      return object.slice(offset, offset + length)
    }
    const ranges = Array.from({ length: 20 }, (_, i) => ({ offset: i * 20, length: 15 }))
    const results = await Promise.all([requester.get('v', ranges, fetch), requester.get('v', ranges, fetch)])
    for (const result of results) expect(result).toEqual(wantedOf(ranges))
    results[0]![0]!.fill(0)
    expect(results[1]).toEqual(wantedOf(ranges))
    expect(mostCount).toBe(3)
    expect(mostBytes).toBeLessThanOrEqual(50)
  })

  test('equal ranges of one version are fetched once, of another version again', async () => {
    const requester = new RangeRequester()
    const fetch = vi.fn(async ({ offset, length }: ByteRange) => object.slice(offset, offset + length))
    const range = [{ offset: 3, length: 5 }]
    await Promise.all(['a', 'a', 'b'].map((version) => requester.get(version, range, fetch)))
    expect(fetch).toHaveBeenCalledTimes(2)
  })

  test('the first failure is the one that is thrown, after everything has ended', async () => {
    const requester = new RangeRequester({ maxGapBytes: 0 })
    const ended: number[] = []
    const fetch = async (
      { offset }: ByteRange,
      signal: { aborted: boolean; addEventListener: AbortSignal['addEventListener'] },
    ) => {
      if (offset === 10) throw new Error('broken')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      ended.push(offset)
      throw new Error('given up')
    }
    const ranges = [0, 10, 20].map((offset) => ({ offset, length: 1 }))
    await expect(requester.get('v', ranges, fetch as never)).rejects.toThrow('broken')
    expect(ended).toEqual([0, 20])
  })

  test.each<RequestOptions>([{ maxRequests: 0 }, { maxBytesInFlight: 0 }, { maxRequestBytes: Number.NaN }, { maxGapBytes: -1 }])(
    '%o lets nothing through',
    (options) => {
      expect(() => new HttpStore(options)).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
    },
  )
})
