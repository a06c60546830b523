import { deflateSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type ZarritaRegistry, zarrCodecs } from '../../../src/adapters/zarr/zarrita.ts'

/** zarrita as the benchmarks install it; undefined, with a line that says so, where it cannot be had. */
async function loadZarrita() {
  const { loadPeer } = await import(new URL('../../../bench/peers.mjs', import.meta.url).href)
  const zarrita = await loadPeer('zarrita')
  if (zarrita === undefined && process.env['CI'] === 'true') throw new Error('tests need zarrita')
  return zarrita
}

const zarrita = await loadZarrita()
const SHAPE = [100, 33]
const CHUNKS = [64, 33]
const values = Float32Array.from({ length: 3300 }, (_, i) => Math.round(Math.sin(i / 9) * 1e4) / 100)
const little = { name: 'bytes', configuration: { endian: 'little' } }

/** What zarrita does not encode. */
const packers: Record<string, (bytes: Uint8Array) => Uint8Array> = { gzip: gzipSync, 'numcodecs.zlib': deflateSync }

function chunkOf(row: number): Uint8Array {
  const chunk = new Float32Array(64 * 33)
  chunk.set(values.subarray(row * chunk.length, (row + 1) * chunk.length))
  return new Uint8Array(chunk.buffer)
}

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
    // What is damaged decodes by other codecs than ours to something, or ends in another error.
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
