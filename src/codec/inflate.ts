import { joinBytes } from '../core/bytes.ts'
import { HyperslabError, messageOf } from '../core/errors.ts'
import { aboveLimit } from './bounds.ts'
import type { Step } from './chain.ts'
import { adler32 } from './checksums.ts'
import { wrongLength } from './codec.ts'
import { platformZlib } from './platform-zlib.ts'

declare const DecompressionStream: new (format: string) => object

/** What is used of a `DecompressionStream`, whose type needs the DOM library. */
interface Inflating {
  readonly writable: { getWriter(): { write(bytes: Uint8Array): Promise<void>; close(): Promise<void> } }
  readonly readable: {
    getReader(): {
      read(): Promise<{ done: boolean; value?: Uint8Array }>
      cancel(): Promise<void>
    }
  }
}

/** What the platform calls a format. */
const STREAM_FORMATS = { gzip: 'gzip', zlib: 'deflate' }

/** Decodes gzip, or zlib streams, by the platform's library: in threads of its own where it has some. */
export function inflateStep(name: 'gzip' | 'zlib'): Step {
  return {
    name,
    async decode(bytes, decodedBytes, mostBytes) {
      try {
        return await inflate(name, bytes, decodedBytes, mostBytes)
      } catch (cause) {
        if (cause instanceof HyperslabError) throw cause
        if ((cause as { code?: string }).code !== 'ERR_BUFFER_TOO_LARGE') throw malformedStream(name, cause)
        throw tooLong(name, decodedBytes, mostBytes)
      }
    },
  }
}

/** Above this number of bytes platforms have bounds of their own, and take no other. */
const MOST_ROOM = 2 ** 31 - 1

async function inflate(
  name: 'gzip' | 'zlib',
  bytes: Uint8Array,
  decodedBytes: number | undefined,
  mostBytes: number,
): Promise<Uint8Array> {
  const zlib = platformZlib()
  if (zlib === undefined) return streamed(name, bytes, decodedBytes, mostBytes)
  const decode = name === 'gzip' ? zlib.gunzip : zlib.inflate
  const bound = mostBytes < MOST_ROOM ? { maxOutputLength: Math.max(mostBytes, 1) } : {}
  const options = decodedBytes === undefined ? bound : roomFor(decodedBytes)
  return new Promise((resolve, reject) => decode(bytes, options, (error, result) => (error ? reject(error) : resolve(result))))
}

async function streamed(
  name: 'gzip' | 'zlib',
  bytes: Uint8Array,
  decodedBytes: number | undefined,
  mostBytes: number,
): Promise<Uint8Array> {
  const room = decodedBytes ?? mostBytes
  const { writable, readable } = new DecompressionStream(STREAM_FORMATS[name]) as Inflating
  const writer = writable.getWriter()
  // A failure is reported by the side that reads.
  const written = writer.write(bytes).then(() => writer.close())
  written.catch(() => undefined)
  const reader = readable.getReader()
  const parts: Uint8Array[] = []
  let length = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    parts.push(value!)
    length += value!.length
    if (length > room) {
      await reader.cancel()
      throw tooLong(name, decodedBytes, mostBytes)
    }
  }
  await written
  return joinBytes(parts)
}

/** Decodes a zlib stream at once to exactly as many bytes as `into` has. */
type InflateSync = (bytes: Uint8Array, into: Uint8Array) => void

/** Decodes a zlib stream at once to at most so many bytes. */
type Inflater = (bytes: Uint8Array, mostBytes: number) => Uint8Array

/** The platform's where it decodes at once, else that of fflate. */
export async function loadInflateSync(): Promise<InflateSync> {
  const zlib = platformZlib()
  const decode =
    zlib === undefined ? await portable() : (bytes: Uint8Array, most: number) => zlib.inflateSync(bytes, roomFor(most))
  return (bytes, into) => {
    let result: Uint8Array
    try {
      result = decode(bytes, into.length)
    } catch (cause) {
      throw malformedStream('zlib', cause)
    }
    if (result.length !== into.length) throw wrongLength('zlib', result.length, into.length)
    into.set(result)
  }
}

/** A buffer that is never full is the only one that is allocated. */
const roomFor = (bytes: number): object => ({ maxOutputLength: Math.max(bytes, 1), chunkSize: bytes + 64 })

async function portable(): Promise<Inflater> {
  const { unzlibSync } = await import('fflate')
  return (bytes, mostBytes) => {
    // It stops without a word where the room ends: then the checksum is that of other bytes.
    const result = unzlibSync(bytes, { out: new Uint8Array(mostBytes) })
    if (adler32(result) !== storedSum(bytes)) throw new Error('the checksum behind it is that of other bytes')
    return result
  }
}

const storedSum = (bytes: Uint8Array): number =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(bytes.length - 4)

const malformedStream = (name: string, cause: unknown): HyperslabError =>
  new HyperslabError('CodecError', `malformed ${name} stream: ${messageOf(cause)}`, { cause })

function tooLong(name: string, expected: number | undefined, mostBytes: number): HyperslabError {
  if (expected === undefined) return aboveLimit(name, undefined, mostBytes)
  return new HyperslabError('CodecError', `malformed ${name} stream: it decodes to more than ${expected} bytes`, { expected })
}
