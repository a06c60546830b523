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

  test('ends where nothing new comes', async () => {
    let pages = 0
    const page = async (): Promise<ListPage> => ({ keys: ['a'], truncated: true, next: String(pages++ % 3) })
    await expect(listPages('f', page)).rejects.toMatchObject({ tag: 'StoreError' })
    expect(pages).toBe(22)
  })
})
