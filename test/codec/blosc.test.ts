import { afterAll, expect, test } from 'vitest'
import { bloscStep } from '../../src/codec/blosc.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { withArena } from '../../src/kernels/arena.ts'
import { expectSameBytes, noise, randoms } from '../kernels/support.ts'
import { byBudget, seedOf } from '../support/budget.ts'
import { startNumcodecs } from '../support/numcodecs.ts'

/** More streams and another seed, for long runs: half of them are damaged. */
const STREAMS = byBudget({ quick: 500, full: 500, soak: 50_000 })
const SEED = seedOf('blosc', 1)

const INNER = ['lz4', 'lz4hc', 'blosclz', 'zstd', 'zlib']
/** Frames that say more are not decoded by c-blosc here: it would take the memory. */
const MOST_BYTES = 2 ** 22

const numcodecs = startNumcodecs()
afterAll(() => numcodecs?.close())

type Next = () => number
const pick = <T>(next: Next, values: readonly T[]): T => values[next() % values.length]!

/** Bytes of elements of `size` bytes: noise, counters, few values, zeros, or some of each. */
function dataOf(next: Next, size: number, count: number): Uint8Array {
  const data = new Uint8Array(size * count)
  const kind = next() % 5
  if (kind === 0) return noise(data.length, next() % 100)
  if (kind === 1) return data
  const step = 1 + (next() % 7)
  for (let i = 0; i < count; i++) {
    const value = kind === 2 ? i * step : kind === 3 ? next() % step : Math.round(1000 * Math.sin(i / 50)) + (next() % 3)
    for (let j = 0; j < Math.min(size, 4); j++) data[i * size + j] = value >> (8 * j)
  }
  if (next() % 4 === 0) data.set(noise(data.length >> 2, next() % 100), data.length >> 1)
  return data
}

interface Sample {
  readonly codec: { readonly id: 'blosc'; readonly cname: string } & Record<string, unknown>
  readonly data: Uint8Array
  readonly frame: Uint8Array
}

async function sampleOf(next: Next): Promise<Sample> {
  const size = pick(next, [1, 2, 4, 4, 8, 8, 16, 3, 12, 1 + (next() % 255)])
  const count = next() % pick(next, [10, 1000, 1000, Math.ceil(200_000 / size)])
  const data = dataOf(next, size, count + 1)
  const codec = {
    id: 'blosc' as const,
    cname: pick(next, INNER),
    clevel: next() % 10,
    shuffle: next() % 3,
    blocksize: pick(next, [0, 0, 0, 256, 1000, 4096, 20_000]),
  }
  return { codec, data, frame: await numcodecs!.encode([codec], `V${size}`, data) }
}

const steps = new Map(INNER.map((cname) => [cname, bloscStep(cname)]))

async function decode(cname: string, frame: Uint8Array, decodedBytes?: number): Promise<Uint8Array> {
  const step = steps.get(cname)!
  await step.ready!()
  return withArena((arena) => {
    const { pointer, length } = step.decodeIn!(arena, arena.put(frame), frame.length, decodedBytes, 2 ** 24)
    return arena.bytes(pointer, length).slice()
  })
}

/** Decodes a frame; returns undefined if it is refused with a CodecError. Other errors fail the test. */
async function verdict(cname: string, frame: Uint8Array): Promise<Uint8Array | undefined> {
  try {
    return await decode(cname, frame)
  } catch (error) {
    if (isHyperslabError(error, 'CodecError')) return undefined
    throw error
  }
}

/**
 * A frame with a few bytes changed, most of them where its numbers are, or cut off, with what it says of its
 * length put right.
 */
function damaged(next: Next, frame: Uint8Array): Uint8Array {
  const cut = next() % 4 === 0 ? frame.slice(0, next() % frame.length) : frame.slice()
  for (let changes = 1 + (next() % 3); changes > 0 && cut.length > 0; changes--) {
    const at = next() % pick(next, [Math.min(16, cut.length), Math.min(64, cut.length), cut.length, cut.length])
    cut[at] = pick(next, [cut[at]! ^ (1 << (next() % 8)), next() % 256, 0, 255])
  }
  if (cut.length >= 16 && next() % 8 !== 0) new DataView(cut.buffer).setUint32(12, cut.length, true)
  return cut
}

