import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateSync, gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import type { ZarrArray } from '../../../src/adapters/zarr/group.ts'
import { type ZarritaRegistry, zarrCodecs } from '../../../src/adapters/zarr/zarrita.ts'
import { eachIndex } from '../../../src/core/shape.ts'
import { openZarr } from '../../../src/runtime/zarr.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { type MatrixCase, writeMatrix } from './matrix.ts'

const { loadPeer } = await import(new URL('../../../bench/peers.mjs', import.meta.url).href)

/** zarrita as the benchmarks install it; undefined, with a line that says so, where it cannot be had. */
async function loadZarrita() {
  const zarrita = await loadPeer('zarrita')
  if (zarrita === undefined && process.env['CI'] === 'true') throw new Error('tests need zarrita')
  return zarrita
}

const zarrita = await loadZarrita()
const SHAPE = [100, 33]
const CHUNKS = [64, 33]
const values = Float32Array.from({ length: 3300 }, (_, i) => Math.round(Math.sin(i / 9) * 1e4) / 100)
const little = { name: 'bytes', configuration: { endian: 'little' } }

/** Encoders for codecs that zarrita cannot encode. */
const packers: Record<string, (bytes: Uint8Array) => Uint8Array> = { gzip: gzipSync, 'numcodecs.zlib': deflateSync }

function chunkOf(row: number): Uint8Array {
  const chunk = new Float32Array(64 * 33)
  chunk.set(values.subarray(row * chunk.length, (row + 1) * chunk.length))
  return new Uint8Array(chunk.buffer)
}

/** More cases and another seed, for long runs. */
const COUNT = byBudget({ quick: 200, full: 200, soak: 2000 })
const SEED = seedOf('zarrita', 5)

const scripts = ['matrix.py', 'matrix_tensorstore.py'] as const
const matrices = zarrita
  ? scripts.map((script) => writeMatrix(COUNT / 2, SEED, script)).filter((matrix) => matrix !== undefined)
  : []
afterAll(() => {
  for (const matrix of matrices) matrix.remove()
}, 60_000)

/** Types and codecs that zarrita 0.7.5 reads without this package's codecs. */
const THEIR_TYPES = /^([iuf][1248]|\?|text)$/
const THEIR_NAMES =
  /^(regular|default|v2|bytes|transpose|sharding_indexed|(numcodecs\.)?(blosc|gzip|zstd|zlib|lz4|crc32c|shuffle)|vlen-utf8)$/

/**
 * Whether it reads an array: neither float16, which this Node has not, nor shards in shards, nor indexes at
 * their start, which it takes for chunks, nor arrays without elements, nor texts without a fill value, nor
 * fill values that numbers do not hold.
 */
function isTheirs(folder: string, { name, version, codecs, shape, fill }: MatrixCase): boolean {
  if (name === 'f2' || !THEIR_TYPES.test(name) || shape.includes(0) || (name === 'text' && fill === null)) return false
  const metadata = readFileSync(join(folder, version === 2 ? '.zarray' : 'zarr.json'), 'utf8')
  if (/"fill_value": ?-?\d{16}|"index_location": ?"start"|sharding_indexed.*sharding_indexed/s.test(metadata)) return false
  const names = [...metadata.matchAll(/"name": ?"([^"]+)"/g)].map(([, codec]) => codec!)
  return [...names, ...codecs].every((codec) => THEIR_NAMES.test(codec))
}

// Before the registry has our decoders.
test.skipIf(matrices.length < 2)('zarrita reads what others have written as it is read here', async () => {
  const { default: FileSystemStore } = await loadPeer('zarrita', '@zarrita/storage/fs')
  const cases = matrices.flatMap(({ folder, cases }) => cases.map((one) => ({ one, folder: join(folder, one.path) })))
  const theirs = cases.filter(({ folder, one }) => isTheirs(folder, one))
  for (const { folder, one } of theirs) {
    await using array = (await openZarr(folder, { kind: 'array' })) as ZarrArray
    const ours = await array.toTensor()
    const opened = await zarrita.open[`v${one.version}`](new FileSystemStore(folder), { kind: 'array' })
    const name = JSON.stringify(one)
    const read = await zarrita.get(opened)
    const data: unknown[] = []
    if (one.shape.length === 0) data.push(read)
    else
      eachIndex(one.shape, (index) => {
        const at = index.reduce((sum, position, axis) => sum + position * read.stride[axis], 0)
        // Bools and texts come in arrays of zarrita's own.
        data.push(typeof read.data.get === 'function' ? read.data.get(at) : read.data[at])
      })
    const found = data.map((value) => (typeof value === 'boolean' ? Number(value) : value))
    expect(found, name).toEqual(Array.from(ours.data as ArrayLike<unknown>))
  }
  expect(theirs.length).toBeGreaterThan(COUNT / 4)
})

