import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { decodeChunkStats, encodeChunkStats } from '../../src/af/format/chunk-stats-table.ts'
import { encodeFooterFile } from '../../src/af/format/encode.ts'
import { STATS_CODEC } from '../../src/af/format/extension-blocks.ts'
import { decodeFooter, FOOTER_MAGIC, type Footer } from '../../src/af/format/footer.ts'
import { decodeStatsFile, encodeStatsFile, splitFile } from '../../src/af/format/stats-file.ts'
import { buildFooter } from '../../src/af/write/build-footer.ts'
import { joinBytes } from '../../src/core/bytes.ts'
import { crc32cOf } from '../../src/kernels/crc32c.ts'
import { type CreateOptions, FileStore, type Finding, MemoryStore, open, verify } from '../../src/runtime/index.ts'
import { createWithBase as create, marksOf } from '../support/containers.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/af/${name}`, import.meta.url))
const path = 'a.af'

/** A folder of fixtures in memory, so that findings name files without their folder. */
async function load(folder: string): Promise<MemoryStore> {
  const store = new MemoryStore()
  for (const name of await readdir(fixture(folder))) await store.put(name, await readFile(fixture(`${folder}/${name}`)))
  return store
}

const bytesOf = async (store: MemoryStore, key: string): Promise<Uint8Array> =>
  (await store.getRange(key, 0, (await store.stat(key))!.size))!.slice()

const show = ({ severity, file, block, array, text }: Finding): string =>
  [
    severity,
    file.slice('memory:'.length),
    ...(block === undefined ? [] : [`block ${block}`]),
    ...(array === undefined ? [] : [array]),
    text,
  ].join(': ')

const findings = async (
  store: MemoryStore,
  options: Parameters<typeof verify>[1] = { deep: true },
  at = path,
): Promise<string[]> => (await verify({ store, path: at }, options)).findings.map(show)

/** Three layers: numbers in several blocks, text, an array changed and one deleted later on. */
async function container(options: CreateOptions = {}): Promise<MemoryStore> {
  const store = new MemoryStore()
  await using file = await create({ store, path }, { blockBytes: 400, ...options })
  const x = file.createArray('x', { dtype: 'float64', shape: [30, 7], chunks: [4, 3], fillValue: -1 })
  await x.set(
    null,
    Float64Array.from({ length: 210 }, (_, i) => (i % 11 === 0 ? -1 : i % 13 === 0 ? Number.NaN : Math.sin(i))),
  )
  await file.createArray('wide', { dtype: 'int64', shape: [9], chunks: [2] }).set(
    null,
    BigInt64Array.from({ length: 9 }, (_, i) => BigInt(i) ** 20n),
  )
  await file.createArray('words', { dtype: 'string', shape: [5], chunks: [2] }).set(null, ['a', '', 'ccc', 'dé', 'e'])
  await file.createArray('gone', { dtype: 'uint8', shape: [4] }).set(null, 3)
  file.createArray('empty', { dtype: 'uint8', shape: [4] })
  x.attrs.set('units', 'K')
  await file.flush()
  await x.set([5], 8)
  file.delete('gone')
  await file.flush()
  return store
}

describe('nothing is found', () => {
  test.each([
    'basic/t',
    'basic_compact/t',
    'v4_basic/t',
    'corpus_lz4/all',
    'corpus_none_compact/all',
    'v4_corpus_zstd/all',
    'prefix_dictionaries/t',
    'reference_bugs/d02/t',
    'reference_bugs/d03/t',
    'hostile/a_ok',
    'hostile/vlen_a_good',
  ])('in %s', async (name) => {
    const [, folder, stem] = /^(.*)\/(.*)$/.exec(name)!
    expect(await findings(await load(folder!), { deep: true }, `${stem}.af`)).toEqual([])
  })

  test.each<CreateOptions>([{}, { extensionBlocks: false }, { codec: 'zstd' }, { codec: 'none' }])(
    'in what is written here with %j',
    async (options) => {
      const store = await container(options)
      const { ok, findings, checked } = await verify({ store, path }, { deep: true })
      expect([ok, findings.map(show)]).toEqual([true, []])
      const numbers = 24 + 5 + 1 + 3
      expect(checked).toMatchObject({ layers: 3, arrays: 4, chunks: numbers + 3, arrayStatistics: 3 })
      expect(checked.blocksWithoutChecksum).toBe(options.extensionBlocks === false ? checked.blocks : 0)
      expect(checked.chunkStatistics).toBe(options.extensionBlocks === false ? 0 : numbers)
    },
  )
})

