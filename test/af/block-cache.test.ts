import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { toBytes } from '../../src/core/dtype.ts'
import { type ArrayFile, BlockCache, type CreateOptions, create, MemoryStore, open, slice } from '../../src/runtime/index.ts'
import { expectSameBytes } from '../kernels/support.ts'
import { runs } from '../support/budget.ts'
import { RudeServer } from '../support/rude-server.ts'

const KiB = 1024
const CHUNK = 16 * KiB
const CHUNKS = 64
/** In chunks: blocks of 512 KiB, of which the front is decoded in steps of 256 KiB. */
const BLOCK = 8

/** Values that compress, but not to nothing, different ones for each `seed`. */
function field(seed: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: CHUNKS * CHUNK }, (_, i) => seed + Math.round(100 * Math.sin(i * (i % 97))) / 8)
}

async function bytesOf(values: Float32Array, options: CreateOptions = {}): Promise<Uint8Array> {
  const store = new MemoryStore()
  const file = await create({ store, path: 'x.af' }, { blockBytes: BLOCK * CHUNK * 4, ...options })
  const array = file.createArray('a', { dtype: 'float32', shape: [CHUNKS * CHUNK], chunks: [CHUNK] })
  await array.set([], { data: values, shape: [values.length] })
  await file.compact()
  const { size } = (await store.stat('x.af'))!
  return (await store.getRange('x.af', 0, size))!
}

const read = async (file: ArrayFile, chunk: number): Promise<Float32Array> =>
  (await file.array('a', 'float32').get([slice(chunk * CHUNK, (chunk + 1) * CHUNK)])).data as Float32Array
const part = (values: Float32Array, chunk: number): Float32Array => values.subarray(chunk * CHUNK, (chunk + 1) * CHUNK)

/** `toEqual` looks at every element and takes a thousand times as long. */
const expectSame = (actual: Float32Array, expected: Float32Array): void => expectSameBytes(toBytes(actual), toBytes(expected))

const [one, two] = [field(1), field(2)]
let files: Uint8Array[]
let rude: RudeServer
beforeAll(async () => {
  files = await Promise.all([one, two].map((values) => bytesOf(values, { segmentBytes: BLOCK * CHUNK * 4 })))
  rude = await RudeServer.start()
})
afterAll(() => rude.stop())
beforeEach(() => {
  rude.reset()
  rude.put('1.af', files[0]!)
  rude.put('2.af', files[1]!)
})

/** Requests for blocks so far, without those that open. */
const blockRequests = (): number => rude.log.filter((line) => /^GET bytes=\d/.test(line)).length

async function memoryFile(values: Uint8Array, options: object): Promise<ArrayFile> {
  const store = new MemoryStore()
  await store.put('x.af', values)
  return open({ store, path: 'x.af' }, options)
}

