import { describe, expect, test } from 'vitest'
import { type ListPage, listPages } from '../../src/store/listing.ts'

/** As many pages of a size as are asked for, without end. */
function endless(size: number) {
  let pages = 0
  const page = async (from: string | undefined): Promise<ListPage> => {
    expect(from).toBe(pages === 0 ? undefined : String(pages))
    const first = pages++ * size
    return { keys: Array.from({ length: size }, (_, i) => `k${first + i}`), truncated: true, next: String(pages) }
  }
  return { page, pages: () => pages }
}

describe('listing page by page', () => {
  test('gives the keys of all, each once', async () => {
    const pages: ListPage[] = [
      { keys: ['a', 'b'], truncated: true, next: '1' },
      { keys: [], truncated: true, next: '2' },
      { keys: ['b', 'c'], truncated: false, next: '3' },
    ]
    expect(await listPages('f', async (from) => pages[Number(from ?? 0)]!)).toEqual(['a', 'b', 'c'])
  })

  test.each([
    ['keys', 100_000, 11],
    ['pages', 1, 10_000],
  ])('ends where there is no end of %s', async (_, size, most) => {
    const { page, pages } = endless(size)
    await expect(listPages('f', page)).rejects.toMatchObject({ tag: 'TooLargeError', details: { file: 'f' } })
    expect(pages()).toBe(most)
  })

  test('a listing refuses a key that is longer than in any real store, and names the bucket', async () => {
    const page = (key: string) => async (): Promise<ListPage> => ({ keys: ['a', key], truncated: true, next: '1' })
    for (const key of ['k'.repeat(4097), '\u00e9'.repeat(2049), 'k'.repeat(2 ** 23)])
      await expect(listPages('s3://bucket/', page(key))).rejects.toMatchObject({
        tag: 'StoreError',
        message: expect.stringMatching(/a key of more than 4096 bytes, ".{200}…"/),
        details: { file: 's3://bucket/' },
      })
    const last = async (): Promise<ListPage> => ({ keys: ['k'.repeat(4096)], truncated: false, next: undefined })
    expect(await listPages('s3://bucket/', last)).toHaveLength(1)
  })

  test('ends where the keys have too many characters', async () => {
    let count = 0
    const page = async (): Promise<ListPage> => ({
      keys: Array.from({ length: 1000 }, () => String(count++).padStart(4096, 'k')),
      truncated: true,
      next: String(count),
    })
    await expect(listPages('s3://bucket/', page)).rejects.toMatchObject({
      tag: 'TooLargeError',
      details: { file: 's3://bucket/' },
    })
    expect(count).toBe(66_000)
  })

  test('ends where nothing new comes', async () => {
    let pages = 0
    const page = async (): Promise<ListPage> => ({ keys: ['a'], truncated: true, next: String(pages++ % 3) })
    await expect(listPages('f', page)).rejects.toMatchObject({ tag: 'StoreError' })
    expect(pages).toBe(22)
  })
})