/** Findings for each hostile fixture. Fixtures without findings are above. */
const HOSTILE: [name: string, ...words: string[]][] = [
  ['b_chunk_offset_oob', 'error: t.af: temperature: chunk [0] has 16 bytes at 1000, beyond the 16 bytes of block 0'],
  [
    'd_block_beyond_file',
    'error: t.af: block 0 has 22 bytes at 1000000, beyond the 22 bytes of data in the file',
    'warning: t.af: 22 bytes belong to no block',
  ],
  ['g_footer_size_gt_file', 'error: t.af: the trailer announces a payload of 1000000 bytes, but the file has room for 406'],
  ['i_lz4_prefix_4GiB', 'error: t.af: block 0: temperature: the size in front of the LZ4 block is 4294967295'],
  ['j_chunk_coord_rank', 'error: t.af: temperature: '],
  ['n_codec_none_but_lz4', 'error: t.af: block 0: temperature: uncompressed block decodes to 22 bytes instead of 16'],
  ['o_unknown_codec', "error: t.af: block 0: temperature: unknown codec 'brotli'"],
  ['vlen_b_descending', 'error: t.af: block 0: s: chunk [0]: a chunk of'],
  ['vlen_e_bad_utf8', 'error: t.af: block 0: s: chunk [0]: a chunk of'],
]

test.each(HOSTILE)('in hostile/%s it is: %s', async (name, ...words) => {
  const store = new MemoryStore()
  await store.put('t.af', await readFile(fixture(`hostile/${name}.af`)))
  const { ok, findings } = await verify({ store, path: 't.af' })
  expect([ok, findings.map(show)]).toEqual([false, words.map((each) => expect.stringContaining(each))])
})

