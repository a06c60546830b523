import { deflateSync, inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Codec, create, type FileOptions, MemoryStore, open } from '../../src/runtime/index.ts'

/** A codec of a user: deflate, at once or after a while. */
const deflate = (
  wait: boolean,
  calls = { decode: 0, encode: 0 },
): Required<Omit<Codec, 'ready' | 'reset'>> & { calls: typeof calls } => ({
  name: 'deflate',
  calls,
  decode: (bytes) => {
    calls.decode++
    return wait ? later(() => inflateSync(bytes)) : inflateSync(bytes)
  },
  encode: (bytes) => {
    calls.encode++
    return wait ? later(() => deflateSync(bytes)) : deflateSync(bytes)
  },
})
const later = <T>(work: () => T): Promise<T> => new Promise((resolve) => setTimeout(() => resolve(work()), 1))

const values = Float64Array.from({ length: 5000 }, (_, i) => Math.round(1000 * Math.sin(i / 50)))

async function written(options: FileOptions): Promise<MemoryStore> {
  const store = new MemoryStore()
  await using file = await create({ store, path: 'a.af' }, { blockBytes: 8000, ...options })
  await file.createArray('x', { dtype: 'float64', shape: [5000], chunks: [250] }).set(null, values)
  await file.flush()
  return store
}

async function failure(work: Promise<unknown>): Promise<Error & { tag: string }> {
  return work.then(
    () => expect.fail('expected an error'),
    (error) => error,
  )
}

