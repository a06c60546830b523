import { copyFile, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ErrorTag } from '../../src/core/errors.ts'
import { type ArrayFile, create, MemoryStore, open } from '../../src/runtime/index.ts'
import type { Store } from '../../src/store/store.ts'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/af/${name}`, import.meta.url))
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-errors-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function expectError(
  work: Promise<unknown> | (() => unknown),
  tag: ErrorTag,
  ...words: (string | RegExp)[]
): Promise<void> {
  const error = await (typeof work === 'function' ? (async () => work())() : work).then(
    (value) => expect.fail(`expected ${tag}, got ${JSON.stringify(value)}`),
    (reason: Error) => reason,
  )
  expect(error).toMatchObject({ name: tag, tag })
  for (const word of words) expect(error.message).toMatch(word)
  expect(error.message.split('\n').length).toBe(1)
}

/** The descriptors of this process, where the system lists them. */
const openFiles = async (): Promise<string[]> =>
  (await readdir('/proc/self/fd').catch(() => [])).map((name) => `/proc/self/fd/${name}`)

describe('opening', () => {
  test.each<[string, Uint8Array, string | RegExp]>([
    ['an empty file', new Uint8Array(0), /0 bytes/],
    ['a short file', Uint8Array.of(1, 2, 3), /3 bytes/],
    ['something else', new TextEncoder().encode('this is not a container at all'), /"r at all"|" all"/],
  ])('%s', async (_, bytes, words) => {
    const path = join(folder, 'other.af')
    await writeFile(path, bytes)
    await expectError(open(path), 'FormatError', path, words)
  })

  test('a missing file, a folder, a wrong name', async () => {
    await expectError(open(join(folder, 'none.af')), 'NotFoundError', 'none.af')
    await mkdir(join(folder, 'folder.af'))
    await expectError(open(join(folder, 'folder.af')), 'FormatError', 'folder.af', 'not a regular file')
    await expectError(open(join(folder, 'none.zarr')), 'InvalidArgumentError', 'none.zarr', "'.af'")
    await expectError(() => open('ftp://example.org/x.af'), 'UnsupportedError', 'ftp:')
  })

  test('a file cut off anywhere is refused, naming it', async () => {
    const whole = await readFile(fixture('basic_compact/t.af'))
    const path = join(folder, 'cut.af')
    for (let length = 0; length < whole.length; length++) {
      await writeFile(path, whole.subarray(0, length))
      await expectError(open(path), 'FormatError', path)
    }
    const links = await Promise.all((await openFiles()).map((file) => readlink(file).catch(() => '')))
    expect(links.filter((target) => target.startsWith(path))).toEqual([])
  })

  test('a missing layer in between is read over, a damaged one is not', async () => {
    const path = join(folder, 'stack.af')
    await copyFile(fixture('basic/t.af'), path)
    await copyFile(fixture('basic/t.1.af'), join(folder, 'stack.7.af'))
    await using file = await open(path)
    expect(file.layers().map(({ number }) => number)).toEqual([0, 7])
    await writeFile(join(folder, 'stack.8.af'), 'damaged, this one')
    await expectError(open(path), 'FormatError', 'stack.8.af')
  })

  test.each<[string, ErrorTag, string | RegExp]>([
    ['b_chunk_offset_oob', 'FormatError', /temperature.*beyond/],
    ['d_block_beyond_file', 'FormatError', /block 0.*beyond/],
    ['g_footer_size_gt_file', 'FormatError', /announces/],
    ['j_chunk_coord_rank', 'FormatError', /temperature/],
  ])('hostile: %s', async (name, tag, words) => {
    await expectError(open(fixture(`hostile/${name}.af`)), tag, `${name}.af`, words)
  })
})

describe('reading', () => {
  const read = async (name: string): Promise<unknown> => {
    await using file = await open(fixture(`hostile/${name}.af`))
    const [array] = file.arrays()
    return ((await file.array(array!).get(null)) as { data: unknown }).data
  }

  test('an undamaged file, and one whose size prefix lies', async () => {
    expect(await read('a_ok')).toEqual(Float32Array.of(1, 2, 3, 4))
    expect(await read('i_lz4_prefix_4GiB')).toEqual(Float32Array.of(1, 2, 3, 4))
    expect(await read('vlen_a_good')).toMatchSnapshot()
  })

  test.each<[string, ErrorTag, string | RegExp]>([
    ['n_codec_none_but_lz4', 'CodecError', /array 'temperature'.*block 0.*22 bytes/],
    ['o_unknown_codec', 'CodecError', /array 'temperature'.*block 0.*unknown codec/],
    ['vlen_b_descending', 'FormatError', /array '.*offset/],
    ['vlen_e_bad_utf8', 'FormatError', /array '.*UTF-8/],
  ])('hostile: %s', async (name, tag, words) => {
    await expectError(read(name), tag, `${name}.af`, words)
  })

  test('damaged bytes inside a block never give wrong lengths or another kind of error', async () => {
    const whole = await readFile(fixture('corpus_lz4/all.1.af'))
    const store = new MemoryStore()
    await store.put('x.af', await readFile(fixture('corpus_lz4/all.af')))
    let refused = 0
    for (let at = 0; at < 2000; at += 13) {
      const bytes = Uint8Array.from(whole)
      bytes[at] = bytes[at]! ^ (1 << (at % 8))
      await store.put('x.1.af', bytes)
      const file = await open({ store, path: 'x.af' })
      for (const name of file.arrays()) {
        const outcome = await file
          .array(name)
          .get(null)
          .catch((error: unknown) => error)
        if (outcome instanceof Error) {
          refused++
          expect(outcome).toMatchObject({ tag: expect.stringMatching(/^(CodecError|FormatError)$/), details: { array: name } })
        }
      }
    }
    expect(refused).toBeGreaterThan(0)
  })
})

describe('asking', () => {
  let file: ArrayFile
  beforeAll(async () => {
    file = await create({ store: new MemoryStore(), path: 'a.af' })
    await file.createArray('x', { dtype: 'int8', shape: [2, 3], chunks: [1, 2] }).set(null, 1)
  })

  test('for a missing array lists those there are', async () => {
    await expectError(() => file.array('tas'), 'UnknownArrayError', "memory:a.af: array 'tas'", 'there are x')
    await expectError(() => file.delete('tas'), 'UnknownArrayError', 'tas')
    await expectError(file.stats('tas'), 'UnknownArrayError', 'tas')
  })

  test('for another type', () =>
    expectError(() => file.array('x', 'float32'), 'InvalidArgumentError', "array 'x'", 'int8', 'float32'))

  test('out of bounds', () =>
    expectError(file.array('x').get([2]), 'InvalidSelectionError', "memory:a.af: array 'x': index 2", 'axis 0 of length 2'))

  test.each<[string, object, string | RegExp]>([
    ['an unknown dtype', { dtype: 'float16', shape: [2] }, '"float16"'],
    ['no shape', { dtype: 'int8' }, 'shape'],
    ['a negative length', { dtype: 'int8', shape: [2, -1] }, /\[2,-1\]/],
    ['a fractional length', { dtype: 'int8', shape: [1.5] }, '1.5'],
    ['a length beyond the format', { dtype: 'int8', shape: [2 ** 32] }, '4294967296'],
    ['a chunk of another rank', { dtype: 'int8', shape: [2, 2], chunks: [2] }, /chunk shape \[2\] has 1 axes/],
    ['a chunk length of 0', { dtype: 'int8', shape: [2], chunks: [0] }, 'chunkLength'],
    ['a chunk beyond 4 GiB', { dtype: 'float64', shape: [2 ** 16, 2 ** 16] }, '4 GiB'],
    ['too many names', { dtype: 'int8', shape: [2], dimensionNames: ['a', 'b'] }, '2 dimension names for 1 axes'],
    ['a fill value out of range', { dtype: 'int8', shape: [2], fillValue: 200 }, '200'],
    ['a fill value of another kind', { dtype: 'int64', shape: [2], fillValue: 'a' }, '"a"'],
    ['a fill value for binaries', { dtype: 'binary', shape: [2], fillValue: new Uint8Array(1) }, 'binary'],
  ])('to define %s', (_, options, words) =>
    expectError(() => file.createArray('bad', options as never), 'InvalidArgumentError', "array 'bad'", words),
  )

  test('to define what is there', () =>
    expectError(() => file.createArray('x', { dtype: 'int8', shape: [] }), 'AlreadyExistsError', "array 'x'"))

  test('nothing of this was kept', async () => {
    expect(file.arrays()).toEqual(['x'])
    expect((await file.array('x').get()).data).toEqual(new Int8Array(6).fill(1))
  })
})

describe('creating', () => {
  test('over a container, over sidecars of one, under the name of a sidecar, with an unknown codec', async () => {
    const store = new MemoryStore()
    await using first = await create({ store, path: 'a.af' })
    await first.createArray('x', { dtype: 'int8', shape: [] }).set(null, 1)
    await first.flush()
    await first.array('x').set(null, 2)
    await first.flush()
    await expectError(create({ store, path: 'a.af' }), 'AlreadyExistsError', 'memory:a.af', 'overwrite')
    await store.delete('a.af')
    await expectError(create({ store, path: 'a.af' }), 'AlreadyExistsError', 'a.1.af')
    await expectError(create({ store, path: 'b.3.af' }), 'InvalidArgumentError', 'sidecar')
    await expectError(create({ store, path: 'b' }), 'InvalidArgumentError', "'.af'")
    await expectError(create({ store, path: 'b.af' }, { codec: 'gzip' }), 'CodecError', 'memory:b.af', 'gzip', 'none, lz4, zstd')
    await expectError(create({ store, path: 'b.af' }, { level: 3 }), 'InvalidArgumentError', "'lz4'")
    for (const blockBytes of [0, -1, 1.5, 2 ** 31]) {
      await expectError(create({ store, path: 'b.af' }, { blockBytes }), 'InvalidArgumentError', String(blockBytes))
    }
    expect((await store.list('')).sort()).toEqual(['a.1.af', 'a.stats'])
    await using anew = await create({ store, path: 'a.af' }, { overwrite: true })
    expect([anew.arrays(), await store.list('')]).toEqual([[], ['a.af']])
  })

  test('where nothing can be written', async () => {
    const missing = join(folder, 'no', 'such', 'a.af')
    await expectError(create(missing), 'StoreError', missing)
    const memory = new MemoryStore()
    await (await create({ store: memory, path: 'a.af' })).close()
    const readOnly: Store = {
      describe: (key) => `ro:${key}`,
      stat: (key) => memory.stat(key),
      getRange: (...all) => memory.getRange(...all),
    }
    await expectError(create({ store: readOnly, path: 'b.af' }), 'ReadOnlyError', 'ro:b.af')
    const file = await open({ store: readOnly, path: 'a.af' })
    await expectError(() => file.createArray('x', { dtype: 'int8', shape: [] }), 'ReadOnlyError', 'ro:a.af')
    await expectError(() => file.attrs.set('a', 1), 'ReadOnlyError', 'ro:a.af')
    await expectError(file.compact(), 'ReadOnlyError', 'ro:a.af')
    await file.flush()
  })

  test('in a folder without permission', async () => {
    // Permissions do not bind the superuser, whom containers often run as; the kernel's own file system does.
    const superuser = process.getuid?.() === 0
    const locked = superuser ? '/sys' : join(folder, 'locked')
    if (!superuser) await mkdir(locked, { mode: 0o500 })
    await expectError(create(join(locked, 'a.af')), 'ReadOnlyError', locked, 'cannot be written')
    expect((await readdir(locked)).filter((name) => name.startsWith('a.'))).toEqual([])
  })
})