describe('damage', () => {
  /** Deterministic, so that a failure can be repeated. */
  function* random(seed: number): Generator<number, never> {
    for (let state = seed; ; ) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      yield state / 2 ** 32
    }
  }

  test.each(['lz4', 'zstd', 'none'])('of any byte of files with checksums is found: %s', async (codec) => {
    const whole = await container({ codec })
    const keys = [path, 'a.1.af', 'a.2.af']
    const next = random(codec.length)
    const below = (limit: number): number => Math.floor(next.next().value * limit)
    for (let run = 0; run < 200; run++) {
      const key = keys[run % keys.length]!
      const bytes = await bytesOf(whole, key)
      const at = below(bytes.length)
      const damaged = bytes.slice()
      damaged[at]! ^= 1 + below(255)
      await whole.put(key, damaged)
      const { ok, findings } = await verify({ store: whole, path })
      expect([ok, findings.map(({ file }) => file)], `${key} byte ${at}`).toEqual([
        false,
        expect.arrayContaining([`memory:${key}`]),
      ])
      await whole.put(key, bytes)
    }
    expect(await findings(whole)).toEqual([])
  })

  test('of every single byte of a small file', async () => {
    const store = new MemoryStore()
    await using file = await create({ store, path })
    await file.createArray('x', { dtype: 'int16', shape: [40], chunks: [7] }).set(null, 5)
    await file.flush()
    const bytes = await bytesOf(store, 'a.1.af')
    for (let at = 0; at < bytes.length; at++) {
      const damaged = bytes.slice()
      damaged[at]! ^= 1 << (at % 8)
      await store.put('a.1.af', damaged)
      expect((await verify({ store, path })).ok, `byte ${at}`).toBe(false)
    }
  })

  test('does not end the search: every damaged block of every file is found, with its arrays', async () => {
    const store = await container()
    for (const key of ['a.1.af', 'a.2.af']) {
      const bytes = await bytesOf(store, key)
      for (const { fileOffset } of footerOf(bytes).blocks) bytes[fileOffset]! ^= 1
      await store.put(key, bytes)
    }
    const found = (await verify({ store, path }, { deep: true })).findings
    const blocks = (await Promise.all(['a.1.af', 'a.2.af'].map((key) => bytesOf(store, key)))).map(
      (bytes) => footerOf(bytes).blocks.length,
    )
    // The checksums, too, were damaged; so nothing tells of the other blocks but decoding.
    expect(found.filter(({ file }) => file === 'memory:a.1.af').length).toBeGreaterThan(1)
    expect(found.some(({ text }) => text.startsWith('the checksums themselves'))).toBe(true)
    expect(blocks[0]).toBeGreaterThan(6)
  })

  test('names file, block and array', async () => {
    const store = await container({ blockBytes: 2 ** 20 })
    const bytes = await bytesOf(store, 'a.1.af')
    bytes[3]! ^= 1
    await store.put('a.1.af', bytes)
    const changed =
      /^error: a\.1\.af: block 0: the bytes as stored: the checksum is [0-9a-f]{8}, but [0-9a-f]{8} was written: .*; in it: 'x', 'wide', 'words', 'gone'$/
    expect(await findings(store)).toEqual([expect.stringMatching(changed)])
    const layer2 = await bytesOf(store, 'a.2.af')
    layer2[3]! ^= 1
    await store.put('a.2.af', layer2)
    expect((await verify({ store, path })).findings[1]).toMatchObject({ file: 'memory:a.2.af', block: 0, array: 'x' })
  })
})

const footerOf = (bytes: Uint8Array): Footer => decodeFooter(splitFile(bytes, FOOTER_MAGIC).payload)

/** Another footer for the same blocks, without extensionBlocks unless they are among its blocks. */
async function refooter(store: MemoryStore, key: string, change: (footer: Footer) => Footer): Promise<void> {
  const bytes = await bytesOf(store, key)
  const { dataBytes } = splitFile(bytes, FOOTER_MAGIC)
  await store.put(key, joinBytes([bytes.subarray(0, dataBytes), encodeFooterFile(change(footerOf(bytes)))]))
}

