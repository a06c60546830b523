import { constants, deflateSync, inflateSync } from 'node:zlib'
import { afterEach, expect, test, vi } from 'vitest'
import { inflateStep } from '../../src/codec/inflate.ts'
import { findZlibEnd } from '../../src/codec/zlib-end.ts'
import { noise } from '../kernels/support.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

const SAMPLES = [
  new Uint8Array(0),
  Uint8Array.of(7),
  new Uint8Array(5000),
  noise(70_000, 1),
  new Uint8Array(40_000).map((_, i) => (i * i) >> 9),
  new Uint8Array(90_000).map((_, i) => (i >> 4) ^ (i % 7)),
]
const { Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE, Z_DEFAULT_STRATEGY } = constants

/** Streams of all kinds of blocks. */
const streams = SAMPLES.flatMap((data) =>
  [0, 1, 6, 9].flatMap((level) =>
    [Z_DEFAULT_STRATEGY, Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE].map((strategy) => ({
      data,
      stored: new Uint8Array(deflateSync(data, { level, strategy })),
    })),
  ),
)

const padded = (bytes: Uint8Array, behind: Uint8Array): Uint8Array => new Uint8Array([...bytes, ...behind])

test('the end of a zlib stream is found whatever follows it', () => {
  for (const { stored } of streams) {
    expect(findZlibEnd(stored)).toBe(stored.length)
    for (const behind of [Uint8Array.of(0), new Uint8Array(100), noise(50, 3)])
      expect(findZlibEnd(padded(stored, behind))).toBe(stored.length)
    expect(findZlibEnd(stored.subarray(0, -1))).toBe(undefined)
  }
})

test('the end of malformed bytes is not found, or lies within them', () => {
  for (let seed = 0; seed < 2000; seed++) {
    const bytes = noise(seed % 300, seed)
    const end = findZlibEnd(bytes)
    if (end !== undefined) expect(end).toBeLessThanOrEqual(bytes.length)
  }
})

/** A stream that refuses bytes behind the end, as those of browsers do. */
class StrictStream {
  readonly readable: ReadableStream
  readonly writable: object

  constructor(format: 'deflate') {
    const inner = new RealStream(format)
    this.readable = inner.readable
    const writer = inner.writable.getWriter()
    const write = (bytes: Uint8Array): Promise<void> => {
      const { engine } = inflateSync(bytes, { info: true }) as unknown as { engine: { bytesWritten: number } }
      if (engine.bytesWritten === bytes.length) return writer.write(bytes as Uint8Array<ArrayBuffer>)
      const failure = new TypeError('there are bytes behind the end')
      return writer.abort(failure).then(() => Promise.reject(failure))
    }
    this.writable = { getWriter: () => ({ write, close: () => writer.close() }) }
  }
}
const RealStream = DecompressionStream

test('bytes behind a zlib stream are ignored by streams that refuse them, as by the library of the platform', async () => {
  const { data, stored } = streams.at(-2)!
  const { decode } = inflateStep('zlib')
  const longer = padded(stored, noise(1000, 2))
  expect(Buffer.from(await decode!(longer, data.length, 0)).equals(Buffer.from(data))).toBe(true)
  vi.stubGlobal('DecompressionStream', StrictStream)
  vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
  expect(Buffer.from(await decode!(stored, data.length, 0)).equals(Buffer.from(data))).toBe(true)
  expect(Buffer.from(await decode!(longer, data.length, 0)).equals(Buffer.from(data))).toBe(true)
  await expect(decode!(longer, data.length >> 1, 0)).rejects.toMatchObject({ tag: 'CodecError' })
})