test.skipIf(zarrita === undefined)('zarrita reads by this package what its own codecs have written', async () => {
  const { registry } = zarrita
  const blosc = { cname: 'lz4', clevel: 5, shuffle: 1, blocksize: 0 }
  const cases: object[][] = [
    [little, { name: 'numcodecs.blosc', configuration: blosc }],
    [little, { name: 'numcodecs.blosc', configuration: { ...blosc, cname: 'zstd', shuffle: 2 } }],
    [little, { name: 'numcodecs.lz4', configuration: {} }],
    [little, { name: 'zstd', configuration: { level: 3, checksum: false } }],
    [little, { name: 'gzip', configuration: { level: 3 } }],
    [little, { name: 'numcodecs.zlib', configuration: { level: 3 } }],
  ]
  const used: string[] = []
  zarrCodecs(registry as ZarritaRegistry)
  for (const [key, load] of [...registry.entries()] as [string, () => Promise<{ fromConfig(...args: unknown[]): object }>][])
    registry.set(key, async () => {
      used.push(key)
      return load()
    })
  for (const codecs of cases) {
    const store = new Map<string, Uint8Array>()
    const array = await zarrita.create(store, { shape: SHAPE, chunkShape: CHUNKS, dtype: 'float32', codecs })
    const pack = packers[(codecs[1] as { name: string }).name]
    if (pack === undefined) await zarrita.set(array, null, { data: values, shape: SHAPE, stride: [33, 1] })
    else for (const row of [0, 1]) store.set(`/c/${row}/0`, new Uint8Array(pack(chunkOf(row))))
    const opened = await zarrita.open.v3(store, { kind: 'array' })
    expect((await zarrita.get(opened)).data).toEqual(values)
    expect(used).toContain((codecs[1] as { name: string }).name)
    // Damaged bytes end in a CodecError with this package's codecs. Other codecs decode them to something, or
    // throw another error.
    const key = [...store.keys()].find((name) => name.includes('/c/'))!
    store.set(key, store.get(key)!.subarray(0, -3))
    const error = await zarrita.get(opened).catch((cause: unknown) => cause)
    expect(error.cause ?? error).toMatchObject({ tag: 'CodecError' })
  }
})

test('codecs that encode stay, and checksums have the size that indexes of shards need', async () => {
  const theirs = {
    kind: 'bytes_to_bytes',
    fromConfig: () => ({ encode: (bytes: Uint8Array) => bytes.map((byte) => byte + 1), decode: () => 0 }),
  }
  const registry = new Map([['crc32c', async () => theirs]]) as ZarritaRegistry & Map<string, () => Promise<typeof theirs>>
  zarrCodecs(registry)
  const codec = (await registry.get('crc32c')!()).fromConfig({}, {})
  expect(codec.computeEncodedSize!(16)).toBe(20)
  expect(await codec.encode(Uint8Array.of(1))).toEqual(Uint8Array.of(2))
  expect(await codec.decode(Uint8Array.of(0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x83, 0x92, 0x06, 0xe3))).toEqual(
    new TextEncoder().encode('123456789'),
  )
  await expect(codec.decode(new Uint8Array(8).fill(1))).rejects.toMatchObject({ tag: 'CodecError' })
  const zlib = (await registry.get('numcodecs.zlib')!()).fromConfig({}, {})
  await expect(zlib.encode(new Uint8Array(1))).rejects.toThrow(/zarrita has no codec 'numcodecs.zlib' to encode with/)
})

test('what is no registry is refused', () => {
  for (const wrong of [undefined, {}, 'registry', { set: () => undefined }])
    expect(() => zarrCodecs(wrong as never)).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
})