describe('checksums whose block has lost its name', () => {
  const renamed = (name: string | null) => (footer: Footer) => ({
    ...footer,
    blocks: footer.blocks.map((block) => (block.codec === 'hyperslab.crc32c.1' ? { ...block, codec: name } : block)),
  })

  test.each(['hyperslab.crc32d.1', 'iyperslab.crc32c.1', 'none at all', null])('%s: they go on checking', async (name) => {
    const store = await container()
    await refooter(store, 'a.1.af', renamed(name))
    await expect(open({ store, path })).rejects.toMatchObject({
      tag: 'IntegrityError',
      message: expect.stringContaining('a.1.af: the footer: the checksum is'),
    })
    expect(await findings(store)).toContainEqual(expect.stringContaining('error: a.1.af: the footer: the checksum is'))
  })

  test.each([1, 2])('fallen out of the table with %i blocks: they go on checking', async (count) => {
    const store = await container()
    await refooter(store, 'a.1.af', (footer) => ({ ...footer, blocks: footer.blocks.slice(0, -count) }))
    await expect(open({ store, path })).rejects.toMatchObject({ tag: 'IntegrityError' })
    expect(await findings(store)).toContainEqual(expect.stringMatching(/^warning: a\.1\.af: \d+ bytes belong to no block$/))
  })

  test('and their own checksum: warnings tell, as for extensionBlocks of a later version', async () => {
    const store = await container()
    const bytes = await bytesOf(store, 'a.1.af')
    const { id, fileOffset } = footerOf(bytes).blocks.at(-1)!
    bytes[fileOffset]! ^= 1
    await store.put('a.1.af', bytes)
    await refooter(store, 'a.1.af', renamed('hyperslab.crc32c.2'))
    const text = "'hyperslab.crc32c.2' is unknown here, so its information about the data is ignored"
    await using file = await open({ store, path })
    expect(file.warnings()).toEqual([`memory:a.1.af: block ${id}: ${text}`])
    const { ok, findings, checked } = await verify({ store, path }, { deep: true })
    expect([ok, findings.map(show)]).toEqual([true, [`warning: a.1.af: block ${id}: ${text}`]])
    expect(checked.blocksWithoutChecksum).toBeGreaterThan(6)
    // Under any other name, the block contains no chunk, and readers could not decode it.
    await refooter(store, 'a.1.af', (footer) => renamedLast(footer, 'iyperslab.crc32c.1'))
    expect((await verify({ store, path })).findings.map(show)).toEqual([
      expect.stringContaining(`error: a.1.af: block ${id}: unknown codec 'iyperslab.crc32c.1'`),
    ])
  })

  const renamedLast = (footer: Footer, codec: string): Footer => ({
    ...footer,
    blocks: [...footer.blocks.slice(0, -1), { ...footer.blocks.at(-1)!, codec }],
  })
})

describe('the files of a container', () => {
  test('a missing base, which leaves sidecars behind; nothing at all', async () => {
    const store = await container()
    await store.delete(path)
    await expect(open({ store, path })).rejects.toMatchObject({ tag: 'NotFoundError' })
    expect(await findings(store)).toEqual(['error: a.af: there is no base, but 2 sidecars: a.1.af, a.2.af'])
    const compacted = await container()
    {
      await using file = await open({ store: compacted, path })
      await file.compact()
      await file.array('x').set([5], 9)
      await file.flush()
    }
    await compacted.delete(path)
    // The stored statistics are of more than what is left.
    expect(await findings(compacted)).toEqual(['error: a.af: there is no base, but 1 sidecars: a.1.af'])
    await expect(verify({ store, path: 'b.af' })).rejects.toMatchObject({
      tag: 'NotFoundError',
      details: { file: 'memory:b.af' },
    })
    await expect(verify({ store: await container(), path }, { layer: 7 })).rejects.toMatchObject({ tag: 'NotFoundError' })
  })

  test('a missing sidecar, one that another program takes for one, one of another number', async () => {
    const store = await container()
    await store.put('a.007.af', await bytesOf(store, 'a.2.af'))
    await store.put('a.4.af', await bytesOf(store, 'a.2.af'))
    await store.delete('a.2.af')
    expect(await findings(store)).toEqual([
      'warning: a.af: there is a.4.af but no a.2.af: readers that cannot list files do not find it',
      'warning: a.007.af: not read here, but the crate array-format treats it as sidecar 7',
      'warning: a.4.af: the file is number 4 by its name, but 2 by its footer',
    ])
  })

  test('a damaged layer does not hide damage in others; layers above the one asked for are left out', async () => {
    const store = await container()
    await store.put('a.2.af', new Uint8Array(50))
    const block = await bytesOf(store, 'a.1.af')
    block[0]! ^= 1
    await store.put('a.1.af', block)
    const found = await findings(store)
    expect(found).toEqual([
      expect.stringMatching(/^error: a\.2\.af: the file ends in/),
      expect.stringMatching(/^error: a\.1\.af: block 0: x: the bytes as stored/),
    ])
    expect(await findings(store, { layer: 1 })).toEqual([found[1]])
    expect(await findings(store, { layer: 0 })).toEqual([])
  })

  test('attributes that are not certain', async () => {
    const store = await load('corpus_lz4')
    // Both layers have the pair (0, 0), for different names; nothing tells which is meant.
    const rename = (key: string, name: string) =>
      refooter(store, key, (footer) => ({
        ...footer,
        attributeKeys: [name],
        attributeValues: [{ type: 'int8', value: 1 }],
        arrays: footer.arrays.map((meta) =>
          meta.name === 'f32' ? { ...meta, attributes: { width: 16, keys: [0], values: [0] } } : meta,
        ),
      }))
    await rename('all.1.af', 'one')
    await rename('all.2.af', 'two')
    expect(await findings(store, {}, 'all.af')).toEqual([
      expect.stringMatching(/^warning: all\.\d\.af: f32: written by a program that mixes up attributes/),
    ])
  })
})

