import { afterAll, expect, test } from 'vitest'
import { bloscStep } from '../../src/codec/blosc.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { withArena } from '../../src/kernels/arena.ts'
import { expectSameBytes, noise, randoms } from '../kernels/support.ts'
import { startNumcodecs } from '../support/numcodecs.ts'

/** More streams and another seed, for long runs: half of them are damaged. */
const STREAMS = Number(process.env['HYPERSLAB_BLOSC_STREAMS'] ?? 500)
const SEED = Number(process.env['HYPERSLAB_BLOSC_SEED'] ?? 1)

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
    const { pointer, length } = step.decodeIn!(arena, arena.put(frame), frame.length, decodedBytes)
    return arena.bytes(pointer, length).slice()
  })
}

/** What a frame decodes to; undefined where it is refused, which only a CodecError may do. */
async function verdict(cname: string, frame: Uint8Array): Promise<Uint8Array | undefined> {
  try {
    return await decode(cname, frame)
  } catch (error) {
    if (isHyperslabError(error, 'CodecError')) return undefined
    throw error
  }
}

/** A frame with a few bytes changed, most of them where its numbers are, or cut off, with what it says of its length put right. */
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
    // Of no bytes numcodecs takes the answer of c-blosc, 0, for a failure.
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
