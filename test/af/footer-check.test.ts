import { describe, expect, test } from 'vitest'
import { chunkTable } from '../../src/af/format/encode.ts'
import { type ArrayMeta, checkFooter, type Footer } from '../../src/af/format/footer.ts'
import { caught } from './rkyv/support.ts'

const ARRAY: ArrayMeta = {
  name: 't',
  dtype: { kind: 'int8' },
  shape: [4, 6],
  dimensionNames: ['y', 'x'],
  chunkShape: [2, 3],
  chunks: chunkTable(2, [
    { coord: [0, 0], blockId: 5, offset: 0, size: 6 },
    { coord: [1, 1], blockId: 9, offset: 14, size: 6 },
  ]),
  fillValue: null,
  deleted: false,
  attributes: { width: 16, keys: [0], values: [3] },
}

const FOOTER: Footer = {
  version: 5,
  blocks: [
    { id: 9, fileOffset: 30, compressedBytes: 20, uncompressedBytes: 20, codec: null },
    { id: 5, fileOffset: 0, compressedBytes: 30, uncompressedBytes: 6, codec: 'lz4' },
  ],
  arrays: [ARRAY],
  attributeKeys: [],
  attributeValues: [],
  overlayIndex: 0,
  baseFileHint: '',
}

const check = (array: Partial<ArrayMeta>): void => checkFooter({ ...FOOTER, arrays: [{ ...ARRAY, ...array }] }, 50)
const rows = (...all: [number[], number, number, number][]) =>
  chunkTable(
    2,
    all.map(([coord, blockId, offset, size]) => ({ coord, blockId, offset, size })),
  )

test('a footer without faults', () => {
  expect(() => checkFooter(FOOTER, 50)).not.toThrow()
  expect(() => checkFooter({ ...FOOTER, blocks: [], arrays: [] }, 0)).not.toThrow()
})

describe('rejected', () => {
  test('a block beyond the data', () => {
    expect(caught('FormatError', () => checkFooter(FOOTER, 49)).message).toBe(
      'block 9 has 20 bytes at 30, beyond the 49 bytes of data in the file',
    )
    const far = {
      id: 1,
      fileOffset: Number.MAX_SAFE_INTEGER,
      compressedBytes: Number.MAX_SAFE_INTEGER,
      uncompressedBytes: 1,
      codec: null,
    }
    caught('FormatError', () => checkFooter({ ...FOOTER, blocks: [far] }, 50))
    caught('FormatError', () => checkFooter({ ...FOOTER, blocks: [{ ...far, compressedBytes: 0 }] }, 50))
  })

  test('a chunk in no block', () => {
    const error = caught('FormatError', () => check({ chunks: rows([[0, 0], 5, 0, 6], [[1, 0], 0, 0, 6]) }))
    expect(error.message).toBe("array 't': chunk [1, 0] is in block 0, which does not exist")
  })

  test.each([
    [15, 6],
    [0, 21],
    [21, 0],
    [2 ** 32 - 1, 2 ** 32 - 1],
  ])('a chunk at %i of %i bytes, beyond its block', (offset, size) => {
    const error = caught('FormatError', () => check({ chunks: rows([[1, 1], 9, offset, size]) }))
    expect(error.message).toBe(`array 't': chunk [1, 1] has ${size} bytes at ${offset}, beyond the 20 bytes of block 9`)
  })

  test.each([
    [{ chunkShape: [2] }, 'shape [4, 6], but chunk shape [2]'],
    [{ chunkShape: [2, 3, 1] }, 'shape [4, 6], but chunk shape [2, 3, 1]'],
    [{ dimensionNames: ['y'] }, '2 axes, but 1 dimension names'],
    [{ dimensionNames: ['z', 'y', 'x'] }, '2 axes, but 3 dimension names'],
    [{ chunkShape: [2, 0] }, 'axis 1 has length 6, but chunks of length 0'],
  ])('%j', (array, text) => {
    const error = caught('FormatError', () => check(array))
    expect(error.message).toBe(`array 't': ${text}`)
    expect(error.details.array).toBe('t')
  })
})

describe('tolerated', () => {
  test('no dimension names, chunks larger than the array, no chunk length where there is nothing', () => {
    expect(() => check({ dimensionNames: [] })).not.toThrow()
    expect(() => check({ chunkShape: [100, 100] })).not.toThrow()
    expect(() => check({ shape: [0, 6], chunkShape: [0, 3], chunks: chunkTable(2) })).not.toThrow()
  })

  test('chunks outside the grid, and two of one coordinate', () => {
    expect(() => check({ chunks: rows([[7, 2 ** 32 - 1], 5, 0, 6], [[0, 0], 5, 0, 6], [[0, 0], 9, 0, 6]) })).not.toThrow()
  })

  test('blocks of one id, of which the first counts', () => {
    const small = { id: 5, fileOffset: 0, compressedBytes: 0, uncompressedBytes: 0, codec: null }
    expect(() => checkFooter({ ...FOOTER, blocks: [...FOOTER.blocks, small] }, 50)).not.toThrow()
    caught('FormatError', () => checkFooter({ ...FOOTER, blocks: [small, ...FOOTER.blocks] }, 50))
  })

  test('anything in a deleted array', () => {
    expect(() => check({ deleted: true, chunkShape: [], chunks: rows([[0, 0], 77, 0, 6]) })).not.toThrow()
  })

  test('gaps, overlaps, unknown codecs, attributes of other layers', () => {
    const blocks = FOOTER.blocks.map((block) => ({ ...block, fileOffset: 1, codec: 'brotli' }))
    expect(() => checkFooter({ ...FOOTER, blocks }, 50)).not.toThrow()
  })
})