describe('tables that contradict each other', () => {
  const tampered = async (change: (footer: Footer) => Footer): Promise<string[]> => {
    const store = await container({ extensionBlocks: false, blockBytes: 2 ** 20 })
    await refooter(store, 'a.1.af', change)
    return findings(store, {})
  }
  const withArray = (footer: Footer, name: string, change: (meta: Footer['arrays'][0]) => Footer['arrays'][0]): Footer => ({
    ...footer,
    arrays: footer.arrays.map((meta) => (meta.name === name ? change(meta) : meta)),
  })

  test('chunks of the wrong length, twice in the table, overlapping, outside the grid', async () => {
    const found = await tampered((footer) =>
      withArray(footer, 'wide', (meta) => {
        const { chunks } = meta
        chunks.sizes[0] = 8
        chunks.coords[2] = 1
        chunks.offsets[3]! -= 8
        chunks.coords[4] = 50
        return meta
      }),
    )
    expect(found).toEqual([
      'error: a.1.af: wide: chunk [0] has 8 bytes, its elements take 16',
      'error: a.1.af: wide: chunk [1] is listed twice; readers take the first',
      'warning: a.1.af: wide: 1 chunks lie outside its [5] chunks: nothing reads them',
      expect.stringMatching(/^error: a\.1\.af: block 0: wide: chunk \[3\] begins at byte \d+, where another one has not ended$/),
    ])
  })

  test('blocks and arrays listed twice, blocks that overlap', async () => {
    const found = await tampered((footer) => ({
      ...footer,
      blocks: [...footer.blocks, footer.blocks[0]!],
      arrays: [...footer.arrays, footer.arrays.find(({ name }) => name === 'empty')!],
    }))
    expect(found).toEqual([
      'error: a.1.af: 3 blocks, but 2 different ids: some are never read',
      expect.stringMatching(/^error: a\.1\.af: block 0: begins at byte 0, before the block in front of it ends, at \d+$/),
      'error: a.1.af: 6 arrays, but 5 different names: some are never read',
    ])
  })

  test('addresses that lead nowhere, shapes without a grid: each is told', async () => {
    const found = await tampered((footer) =>
      withArray(
        withArray(footer, 'x', (meta) => {
          meta.chunks.blockIds[1] = 9
          meta.chunks.offsets[2] = 2 ** 30
          return meta
        }),
        'wide',
        (meta) => ({ ...meta, chunkShape: [0] }),
      ),
    )
    expect(found).toEqual([
      'error: a.1.af: x: chunk [0, 1] is in block 9, which does not exist',
      expect.stringContaining('error: a.1.af: x: chunk [0, 2] has 32 bytes at 1073741824, beyond the'),
      'error: a.1.af: wide: axis 0 has length 9, but chunks of length 0',
    ])
  })

  test('blocks of more than the limit are not read', async () => {
    const { findings, checked } = await verify(
      { store: await container({ extensionBlocks: false }), path },
      { limits: { blockBytes: 100 } },
    )
    expect(findings[0]!.text).toMatch(/^\d+ bytes that decode to \d+ are more than `limits\.blockBytes`, 100$/)
    expect(checked.blocks).toBeLessThan(findings.length)
  })

  test('a file wrong all over fills no memory', async () => {
    const store = new MemoryStore()
    await using file = await create({ store, path }, { extensionBlocks: false })
    await file.createArray('x', { dtype: 'uint8', shape: [3000], chunks: [1] }).set(null, 1)
    await file.flush()
    await refooter(store, 'a.1.af', (footer) => withArray(footer, 'x', (meta) => ({ ...meta, chunkShape: [2] })))
    const { findings, omitted } = await verify({ store, path })
    expect(findings.length).toBe(1000)
    expect(omitted).toBeGreaterThan(400)
  })
})