describe('decoded blocks', () => {
  test('an early chunk decodes the front of its block, a later one goes on; each block is fetched once', async () => {
    const cache = new BlockCache()
    await using file = await memoryFile(files[0]!, { cache })
    const held: number[] = []
    for (const chunk of [0, 1, 5, 2, 7, 3]) {
      expectSame(await read(file, chunk), part(one, chunk))
      held.push(cache.stats().blocks.bytes)
    }
    expect(file.readCost.blocks).toBe(1)
    const stored = held[0]! - 256 * KiB
    // The bytes of the block as stored, and 256 KiB with what the last sequence has more.
    expect(stored).toBeGreaterThan(0)
    expect(stored).toBeLessThan(BLOCK * CHUNK * 4)
    expect(held[1]).toBe(held[0])
    // With the next step all of it is decoded: what it was stored as is not needed any more.
    expect(held.slice(2)).toEqual(Array.from({ length: 4 }, () => BLOCK * CHUNK * 4))
    expect(cache.stats().blocks).toMatchObject({ hits: 5, misses: 1, evictions: 0 })
  })

  test('a cache with room for a decoded block, but not for what it is stored as beside it', async () => {
    const cache = new BlockCache({ blockBytes: BLOCK * CHUNK * 4 + 1000 })
    await using file = await memoryFile(files[0]!, { cache })
    for (const chunk of [0, 6, 1]) expectSame(await read(file, chunk), part(one, chunk))
    expect(file.readCost.blocks).toBe(1)
  })

  test('two files share one budget, and neither sees blocks of the other', async () => {
    const cache = new BlockCache({ blockBytes: 2 * BLOCK * CHUNK * 4 })
    await using first = await memoryFile(files[0]!, { cache })
    await using second = await memoryFile(files[1]!, { cache })
    for (const [file, values] of [
      [first, one],
      [second, two],
    ] as const)
      for (const chunk of [7, 0]) expectSame(await read(file, chunk), part(values, chunk))
    expect(cache.stats().blocks).toEqual({ hits: 2, misses: 2, bytes: 2 * BLOCK * CHUNK * 4, evictions: 0 })
    await read(second, 15)
    expect(cache.stats().blocks.evictions).toBe(1)
    // The first file's was used longest ago.
    await read(second, 1)
    expect(second.readCost.blocks).toBe(2)
    await read(first, 1)
    expect(first.readCost.blocks).toBe(2)
  })

  test("what is read is the caller's to change", async () => {
    const cache = new BlockCache()
    await using file = await memoryFile(files[0]!, { cache })
    ;(await read(file, 3)).fill(0)
    expectSame(await read(file, 3), part(one, 3))
    expect(file.readCost.blocks).toBe(1)
  })

  test('changes that are pending, flushed or compacted are seen through a shared cache', async () => {
    const cache = new BlockCache()
    const store = new MemoryStore()
    await store.put('x.af', files[0]!)
    const values = one.slice()
    await using file = await open({ store, path: 'x.af' }, { cache, blockBytes: 2 * CHUNK * 4 })
    const array = file.array('a', 'float32')
    for (let round = 0; round < 4; round++) {
      for (const chunk of [0, 1, 2, 3]) {
        values.fill(10 * round + chunk, chunk * CHUNK, (chunk + 1) * CHUNK - 1)
        await array.set([slice(chunk * CHUNK, (chunk + 1) * CHUNK - 1)], 10 * round + chunk)
        for (const each of [0, 1, 2, 3, 4]) expectSame(await read(file, each), part(values, each))
      }
      if (round === 1) await file.flush()
      if (round === 2) await file.compact()
      for (const each of [0, 1, 2, 3, 4]) expectSame(await read(file, each), part(values, each))
    }
  })

  test('codecs of one name do not share what they decode', async () => {
    const xor = (key: number) => (bytes: Uint8Array) => bytes.map((byte) => byte ^ key)
    const codecs = (key: number) => [{ name: 'mask', decode: xor(key), encode: xor(key) }]
    const store = new MemoryStore()
    const file = await create({ store, path: 'x.af' }, { codec: 'mask', codecs: codecs(1) })
    await file.createArray('a', { dtype: 'uint8', shape: [4], chunks: [2] }).set([], 0)
    await file.compact()
    rude.put('mask.af', (await store.getRange('x.af', 0, (await store.stat('x.af'))!.size))!)
    const cache = new BlockCache()
    for (const key of [1, 3, 1]) {
      await using reader = await open(`${rude.origin}/mask.af`, { cache, codecs: codecs(key) })
      expect(await reader.array('a').get([0])).toBe(key ^ 1)
    }
  })
})

describe('slabs', () => {
  test('a block that had to go is not fetched again', async () => {
    const cache = new BlockCache({ blockBytes: 0 })
    await using file = await open(`${rude.origin}/1.af`, { cache })
    for (let round = 0; round < 2; round++) {
      for (const chunk of [0, 8, 16, 1]) expectSame(await read(file, chunk), part(one, chunk))
      expect(blockRequests()).toBe(3)
    }
    expect(file.readCost.blocks).toBe(3)
    expect(cache.stats().blocks).toMatchObject({ hits: 0, bytes: 0 })
    expect(cache.stats().slabs).toMatchObject({ hits: 5, evictions: 0 })
  })

  test('opened again, a file that is the same costs no bytes', async () => {
    const cache = new BlockCache()
    for (let round = 0; round < 3; round++) {
      await using file = await open(`${rude.origin}/1.af`, { cache })
      expectSame(await read(file, 9), part(one, 9))
      expect(file.readCost.blocks).toBe(round === 0 ? 1 : 0)
    }
    // The end, a sidecar that is not there, and a block; later only the sidecar.
    const gets = rude.log.filter((line) => line.startsWith('GET'))
    expect(gets.filter((line) => line !== 'GET bytes=-65536').length).toBe(1)
    expect(gets.length).toBe(1 + 1 + 1 + 1 + 1)
    // Whether the end is of the same version, and is still after the sidecars.
    expect(rude.log.filter((line) => line.startsWith('HEAD')).length).toBe(1 + 2 + 2)
  })

  test('a file that was replaced is read anew', async () => {
    const cache = new BlockCache()
    const versions = [one, two, one]
    for (const [i, values] of versions.entries()) {
      rude.put('1.af', files[values === one ? 0 : 1]!)
      await using file = await open(`${rude.origin}/1.af`, { cache })
      for (const chunk of [0, 9]) expectSame(await read(file, chunk), part(values, chunk))
      expect(file.readCost.blocks, `version ${i}`).toBe(2)
    }
  })

  test('without a strong tag nothing is known of a file that is opened again', async () => {
    for (const manners of [{ weakEtag: true }, { noEtag: true }, { noEtag: true, noModified: true }]) {
      rude.manners = manners
      const cache = new BlockCache()
      for (const [name, values] of [
        [0, one],
        [1, two],
      ] as const) {
        rude.put('1.af', files[name]!)
        await using file = await open(`${rude.origin}/1.af`, { cache })
        expectSame(await read(file, 0), part(values, 0))
        expect(file.readCost.blocks).toBe(1)
      }
    }
  })

  test('an end that came damaged is not kept', async () => {
    const cache = new BlockCache()
    const damaged = files[0]!.slice()
    damaged[damaged.length - 200]! ^= 1
    const etag = rude.put('1.af', damaged)
    await expect(open(`${rude.origin}/1.af`, { cache })).rejects.toThrow()
    expect(cache.stats().slabs.bytes).toBe(0)
    expect(etag).toBeTypeOf('string')
  })

  test('local files are not kept twice', async () => {
    const cache = new BlockCache()
    await using file = await memoryFile(files[0]!, { cache })
    await read(file, 0)
    expect(cache.stats().slabs).toEqual({ hits: 0, misses: 0, bytes: 0, evictions: 0 })
  })

  test('slabs stay within their bytes', async () => {
    const cache = new BlockCache({ blockBytes: 0, slabBytes: 300 * KiB })
    await using file = await open(`${rude.origin}/1.af`, { cache })
    for (const chunk of [0, 8, 16, 24, 32]) await read(file, chunk)
    expect(cache.stats().slabs.bytes).toBeLessThanOrEqual(300 * KiB)
  })
})

