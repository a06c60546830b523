import type { Zstd } from '@hpcc-js/wasm-zstd'
import { joinBytes } from '../core/bytes.ts'
import { HyperslabError } from '../core/errors.ts'
import { aboveLimit, checkSize } from './bounds.ts'
import { type Codec, wrongLength } from './codec.ts'
import { platformZlib } from './platform-zlib.ts'
import { type DecoderMaker, outside } from './stream-decoder.ts'
import { continued, type Frame, frameOf, framePartsOf, framesOf, malformed, mostContent } from './zstd-frames.ts'

const DEFAULT_LEVEL = 3
const MAX_LEVEL = 22

/**
 * Zstandard frames, by the platform's library where it has one. Where not, a module of this package decodes,
 * or fzstd where WebAssembly cannot be compiled, and `@hpcc-js/wasm-zstd` encodes; each is loaded when it is
 * first needed.
 * @throws InvalidArgumentError for a level other than 1 to 22
 */
export function zstd(level: number = DEFAULT_LEVEL): Required<Codec> {
  if (!Number.isInteger(level) || level < 1 || level > MAX_LEVEL) {
    const details = { actual: level, expected: [1, MAX_LEVEL] }
    throw new HyperslabError('InvalidArgumentError', `a zstd level is an integer from 1 to ${MAX_LEVEL}, got ${level}`, details)
  }
  return {
    name: 'zstd',
    decode,
    encode: async (bytes) => (await encoder())(bytes, level),
    ready: encoder,
    reset,
  }
}

async function decode(bytes: Uint8Array, decodedBytes: number): Promise<Uint8Array> {
  const decodeFrame = await frameDecoder()
  const parts: Uint8Array[] = []
  for (const { frame, size } of framePartsOf(bytes, decodedBytes)) {
    const part = await decodeFrame(frame, size)
    if (part.length !== size) throw wrongLength('zstd', part.length, size)
    parts.push(part)
  }
  return joinBytes(parts)
}

async function frameDecoder(): Promise<FrameDecoder> {
  const native = nativeZstd()
  return native ? (frame, size) => native.decode(frameOf(frame, size), size) : portable()
}

type FrameDecoder = (frame: Frame, contentBytes: number) => Uint8Array | Promise<Uint8Array>
type SyncFrameDecoder = (frame: Frame, contentBytes: number) => Uint8Array

/**
 * Decodes frames in this thread, without waiting: by the platform's library where it has one, else by what
 * {@link zstd} decodes with.
 */
export async function loadZstdStreams(): Promise<DecoderMaker> {
  const native = platformZlib()?.zstdDecompressSync
  if (native)
    return outsideOf((frame, size) => native(frameOf(frame, size), { maxOutputLength: Math.max(size, 1), chunkSize: size + 64 }))
  const { hasZstdKernels, zstdStreams } = await import('./zstd-wasm.ts')
  return hasZstdKernels() ? zstdStreams : outsideOf(await interpreted())
}

const outsideOf = (decodeFrame: SyncFrameDecoder): DecoderMaker =>
  outside((bytes, into) => {
    for (const { frame, start, size } of framePartsOf(bytes, into.length)) {
      const part = decodeFrame(frame, size)
      if (part.length !== size) throw wrongLength('zstd', part.length, size)
      into.set(part, start)
    }
  })

/**
 * Decodes frames of which nobody knows what they decode to, but those that say it themselves.
 * @throws CodecError when that is more than `mostBytes`
 */
export async function decodeUnsized(bytes: Uint8Array, mostBytes: number): Promise<Uint8Array> {
  const frames = framesOf(bytes)
  const known = frames.reduce((sum, { contentBytes = 0 }) => sum + contentBytes, 0)
  if (known > mostBytes) throw aboveLimit('zstd', known, mostBytes)
  const decodeFrame = await frameDecoder()
  const parts: Uint8Array[] = []
  let left = mostBytes - known
  for (const frame of frames) {
    const { contentBytes } = frame
    const bound = mostContent(frame)
    if (contentBytes === undefined) {
      const part = (await interpretedUpTo())(frame, Math.min(bound, left))
      if (part === undefined && left < bound) throw aboveLimit('zstd', undefined, mostBytes)
      if (part === undefined) throw malformed(`${frame.blocks.length} bytes of blocks do not decode to ${bound} bytes or less`)
      left -= part.length
      parts.push(part)
    } else {
      if (contentBytes > bound) throw malformed(`a frame that cannot have more than ${bound} bytes says it has ${contentBytes}`)
      parts.push(await decodeFrame(frame, contentBytes))
      checkSize('zstd', parts.at(-1)!.length, contentBytes, mostBytes)
    }
  }
  return joinBytes(parts)
}

async function portable(): Promise<SyncFrameDecoder> {
  const { decodeFrame, hasZstdKernels } = await import('./zstd-wasm.ts')
  return hasZstdKernels() ? decodeFrame : interpreted()
}

/** fzstd, which does not tell how many bytes it has written, and drops those that go beyond the output. */
async function interpreted(): Promise<SyncFrameDecoder> {
  const decodeUpTo = await interpretedUpTo()
  return (frame, contentBytes) => {
    const out = decodeUpTo(frame, contentBytes)
    if (out === undefined) throw malformed(`it decodes to more than ${contentBytes} bytes, or not at all`)
    if (out.length === contentBytes) return out
    throw malformed(`it decodes to less than ${contentBytes} bytes`)
  }
}