describe('deep: statistics', () => {
  /** Other statistics of chunks under checksums that are right. */
  async function restat(store: MemoryStore, change: (table: ReturnType<typeof decodeChunkStats>) => void): Promise<void> {
    const bytes = await bytesOf(store, 'a.1.af')
    const footer = footerOf(bytes)
    const blocks = footer.blocks.filter(({ codec }) => !codec?.startsWith('hyperslab.'))
    const stats = footer.blocks.find(({ codec }) => codec === STATS_CODEC)!
    const tables = decodeChunkStats(bytes.subarray(stats.fileOffset, stats.fileOffset + stats.compressedBytes), footer.arrays)
    change(tables)
    const crcs = blocks.map(({ fileOffset, compressedBytes }) =>
      crc32cOf(bytes.subarray(fileOffset, fileOffset + compressedBytes)),
    )
    const extensionBlocks = { tables, segments: new Map(), checkedSegments: new Map(), crcs }
    const { tail } = buildFooter({ ...footer, blocks }, extensionBlocks, marksOf(footer))
    await store.put('a.1.af', joinBytes([bytes.subarray(0, stats.fileOffset), tail]))
  }

  test('of chunks whose sum no float can hold', async () => {
    const store = new MemoryStore()
    await using file = await create({ store, path })
    const most = Number.MAX_VALUE
    const chunks = [Infinity, -Infinity, Infinity, Infinity, most, most, 1, 2]
    const array = file.createArray('x', { dtype: 'float64', shape: [8], chunks: [2] })
    await array.set(null, { shape: [8], data: new Float64Array(chunks) })
    await file.flush()
    expect(await findings(store)).toEqual([])
    // Other orders of adding may stay below the largest float. An infinite element leaves one sum alone.
    await restat(store, (tables) => (tables.get(0)!.sums as Float64Array).set([0, -Infinity, 0, 3]))
    const wrong = [0, 1].map((k) => expect.stringMatching(`chunk \\[${k}\\]: its statistics say`) as unknown)
    expect(await findings(store)).toEqual(wrong)
  })

  test('of chunks that are not those of their elements', async () => {
    const store = await container()
    await restat(store, () => undefined)
    expect(await findings(store)).toEqual([])
    await restat(store, (tables) => {
      const [x, wide] = [...tables.values()]
      x!.counts[2]!++
      x!.sums[1] = 1
      wide!.maxs[1] = 5n
    })
    expect(await findings(store, {})).toEqual([])
    expect(await findings(store)).toEqual([
      expect.stringMatching(
        /^error: a\.1\.af: block \d: x: chunk \[0, 0\]: its statistics say .* 1 NaN, sum .*; its elements are .* 0 NaN, sum/,
      ),
      expect.stringMatching(/^error: a\.1\.af: block \d: x: chunk \[0, 1\]: its statistics say .*, sum 1; its elements are/),
      expect.stringMatching(
        /^error: a\.1\.af: block \d: wide: chunk \[1\]: its statistics say 2 from 1048576 to 5, .*; its elements are 2 from 1048576 to 3486784401/,
      ),
    ])
    expect(encodeChunkStats(new Map()).length).toBe(8)
  })

  test('of arrays that are not those of the elements; of none; damaged', async () => {
    const store = await container()
    const { arrays, state = '' } = decodeStatsFile(await bytesOf(store, 'a.stats'))
    const [x, ...others] = arrays
    await store.put(
      'a.stats',
      encodeStatsFile(
        [{ ...x!, max: { kind: 'float', value: 9, bits: 0x4022000000000000n } }, { ...x!, name: 'y' }, ...others],
        state,
      ),
    )
    expect(await findings(store, {})).toEqual(['warning: a.stats: y: statistics of an array that does not exist'])
    expect(await findings(store)).toEqual([
      expect.stringMatching(
        /^error: a\.stats: x: the statistics say float -0\.9.* to float 9, 20 null; the elements are float -0\.9.* to float NaN, 20 null$/,
      ),
      'warning: a.stats: y: statistics of an array that does not exist',
    ])
    await store.put('a.stats', encodeStatsFile([{ ...x!, rowCount: 3n }], state))
    expect(await findings(store, {})).toEqual([
      expect.stringMatching(/^error: a\.stats: x: 3 rows and \d+ nulls for an array of shape \[30, 7\]$/),
    ])
    await store.put('a.stats', new Uint8Array(20))
    expect(await findings(store, {})).toEqual([expect.stringMatching(/^error: a\.stats: the file ends in/)])
    expect(await findings(store, { layer: 2 })).toEqual([])
  })
})

