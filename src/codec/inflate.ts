import { joinBytes } from '../core/bytes.ts'
import { HyperslabError, messageOf } from '../core/errors.ts'
import { aboveLimit } from './bounds.ts'
import type { Step } from './chain.ts'
import { adler32 } from './checksums.ts'
import { wrongLength } from './codec.ts'
import { platformZlib } from './platform-zlib.ts'

declare const DecompressionStream: new (format: string) => object

/** The used part of a `DecompressionStream`, whose type needs the DOM library. */
interface Inflating {
  readonly writable: { getWriter(): { write(bytes: Uint8Array): Promise<void>; close(): Promise<void> } }
  readonly readable: {
    getReader(): {
      read(): Promise<{ done: boolean; value?: Uint8Array }>
      cancel(): Promise<void>
    }
  }
}

/** Names of the formats on the platform. */
const STREAM_FORMATS = { gzip: 'gzip', zlib: 'deflate' }

/**
 * Creates a step that decodes gzip or zlib streams by the platform's library, on threads of its own if it has
 * any. Bytes behind a zlib stream are ignored in every runtime.
 */
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

/** Largest result that is decoded on this thread: to change threads takes longer, about 0.1 ms. */
const AT_ONCE_BYTES = 16 * 1024

/** Largest bound that platforms accept. Above it, their own bound applies. */
const MOST_ROOM = 2 ** 31 - 1

async function inflate(
  name: 'gzip' | 'zlib',
  bytes: Uint8Array,
  decodedBytes: number | undefined,
  mostBytes: number,
): Promise<Uint8Array> {
  const zlib = platformZlib()
  if (zlib === undefined)
    return streamed(name, bytes, decodedBytes, mostBytes).catch(async (cause: unknown) => {
      // Streams of the web refuse bytes behind the end, which other decoders ignore.
      const end =
        name === 'gzip' || cause instanceof HyperslabError ? undefined : (await import('./zlib-end.ts')).findZlibEnd(bytes)
      if (end === undefined || end === bytes.length) throw cause
      return streamed(name, bytes.subarray(0, end), decodedBytes, mostBytes)
    })
  const bound = mostBytes < MOST_ROOM ? { maxOutputLength: Math.max(mostBytes, 1) } : {}
  const options = decodedBytes === undefined ? bound : roomFor(decodedBytes)
  if (decodedBytes !== undefined && decodedBytes <= AT_ONCE_BYTES)
    return name === 'gzip' ? zlib.gunzipSync(bytes, options) : zlib.inflateSync(bytes, options)
  const decode = name === 'gzip' ? zlib.gunzip : zlib.inflate
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
  // The reading side reports failures.
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

/** Decodes a zlib stream synchronously; it must fill `into` exactly. */
type InflateSync = (bytes: Uint8Array, into: Uint8Array) => void

/** Decodes a zlib stream synchronously to at most `mostBytes` bytes. */
type Inflater = (bytes: Uint8Array, mostBytes: number) => Uint8Array

/** Loads the platform's synchronous decoder, or fflate if there is none. */
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

/** Returns zlib options. A chunk size above the result's size makes zlib allocate a single buffer. */
const roomFor = (bytes: number): object => ({ maxOutputLength: Math.max(bytes, 1), chunkSize: bytes + 64 })

async function portable(): Promise<Inflater> {
  const { unzlibSync } = await import('fflate')
  return (bytes, mostBytes) => {
    // fflate silently stops at the end of the buffer; the checksum then differs.
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
