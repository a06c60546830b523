import { afterEach, describe, expect, test, vi } from 'vitest'
import { encodeLz4 } from '../../src/codec/lz4-encode.ts'
import { type Codec, type CreateOptions, MemoryStore, open } from '../../src/runtime/index.ts'
import { createWithBase as create } from '../support/containers.ts'

type ZstdEncode = typeof import('../../src/codec/zstd-encode.ts')

const path = 'a.af'
const values = Int32Array.from({ length: 40 }, (_, i) => i * i)

/** Bytes in reverse order, but as `failures` make them, one a call, as long as there are any. */
function stub(failures: ((right: Uint8Array) => Uint8Array)[]): Codec & { resets: number } {
  return {
    name: 'stub',
    resets: 0,
    decode: (bytes) => bytes.slice().reverse(),
    encode: (bytes) => {
      const right = bytes.slice().reverse()
      return failures.shift()?.(right) ?? right
    },
    reset() {
      this.resets++
    },
  }
}

const flipped = (right: Uint8Array): Uint8Array => right.map((byte, i) => (i === 3 ? byte ^ 1 : byte))
const trap = (): never => {
  throw new WebAssembly.RuntimeError('unreachable')
}
declare const WebAssembly: { RuntimeError: new (text: string) => Error }

/** Opens what was created before, and sets values twice: the first time something fails. */
async function attempts(options: CreateOptions, reason: string): Promise<MemoryStore> {
  const store = new MemoryStore()
  await using file = await create({ store, path }, options)
  const array = file.createArray('x', { dtype: 'int32', shape: [40], chunks: [5] })
  await array.set(null, values)
  const before = await store.list('')
  await expect(file.flush()).rejects.toMatchObject({
    tag: 'CodecError',
    details: { file: 'memory:a.af' },
    message: expect.stringMatching(
      new RegExp(`^memory:a\\.af: block 0: .*${reason}.*; nothing was published, and the changes are kept$`),
    ),
  })
  expect(await store.list('')).toEqual(before)
  expect([file.changed, file.layers().length]).toEqual([true, 1])
  expect((await array.get()).data).toEqual(values)
  await file.flush()
  expect([file.changed, file.layers().length]).toEqual([false, 2])
  await using again = await open({ store, path }, options)
  expect((await again.array('x').get()).data).toEqual(values)
  return store
}

afterEach(() => vi.restoreAllMocks())

describe('a flush throws if its codec fails once, and the next one writes the right bytes', () => {
  test.each<[string, (right: Uint8Array) => Uint8Array, string]>([
    ['traps', trap, "codec 'stub' does not encode 160 bytes: unreachable"],
    ['changes a byte', flipped, "what codec 'stub' made of 160 bytes decodes to others from byte 156 on"],
    ['leaves some out', (right) => right.subarray(1), 'stub block decodes to 159 bytes instead of 160'],
  ])('%s', async (_, failure, reason) => {
    const codec = stub([failure])
    await attempts({ codec: 'stub', codecs: [codec] }, reason)
    expect(codec.resets).toBe(1)
  })

  test('while values are set, since a block is full', async () => {
    const store = new MemoryStore()
    const options = { codec: 'stub', codecs: [stub([(right) => right, flipped])], blockBytes: 40 }
    await using file = await create({ store, path }, options)
    const array = file.createArray('x', { dtype: 'int32', shape: [40], chunks: [5] })
    await expect(array.set(null, values)).rejects.toMatchObject({
      tag: 'CodecError',
      message: expect.stringContaining('block 1: '),
    })
    await array.set(null, values)
    await file.flush()
    await using again = await open({ store, path }, options)
    expect((await again.array('x').get()).data).toEqual(values)
    expect((await again.verify({ deep: true })).findings).toEqual([])
  })

  test('while compacting: the container stays as it was', async () => {
    const store = new MemoryStore()
    const failures: ((right: Uint8Array) => Uint8Array)[] = []
    const options = { codec: 'stub', codecs: [stub(failures)] }
    await using file = await create({ store, path }, options)
    const array = file.createArray('x', { dtype: 'int32', shape: [40], chunks: [5] })
    await array.set(null, values)
    await file.flush()
    await array.set([0], 7)
    await file.flush()
    failures.push(flipped)
    await expect(file.compact()).rejects.toMatchObject({ tag: 'CodecError' })
    const expected = values.with(0, 7)
    expect((await array.get()).data).toEqual(expected)
    await file.compact()
    expect(file.layers().length).toBe(1)
    await using again = await open({ store, path }, options)
    expect((await again.array('x').get()).data).toEqual(expected)
  })

  test('our own kernel of zstd: what it made does not decode', async () => {
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    const { zstdEncoder } = await vi.importActual<ZstdEncode>('../../src/codec/zstd-encode.ts')
    const { zstdEncoder: spy } = vi.mocked(await import('../../src/codec/zstd-encode.ts'))
    let failures = 1
    spy.mockImplementation((level) => {
      const encode = zstdEncoder(level)
      return (bytes) => (bytes.length === 160 && failures-- > 0 ? new Uint8Array(160) : encode(bytes))
    })
    await attempts({ codec: 'zstd' }, 'no zstd frame at byte 0')
  })
})

vi.mock('../../src/codec/zstd-encode.ts', { spy: true })
vi.mock('../../src/codec/lz4-encode.ts', { spy: true })

describe('verifyWrites', () => {
  const damaged = () =>
    vi.mocked(encodeLz4).mockImplementationOnce((...args) => {
      return encodeLz4(...args).map((byte, i) => (i === 7 ? byte ^ 1 : byte))
    })

  test('true: blocks of our own kernels too', async () => {
    damaged()
    await attempts({ verifyWrites: true }, "what codec 'lz4' made of 160 bytes decodes to others from byte \\d+ on")
  })

  test("false, and 'foreign' for our own kernels: what was encoded is written", async () => {
    const read = async (options: CreateOptions): Promise<unknown> => {
      const store = new MemoryStore()
      await using file = await create({ store, path }, options)
      await file.createArray('x', { dtype: 'int32', shape: [40], chunks: [5] }).set(null, values)
      await file.flush()
      await using again = await open({ store, path }, options)
      return (await again.array('x').get()).data
    }
    expect(await read({ codec: 'stub', codecs: [stub([flipped])], verifyWrites: false })).toEqual(
      values.with(39, values[39]! ^ 1),
    )
    for (const verifyWrites of [false, 'foreign'] as const) {
      damaged()
      expect(await read({ verifyWrites })).not.toEqual(values)
      vi.restoreAllMocks()
    }
  })

  test('chunks of any length are compared to their last byte', async () => {
    for (const at of [0, 1, 6, 7, 13, 20]) {
      const codec = stub([(right) => right.map((byte, i) => (right.length - 1 - i === at ? byte ^ 128 : byte))])
      const store = new MemoryStore()
      await using file = await create({ store, path }, { codec: 'stub', codecs: [codec] })
      await file.createArray('x', { dtype: 'uint8', shape: [21], chunks: [7] }).set(null, 9)
      await expect(file.flush()).rejects.toThrow(`to others from byte ${at} on`)
    }
  })

  test.each(['all', 'none', 1, null, 'Foreign', {}])('%j is refused', async (verifyWrites) => {
    const where = { store: new MemoryStore(), path }
    await expect(create(where, { verifyWrites: verifyWrites as never })).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      message: expect.stringContaining('verifyWrites cannot be '),
    })
  })
})
