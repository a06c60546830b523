import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { chunkTable, encodeChecksums, encodeFooter, encodeFooterFile, withTrailer } from '../../src/af/format/encode.ts'
import { CHECKSUM_CODEC, checksumBytes } from '../../src/af/format/extension-blocks.ts'
import { type AfDType, decodeFooter } from '../../src/af/format/footer.ts'
import { STATS_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { DEFAULT_LIMITS } from '../../src/af/format/limits.ts'
import { encodeVarints } from '../../src/af/format/segment-tables.ts'
import { type ArrayStats, encodeStats } from '../../src/af/format/stats-file.ts'
import { encodeLz4 } from '../../src/codec/lz4-encode.ts'
import { createPrefix } from '../../src/codec/lz4-segments.ts'
import { joinBytes } from '../../src/core/bytes.ts'
import { withArena } from '../../src/kernels/arena.ts'
import { crc32cOf } from '../../src/kernels/crc32c.ts'
import { footerOf, metaOf } from '../support/containers.ts'
import { folderInMemory } from '../support/folder.ts'

const program = fileURLToPath(new URL('costly-footer.mjs', import.meta.url))
const reader = fileURLToPath(new URL('costly-read.mjs', import.meta.url))
const folderReader = fileURLToPath(new URL('costly-folder.mjs', import.meta.url))
const FIXTURES = fileURLToPath(new URL('../fixtures/af6/', import.meta.url))
const MIB = 2 ** 20

async function opened(kind: string, bytes: number, version = 5) {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, kind, `${bytes}`, `${version}`])
  return JSON.parse(stdout) as { outcome: string; kept: number; peak: number; arrays: number }
}

/**
 * Expects that a footer of so many bytes stays within its memory, with room for the code and garbage of the
 * process.
 */
function expectWithin({ kept, peak }: { kept: number; peak: number }, bytes: number): void {
  expect(kept).toBeLessThan(13 * bytes)
  expect(peak).toBeLessThan(16 * bytes + 32 * MIB)
}

test.each([
  ['chunks', 1],
  ['blocks', 0],
  ['arrays', 49931],
  ['arrays with a chunk', 41942],
  ['keys', 0],
  ['values', 0],
  ['dimension names', undefined],
  ['attribute indices', 1],
  ['truths', 0],
  ['texts', 0],
  ['binaries', 0],
] as const)(
  'a footer full of %s keeps at most 13 times its bytes, and takes 16 times while it is opened',
  async (kind, arrays) => {
    const found = await opened(kind, 8 * MIB)
    expect(found.outcome).toBe(arrays === undefined ? 'FormatError' : 'opened')
    expect(found.arrays).toBe(arrays ?? 0)
    expectWithin(found, 8 * MIB)
  },
)

describe('a footer of version 6', () => {
  test.each([
    ['chunks', 1],
    ['blocks', 0],
    ['arrays', 32_767],
    ['arrays with a chunk', 29_126],
    ['arrays with statistics', 32_767],
    ['strings', 0],
    ['values', 0],
    ['string indices', 0],
    ['a long string', 0],
    ['attributes', 1014],
    ['dimension names', undefined],
    ['truths', 0],
    ['binaries', 0],
  ] as const)(
    'a footer of version 6 full of %s keeps at most 13 times its bytes, and takes 16 times while it is opened',
    async (kind, arrays) => {
      const found = await opened(kind, 8 * MIB, 6)
      expect(found.outcome).toBe(arrays === undefined ? 'FormatError' : 'opened')
      expect(found.arrays).toBe(arrays ?? 0)
      expectWithin(found, 8 * MIB)
    },
  )

  test.each(['blocks', 'strings', 'values', 'arrays'])(
    'a footer that claims more %s than it has bytes for is refused before anything is allocated',
    async (table) => {
      const found = await opened(`boundless ${table}`, MIB, 6)
      expect(found.outcome).toBe('FormatError')
      expect(found.peak).toBeLessThan(16 * MIB)
    },
  )

  test('a hostile file takes less than 64 MiB above an idle process', async () => {
    const args = ['--expose-gc', folderReader, `${FIXTURES}hostile`, `${FIXTURES}basic.af`]
    const { stdout } = await promisify(execFile)(process.execPath, args)
    const { outcomes, peak } = JSON.parse(stdout) as { outcomes: Record<string, number>; peak: number }
    expect(outcomes['FormatError']).toBeGreaterThan(40)
    expect(Object.keys(outcomes).filter((each) => !/^(read|[A-Z]\w+Error)$/.test(each))).toEqual([])
    expect(peak).toBeLessThan(64 * MIB)
  })
})

test('a footer of the default limit has a million chunks, and opens within half a GiB', async () => {
  expect(Math.floor(DEFAULT_LIMITS.footerBytes / (32 + 4 * 4))).toBeGreaterThan(1_000_000)
  const found = await opened('chunks', DEFAULT_LIMITS.footerBytes)
  expect(found.outcome).toBe('opened')
  expect(found.peak).toBeLessThan(512 * MIB)
})