describe('reading', () => {
  test('of a store that gives buffers of Node, which share their memory', async () => {
    const store = await container()
    const getRange = store.getRange.bind(store)
    store.getRange = async (...args) => {
      const bytes = await getRange(...args)
      return bytes && Buffer.concat([Buffer.alloc(3), bytes]).subarray(3)
    }
    expect(await findings(store)).toEqual([])
  })

  test('takes each block once, and tells of each; a signal ends it', async () => {
    const store = await container()
    const ranges: string[] = []
    const getRange = store.getRange.bind(store)
    store.getRange = (key, offset, length, options) => {
      ranges.push(`${key} ${offset}`)
      return getRange(key, offset, length, options)
    }
    const told: number[] = []
    await using file = await open({ store, path })
    ranges.length = 0
    const { checked } = await file.verify({ deep: true, onProgress: ({ done, total }) => told.push(done / total) })
    const blocks = ranges.filter((range) => !range.endsWith('.stats 0'))
    // And the end of each of the three files.
    expect(blocks.length).toBe(checked.blocks + 3)
    expect([told.length, told.at(-1)]).toEqual([checked.blocks, 1])
    const stop = new AbortController()
    await expect(file.verify({ signal: stop.signal, onProgress: () => stop.abort() })).rejects.toMatchObject({
      name: 'AbortError',
    })
    await file.close()
    await expect(file.verify()).rejects.toMatchObject({ tag: 'ClosedError' })
  })
})

test('temporary files that writers of the container have left are warnings, those of others and of today are not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hyperslab-verify-'))
  const place = join(folder, 'a.af')
  await (await create({ store: new FileStore(), path: place })).close()
  const random = '0123456789abcdef01234567'
  const day = 24 * 3600
  for (const [name, age] of [
    [`a.af.12-${random}.tmp`, 2 * day],
    [`a.af.13-${random}.tmp`, 60],
    [`b.af.14-${random}.tmp`, 2 * day],
  ] as const) {
    await writeFile(join(folder, name), 'abc')
    await utimes(join(folder, name), Date.now() / 1000 - age, Date.now() / 1000 - age)
  }
  expect((await verify(place)).findings).toEqual([
    {
      severity: 'warning',
      file: join(folder, `a.af.12-${random}.tmp`),
      text: 'a temporary file of 3 bytes that a writer has left behind',
    },
  ])
  await rm(folder, { recursive: true })
})