/** Decodes a frame to up to so many bytes by fzstd; undefined where it has more, or does not decode. */
async function interpretedUpTo(): Promise<(frame: Frame, mostBytes: number) => Uint8Array | undefined> {
  const { decompress } = await import('fzstd')
  return (frame, mostBytes) => {
    // The frame goes on with bytes nobody knows: where these are, the others end. Behind them are zeros.
    const mark = Uint8Array.from({ length: 8 }, () => 1 + Math.random() * 255)
    let out: Uint8Array
    try {
      // Given no output it allocates what the frame says. Given one, it compares that with a number, as text,
      // for longer than it decodes.
      out = decompress(frameOf(continued(frame, mark), mostBytes + mark.length))
    } catch (cause) {
      if (!(cause instanceof RangeError)) throw cause
      return undefined
    }
    let end = out.length
    while (end > 0 && out[end - 1] === 0) end--
    const start = end - mark.length
    return mark.every((byte, i) => byte === out[start + i]) ? out.subarray(0, start) : undefined
  }
}

/** @throws MissingDependencyError, or UnsupportedError, where nothing here encodes */
async function encoder(): Promise<(bytes: Uint8Array, level: number) => Uint8Array | Promise<Uint8Array>> {
  const native = nativeZstd()
  if (native !== undefined) return native.encode
  await liveWasm()
  return async (bytes, level) => {
    let wasm: Zstd
    // Another encode may have spoilt it before this one goes on.
    do wasm = await liveWasm()
    while (spoilt.has(wasm))
    try {
      return wasm.compress(bytes, level)
    } catch (error) {
      spoilt.add(wasm)
      throw error
    }
  }
}

/**
 * Instances of the package that have thrown, or made what does not decode: their memory may hold anything.
 */
const spoilt = new WeakSet<Zstd>()
let used: Zstd | undefined

function reset(): void {
  if (used !== undefined) spoilt.add(used)
}

/**
 * The instance of the package, which keeps it; another one where that was spoilt.
 * @throws MissingDependencyError, UnsupportedError
 */
async function liveWasm(): Promise<Zstd> {
  const { Zstd } = await loadWasm()
  try {
    used = await Zstd.load()
    if (!spoilt.has(used)) return used
    // What cannot be taken down any more is let go of all the same.
    await Zstd.unload().catch(() => undefined)
    used = await Zstd.load()
  } catch (cause) {
    const text = `@hpcc-js/wasm-zstd does not run here, so zstd cannot be written; choose the codec 'lz4': ${(cause as Error).message}`
    throw new HyperslabError('UnsupportedError', text, { cause })
  }
  if (!spoilt.has(used)) return used
  throw new HyperslabError('UnsupportedError', "@hpcc-js/wasm-zstd has failed and cannot be loaded anew; choose the codec 'lz4'")
}

/**
 * Put together at run time, and marked: a bundler would look for it, and complain where it is not installed.
 */
const WASM_PACKAGE = ['@hpcc-js', 'wasm-zstd'].join('/')

async function loadWasm(): Promise<typeof import('@hpcc-js/wasm-zstd')> {
  try {
    return await import(/* webpackIgnore: true */ /* @vite-ignore */ WASM_PACKAGE)
  } catch (cause) {
    const text = `this runtime has no zstd of its own to write with: npm install ${WASM_PACKAGE} (in a bundle, pass a codec that uses it), or choose \
the codec 'lz4'`
    throw new HyperslabError('MissingDependencyError', text, { cause })
  }
}

/** What is used of `node:zlib` where it has Zstandard: Node from 22.15, Deno, Bun. */
interface Zlib {
  readonly constants: { readonly ZSTD_c_compressionLevel: number }
  zstdDecompress(bytes: Uint8Array, options: { maxOutputLength: number; chunkSize: number }, done: Done): void
  zstdCompress(bytes: Uint8Array, options: { chunkSize: number; pledgedSrcSize: number; params: object }, done: Done): void
}

type Done = (error: Error | null, result: Uint8Array) => void

/** Zstandard in threads of the platform's own. */
export interface NativeZstd {
  /** Decodes a frame that says its size, `contentBytes`. Rejects when it has another one. */
  decode(frame: Uint8Array, contentBytes: number): Promise<Uint8Array>
  /** One frame that says its size. */
  encode(bytes: Uint8Array, level: number): Promise<Uint8Array>
}

declare const process: { getBuiltinModule?(name: string): unknown } | undefined

/** Found at run time, so that bundlers for browsers never see an import of it. */
export function nativeZstd(): NativeZstd | undefined {
  const found = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('node:zlib')
  const zlib = found as Zlib | undefined
  if (typeof zlib?.zstdDecompress !== 'function' || typeof zlib.zstdCompress !== 'function') return undefined
  return {
    // A chunk that is never full is the only one that is allocated.
    decode: (frame, contentBytes) =>
      promised((done) =>
        zlib.zstdDecompress(frame, { maxOutputLength: Math.max(contentBytes, 1), chunkSize: contentBytes + 64 }, done),
      ),
    encode: (bytes, level) =>
      promised((done) =>
        zlib.zstdCompress(
          bytes,
          {
            chunkSize: Math.max(bytes.length >> 1, 1024),
            pledgedSrcSize: bytes.length,
            params: { [zlib.constants.ZSTD_c_compressionLevel]: level },
          },
          done,
        ),
      ),
  }
}

const promised = (start: (done: Done) => void): Promise<Uint8Array> =>
  new Promise((resolve, reject) =>
    start((error, result) => (error === null || error === undefined ? resolve(result) : reject(error))),
  )