test.skipIf(numcodecs === undefined)(`${STREAMS} frames as c-blosc has them, half of them damaged`, async () => {
  const next = randoms(SEED)
  const counts = { refused: 0, decoded: 0, stricter: 0 }
  for (let i = 0; i < STREAMS; i += 2) {
    const { codec, data, frame } = await sampleOf(next)
    const headerOf = (bytes: Uint8Array): string => Buffer.from(bytes.subarray(0, 16)).toString('hex')
    const shown = `frame ${i}: ${JSON.stringify(codec)}, ${data.length} bytes`
    expectSameBytes(await decode(codec.cname, frame, data.length), data)
    const other = damaged(next, frame)
    const both = `${shown}, ${headerOf(frame)}, damaged ${headerOf(other)},`
    const found = await verdict(codec.cname, other)
    const says = other.length < 16 ? 0 : new DataView(other.buffer).getUint32(4, true)
    // For an empty frame, numcodecs takes the answer 0 of c-blosc for a failure.
    if (says === 0 || says > MOST_BYTES) continue
    const theirs = await numcodecs!.decode([codec], other)
    if (found === undefined) counts[theirs === undefined ? 'refused' : 'stricter']++
    else {
      counts.decoded++
      expect(theirs, `${both} is refused by c-blosc`).toBeDefined()
      if (Buffer.compare(found, theirs!) !== 0) throw new Error(`${both} decodes to something else than in c-blosc`)
    }
  }
  console.log(`damaged frames of Blosc: ${JSON.stringify(counts)}`)
  expect(Math.min(counts.refused, counts.decoded)).toBeGreaterThan(STREAMS / 50)
  expect(counts.stricter).toBeLessThan(STREAMS / 50)
})

test.skipIf(numcodecs === undefined)('matches from far away, over and over, and to the very end', async () => {
  const data = new Uint8Array(200_000)
  const unit = noise(30_000, 3).map((byte, i) => (i % 100 < 50 ? i >> 8 : byte))
  for (let at = 0; at < data.length; at += unit.length) data.set(unit.subarray(0, data.length - at), at)
  for (const cname of INNER)
    for (const tail of [0, 1, 2, 3, 7, 15, 16, 17, 100]) {
      const part = data.subarray(0, data.length - tail)
      const codec = { id: 'blosc', cname, clevel: 9, shuffle: 0, blocksize: 2 ** 18 }
      const frame = await numcodecs!.encode([codec], '|u1', part)
      expect(frame.length).toBeLessThan(part.length / 3)
      expectSameBytes(await decode(cname, frame, part.length), part)
    }
})

/** A frame of one stream of one block, with its numbers changed. */
function framed(stream: Uint8Array, decodedBytes: number, changes: Readonly<Record<number, number>> = {}): Uint8Array {
  const frame = new Uint8Array(24 + stream.length)
  const view = new DataView(frame.buffer)
  // Format 2, lz4 of format 1, not split.
  frame.set([2, 1, (1 << 5) | 16, 1])
  for (const [at, value] of [
    [4, decodedBytes],
    [8, decodedBytes],
    [12, frame.length],
    [16, 20],
    [20, stream.length],
  ] as const)
    view.setUint32(at, value, true)
  frame.set(stream, 24)
  for (const [at, value] of Object.entries(changes)) view.setUint32(Number(at), value, true)
  return frame
}

test('every number of a frame is checked', async () => {
  const stream = Uint8Array.of(0x60, 1, 2, 3, 4, 5, 6)
  expect(await decode('lz4', framed(stream, 6))).toEqual(stream.subarray(1))
  const header = (at: number, byte: number): number => {
    const frame = framed(stream, 6)
    frame[at] = byte
    return new DataView(frame.buffer).getUint32(0, true)
  }
  const cases: [Readonly<Record<number, number>>, RegExp][] = [
    [{ 0: header(0, 3) }, /its format is 3 instead of 2/],
    [{ 0: header(1, 2) }, /the format of lz4 in it is 2 instead of 1/],
    [{ 0: header(2, (1 << 5) | 24) }, /a flag is set that must not be/],
    [{ 0: header(2, (2 << 5) | 16) }, /blosc with snappy inside is not read/],
    [{ 0: header(2, (6 << 5) | 16) }, /blosc with number 6 inside is not read/],
    [{ 0: header(2, (4 << 5) | 16) }, /compressed by zstd, of which the metadata say nothing/],
    [{ 0: header(2, 2) }, /31 bytes that are not compressed are not 6/],
    [{ 0: header(3, 0) }, /its elements have 0 bytes/],
    [{ 4: 7, 8: 7 }, /decodes to 7 bytes instead of 6/],
    [{ 8: 0 }, /blocks of 0 of 6 bytes/],
    [{ 8: 7 }, /blocks of 7 of 6 bytes/],
    [{ 8: 1 }, /no room for where 6 blocks start/],
    [{ 12: 30 }, /says to have 30 bytes and has 31/],
    [{ 16: 15 }, /a stream at byte 15 of 31/],
    [{ 16: 28 }, /a stream at byte 28 of 31/],
    [{ 16: 2 ** 32 - 1 }, /a stream at byte 4294967295 of 31/],
    [{ 20: 8 }, /a stream of 8 bytes at byte 24 of 31/],
    [{ 20: 2 ** 32 - 1 }, /a stream of 4294967295 bytes/],
    [{ 20: 5 }, /malformed LZ4 block/],
  ]
  for (const [changes, message] of cases) await expect(decode('lz4', framed(stream, 6, changes), 6)).rejects.toThrow(message)
  await expect(decode('lz4', framed(stream, 8000))).rejects.toThrow(/31 bytes cannot decode to 8000/)
  for (let length = 0; length < 16; length++)
    await expect(decode('lz4', framed(stream, 6).subarray(0, length))).rejects.toThrow(/no room for its header/)
  expect(() => bloscStep('snappy')).toThrow(/snappy inside is not read/)
})