describe('single flight', () => {
  test('many readers of one block, of two files, fetch it once', async () => {
    const cache = new BlockCache()
    await using first = await open(`${rude.origin}/1.af`, { cache })
    await using second = await open(`${rude.origin}/1.af`, { cache })
    const before = blockRequests()
    const chunks = [0, 1, 2, 3, 4, 5, 6, 7]
    const all = await Promise.all([first, second].flatMap((file) => chunks.map((chunk) => read(file, chunk))))
    for (const [i, values] of all.entries()) expectSame(values, part(one, chunks[i % 8]!))
    expect(blockRequests() - before).toBe(1)
    expect(first.readCost.blocks + second.readCost.blocks).toBe(1)
  })

  test('a reader that gives up leaves the others their block; the last one ends the request', async () => {
    const cache = new BlockCache()
    await using file = await open(`${rude.origin}/1.af`, { cache })
    const whole = (signal?: AbortSignal) => file.array('a', 'float32').get([slice(0, CHUNK)], signal && { signal })
    const [a, b] = [new AbortController(), new AbortController()]
    const before = blockRequests()
    const given = whole(a.signal)
    const kept = whole(b.signal)
    a.abort(new Error('enough'))
    await expect(given).rejects.toThrow('enough')
    expectSame((await kept).data, part(one, 0))
    expect(blockRequests() - before).toBe(1)

    rude.manners = { stall: 100 }
    const stalled = file.array('a', 'float32').get([slice(40 * CHUNK, 41 * CHUNK)], { signal: b.signal })
    while (rude.busy === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    b.abort(new Error('enough'))
    await expect(stalled).rejects.toThrow('enough')
    await rude.idle()
    rude.manners = {}
    expectSame(await read(file, 40), part(one, 40))
  })
})

test('random reads through caches of any size are those of the files', async () => {
  const reads = fc.array(fc.tuple(fc.nat(1), fc.nat(CHUNKS * CHUNK - 1), fc.nat(3 * BLOCK * CHUNK)), {
    minLength: 1,
    maxLength: 12,
  })
  const sizes = fc.constantFrom(0, 300 * KiB, 600 * KiB, 1200 * KiB, 64 * KiB * KiB)
  const kinds = [{ codec: 'none' }, { segmentBytes: 1 }, { segmentBytes: 2 * CHUNK * 4 }].map((options) =>
    Promise.all([one, two].map((values) => bytesOf(values, options))),
  )
  const all = [files, ...(await Promise.all(kinds))]
  await fc.assert(
    fc.asyncProperty(
      sizes,
      sizes,
      fc.constantFrom(...all),
      reads,
      fc.boolean(),
      async (blockBytes, slabBytes, own, asked, atOnce) => {
        const cache = new BlockCache({ blockBytes, slabBytes })
        for (const [i, bytes] of own.entries()) rude.put(`${i + 1}.af`, bytes)
        await using first = await open(`${rude.origin}/1.af`, { cache })
        await using second = await open(`${rude.origin}/2.af`, { cache })
        const jobs = asked.map(([which, start, length]) => async () => {
          const stop = Math.min(start + 1 + length, CHUNKS * CHUNK)
          const got = await [first, second][which]!.array('a', 'float32').get([slice(start, stop)])
          expectSame(got.data, [one, two][which]!.subarray(start, stop))
        })
        if (atOnce) await Promise.all(jobs.map((job) => job()))
        else for (const job of jobs) await job()
        const { blocks, slabs } = cache.stats()
        expect(blocks.bytes).toBeLessThanOrEqual(blockBytes)
        expect(slabs.bytes).toBeLessThanOrEqual(slabBytes)
      },
    ),
    { numRuns: runs(80) },
  )
})

test('what is no cache, or no number of bytes', async () => {
  for (const bytes of [-1, 1.5, Number.NaN]) {
    for (const name of ['blockBytes', 'slabBytes'])
      expect(() => new BlockCache({ [name]: bytes })).toThrow(`BlockCache: ${name} must be an integer from 0, got ${bytes}`)
  }
  await expect(memoryFile(files[0]!, { cache: { blockBytes: 1 } })).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
})