describe('what is read of a file of some bytes, at worst', () => {
  const folder = folderInMemory('costs')
  afterAll(async () => rm(await folder, { recursive: true }))

  /**
   * A file whose array `x` has a chunk in the first of some blocks, with room for the checksums of those;
   * reads it in another process.
   */
  async function readOf(
    what: 'element' | 'stats',
    blocks: readonly (readonly [codec: string | null, bytes: Uint8Array, decodedBytes?: number])[],
    { chunkBytes = 1, stats }: { readonly chunkBytes?: number; readonly stats?: Uint8Array } = {},
  ) {
    const path = join(await folder, 'x.af')
    let end = 0
    const checksums = new Uint8Array(checksumBytes(blocks.length))
    const metas = [...blocks, [CHECKSUM_CODEC, checksums, undefined] as const].map(
      ([codec, { length }, uncompressedBytes = length], id) => {
        const fileOffset = end
        end += length
        return { id, fileOffset, compressedBytes: length, uncompressedBytes, codec }
      },
    )
    const chunks = chunkTable(1, [{ coord: [0], blockId: 0, offset: 0, size: chunkBytes }])
    const x = metaOf('x', { kind: 'int8' }, [2 * chunkBytes], { chunkShape: [chunkBytes], chunks })
    const footer = footerOf([x], { blocks: metas })
    checksums.set(
      encodeChecksums({
        footer: crc32cOf(encodeFooter(footer)),
        blocks: Uint32Array.from(blocks, ([, bytes]) => crc32cOf(bytes)),
      }),
    )
    await writeFile(path, joinBytes([...blocks.map(([, bytes]) => bytes), checksums, encodeFooterFile(footer)]))
    await rm(path.replace('.af', '.stats'), { force: true })
    if (stats !== undefined) await writeFile(path.replace('.af', '.stats'), stats)
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', reader, path, what])
    return JSON.parse(stdout) as { outcome: string; kept: number; peak: number; blocks: number }
  }
  const noise = (bytes: number) => Uint8Array.from({ length: bytes }, (_, i) => Math.imul(i, 0x9e3779b9) >>> 24)
  const packed = (bytes: number) => {
    const data = noise(bytes)
    return withArena((arena) => encodeLz4(arena, arena.put(data), bytes))
  }

  test.each([
    ['uncompressed', () => [null, noise(32 * MIB)] as const],
    ['compressed', () => ['lz4', packed(32 * MIB), 32 * MIB] as const],
  ])('a block that is %s takes 4 times its decoded bytes, and keeps none of them', async (_, block) => {
    const { outcome, kept, peak } = await readOf('element', [block()], { chunkBytes: 32 * MIB })
    expect(outcome).toBe('read')
    expect(peak).toBeGreaterThan(32 * MIB)
    expect(peak).toBeLessThan(4 * 32 * MIB + 32 * MIB)
    expect(kept).toBeLessThan(3 * 32 * MIB)
  })

  test.each([
    ['hyperslab.segments.1', 'lz4', [1, 1, 16, 0, 0], 13],
    ['hyperslab.segment-checksums.1', null, [1, 0], 6],
  ] as const)(
    'a table %s keeps at most 13 times its bytes, and takes 16 times while it is read',
    async (table, codec, fields, most) => {
      const count = Math.floor((4 * MIB) / fields.length)
      const literals = new Uint8Array(Math.floor((count - 15) / 255) + 2).fill(255)
      literals[0] = 0xf0
      literals[literals.length - 1] = (count - 15) % 255
      const block = codec === 'lz4' ? joinBytes([createPrefix(count), literals, new Uint8Array(count)]) : new Uint8Array(count)
      const numbers = joinBytes([encodeVarints([0, count]), new Uint8Array(Array.from({ length: count }, () => fields).flat())])
      const found = await readOf('element', [
        [codec, block, count],
        [table, numbers],
      ])
      expect(found.kept).toBeGreaterThan(3 * 4 * MIB)
      expect(found.kept).toBeLessThan(most * 4 * MIB + 8 * MIB)
      expect(found.peak).toBeLessThan(16 * 4 * MIB + 32 * MIB)
    },
  )

  test('statistics keep at most 13 times their bytes, and take 16 times while they are read', async () => {
    const bytes = 8 * MIB
    const stat = (name: string): ArrayStats => ({ name, min: null, max: null, nullCount: 0n, rowCount: 0n })
    const arrays = Array.from({ length: Math.floor(bytes / 96) }, (_, i) => stat(i.toString(32)))
    const stats = withTrailer(encodeStats(arrays), STATS_MAGIC)
    expect(stats.length).toBeGreaterThan(0.99 * bytes)
    const found = await readOf('stats', [[null, new Uint8Array(1)]], { stats })
    expect(found.outcome).toBe('read')
    expect(found.kept).toBeGreaterThan(bytes)
    expectWithin(found, bytes)
  })
})

test('types as deep as the deepest limit do not exhaust the stack', () => {
  const list = (depth: number): AfDType => (depth === 0 ? { kind: 'int8' } : { kind: 'list', child: list(depth - 1) })
  const payload = (depth: number) => encodeFooter(footerOf([metaOf('x', list(depth), [])]))
  expect(decodeFooter(payload(256), 256).arrays[0]!.dtype).toEqual(list(256))
  expect(() => decodeFooter(payload(256), 255)).toThrow(/nested more than 255 deep/)
  expect(() => decodeFooter(payload(DEFAULT_LIMITS.typeDepth + 1), DEFAULT_LIMITS.typeDepth)).toThrow(/nested more than 64 deep/)
})