describe.each([false, true])('a codec that is passed, asynchronous: %s', (wait) => {
  test('writes and reads; each block once', async () => {
    const codec = deflate(wait)
    const store = await written({ codec: 'deflate', codecs: [codec] })
    // Each was compared with what it was encoded of.
    expect(codec.calls).toEqual({ decode: 5, encode: 5 })
    codec.calls.decode = 0
    await using file = await open({ store, path: 'a.af' }, { codecs: [codec] })
    expect((await file.array('x', 'float64').get()).data).toEqual(values)
    expect([file.readCost.blocks, codec.calls.decode]).toEqual([5, 5])
    // one chunk of two, then the other: the block was kept
    expect(await file.array('x', 'float64').get([300])).toBe(values[300])
    expect(await file.array('x', 'float64').get([4])).toBe(values[4])
    expect([file.readCost.blocks, codec.calls.decode]).toEqual([6, 6])
  })

  test('any history of writes and deletions equals the oracle', async () => {
    const pieces = fc.array(fc.record({ start: fc.nat(39), length: fc.integer({ min: 1, max: 40 }), flush: fc.boolean() }), {
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(pieces, async (history) => {
        const options = { codec: 'deflate', codecs: [deflate(wait)], blockBytes: 24 }
        const store = new MemoryStore()
        await using file = await create({ store, path: 'a.af' }, options)
        const expected = new Int16Array(40)
        const array = file.createArray('x', { dtype: 'int16', shape: [40], chunks: [4] })
        for (const [i, { start, length, flush }] of history.entries()) {
          const stop = Math.min(start + length, 40)
          await array.set([{ start, stop, step: 1 }], i + 1)
          expected.fill(i + 1, start, stop)
          expect((await array.get()).data).toEqual(expected)
          if (flush) await file.flush()
        }
        await file.compact()
        await using anew = await open({ store, path: 'a.af' }, options)
        expect((await anew.array('x').get()).data).toEqual(expected)
      }),
      { numRuns: 30 },
    )
  })

  test('an array deleted while its block is being encoded leaves nothing behind', async () => {
    const store = new MemoryStore()
    await using file = await create({ store, path: 'a.af' }, { codec: 'deflate', codecs: [deflate(wait)] })
    const [kept, gone] = ['kept', 'gone'].map((name) => file.createArray(name, { dtype: 'uint8', shape: [100] }))
    await gone!.set(null, 1)
    await kept!.set(null, 2)
    const flushing = file.flush()
    file.delete('gone')
    await flushing.catch(() => {})
    await file.flush()
    await using anew = await open({ store, path: 'a.af' }, { codecs: [deflate(wait)] })
    expect((await anew.array('kept').get()).data).toEqual(new Uint8Array(100).fill(2))
  })
})

test('a codec nobody knows: the error names file, block, codec and those that are known', async () => {
  const store = await written({ codec: 'deflate', codecs: [deflate(false)] })
  await using file = await open({ store, path: 'a.af' })
  const error = await failure(file.array('x').get())
  expect(error.tag).toBe('CodecError')
  expect(error.message).toMatch(/^memory:a\.af: .*block \d+: unknown codec 'deflate': known are none, lz4, zstd/)
})

test.each<[string, Codec['decode'], RegExp]>([
  ['longer', (_, n) => new Uint8Array(n + 1), /decodes to 8001 bytes instead of 8000/],
  ['shorter', async (_, n) => new Uint8Array(n - 1), /decodes to 7999 bytes instead of 8000/],
  ['something else', () => 'text' as never, /returns no Uint8Array/],
  [
    'failing',
    () => {
      throw new Error('broken')
    },
    /does not decode: broken/,
  ],
  ['failing later', () => Promise.reject(new Error('broken')), /does not decode: broken/],
])('output that is %s', async (_, decode, words) => {
  const store = await written({ codec: 'deflate', codecs: [deflate(false)] })
  await using file = await open({ store, path: 'a.af' }, { codecs: [{ name: 'deflate', decode }] })
  const error = await failure(file.array('x').get())
  expect([error.tag, error.message]).toEqual(['CodecError', expect.stringMatching(words)])
  expect(error.message).toMatch(/memory:a\.af.*block \d/)
})

test('a failed encoding keeps what was written, and the next flush writes it', async () => {
  let broken = true
  const codec: Codec = {
    ...deflate(true),
    encode: async (bytes) => (broken ? Promise.reject(new Error('no')) : deflateSync(bytes)),
  }
  const store = new MemoryStore()
  await using file = await create({ store, path: 'a.af' }, { codec: 'deflate', codecs: [codec] })
  const array = file.createArray('x', { dtype: 'uint8', shape: [3] })
  await array.set(null, [1, 2, 3])
  expect((await failure(file.flush())).message).toContain('does not encode 3 bytes: no')
  expect((await array.get()).data).toEqual(Uint8Array.of(1, 2, 3))
  broken = false
  await file.flush()
  await using anew = await open({ store, path: 'a.af' }, { codecs: [codec] })
  expect((await anew.array('x').get()).data).toEqual(Uint8Array.of(1, 2, 3))
})

test('a codec of the same name takes the place of one of the package', async () => {
  const codec = { ...deflate(false), name: 'lz4' }
  const store = await written({ codecs: [codec] })
  expect(codec.calls.encode).toBe(5)
  await using file = await open({ store, path: 'a.af' }, { codecs: [codec] })
  expect((await file.array('x').get()).data).toEqual(values)
})

test('what is no codec is refused', async () => {
  const place = { store: new MemoryStore(), path: 'a.af' }
  const one = deflate(false)
  for (const codecs of [[{}], [null], [{ ...one, name: 'none' }], [{ ...one, name: '' }], [one, one], [{ name: 'x' }]]) {
    const error = await failure(create(place, { codecs: codecs as never }))
    expect(error.tag).toBe('InvalidArgumentError')
    expect(error.message).toMatch(/memory:a\.af: (a codec is|two codecs)/)
  }
  const { encode: _, ...reader } = one
  expect((await failure(create(place, { codec: 'deflate', codecs: [reader] }))).message).toContain('can be read but not written')
  expect((await failure(create(place, { codec: 'zstd', level: 23 }))).message).toContain('from 1 to 22')
  const unready: Codec = { ...one, ready: () => Promise.reject(new Error('not here')) }
  expect((await failure(create(place, { codec: 'deflate', codecs: [unready] }))).message).toContain('not here')
  expect(await place.store.list('')).toEqual([])
})

test('zstd containers are written and read, and stay so when compacted', async () => {
  const [low, high] = [await written({ codec: 'zstd', level: 1 }), await written({ codec: 'zstd', level: 19 })]
  for (const store of [low, high]) {
    await using file = await open({ store, path: 'a.af' })
    expect((await file.array('x').get()).data).toEqual(values)
    await file.close()
  }
  await using file = await open({ store: high, path: 'a.af' }, { codec: 'zstd' })
  await file.array('x').set([0], 5)
  await file.compact()
  // The first block starts the file.
  expect((await high.getRange('a.af', 0, 4))!).toEqual(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd))
  expect(await file.array('x', 'float64').get([0])).toBe(5)
  expect((await file.array('x', 'float64').get([{ start: 1, stop: 5000, step: 1 }])).data).toEqual(values.slice(1))
})
