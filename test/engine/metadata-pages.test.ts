import { describe, expect, test } from 'vitest'
import { MetadataPages } from '../../src/engine/metadata-pages.ts'
import { byBudget, seedOf } from '../support/budget.ts'

const SEED = seedOf('pages of metadata', 1)
const COUNT = byBudget({ quick: 40, full: 200, soak: 5000 })

/** A generator of integers below a limit. */
function randomBelow(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

const content = Uint8Array.from({ length: 3 * 2 ** 20 }, (_, i) => (i * 2654435761) >>> 13)

function opened(
  size: number,
  head: number,
  tail: number,
  withNeighbours = true,
): { file: MetadataPages; requests: { offset: number; length: number }[] } {
  const bytes = content.subarray(0, size)
  const requests: { offset: number; length: number }[] = []
  const start = { size, etag: 'a', bytes: bytes.slice(0, head), ...(tail > 0 && { tail: bytes.slice(Math.max(0, size - tail)) }) }
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    requests.push({ offset, length })
    return bytes.slice(offset, offset + length)
  }
  const file = new MetadataPages(start, read, { pageBytes: 8192, smallBytes: 2 ** 20, withNeighbours })
  return { file, requests }
}

describe('bytes of a file', () => {
  test('equal those of the file, whatever is read at once', async () => {
    const below = randomBelow(SEED)
    for (let i = 0; i < COUNT; i++) {
      const size = 1 + below(below(2) === 0 ? 2 ** 20 : content.length)
      const { file } = opened(size, 1 + below(Math.min(size, 200_000)), below(2) * below(100_000), below(2) === 0)
      for (let round = 0; round < 3; round++)
        await Promise.all(
          Array.from({ length: 1 + below(6) }, async () => {
            const start = below(size)
            const length = below(Math.min(size - start, below(2) === 0 ? 100 : 60_000) + 1)
            const read = await file.read(start, length)
            expect(read.length, `case ${i} of seed ${SEED}`).toBe(length)
            expect(Buffer.compare(read, content.subarray(start, start + length)), `case ${i} of seed ${SEED}`).toBe(0)
          }),
        )
    }
  })

  test('take no request within the two ends, and one for all others of a small file', async () => {
    const large = opened(content.length, 1000, 500)
    large.file.read(0, 1000)
    large.file.read(content.length - 500, 500)
    expect(large.requests).toEqual([])
    await large.file.read(content.length - 501, 500)
    expect(large.requests.length).toBe(1)
    const small = opened(2 ** 20, 1000, 500)
    await Promise.all([small.file.read(999, 2), small.file.read(500_000, 10), small.file.read(2 ** 20 - 501, 2)])
    expect(small.requests).toEqual([{ offset: 1000, length: 2 ** 20 - 1500 }])
  })

  test('that are near others come with them', async () => {
    const { file, requests } = opened(content.length, 1000, 0)
    await file.read(2 ** 20, 10)
    await Promise.all([file.read(2 ** 20 - 5000, 10), file.read(2 ** 20 + 9000, 10)])
    expect(requests).toEqual([{ offset: 2 ** 20 - 8192, length: 3 * 8192 }])
    const alone = opened(content.length, 1000, 0, false)
    await alone.file.read(2 ** 20, 10)
    expect(alone.requests).toEqual([{ offset: 2 ** 20, length: 8192 }])
  })
})
