import { HyperslabError } from '../core/errors.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { embedded, instantiate } from '../kernels/module.ts'
import { platformZlib } from './platform-zlib.ts'
import { ZSTD_ENCODE_BYTES, ZSTD_ENCODE_TEXT } from './zstd-encode.generated.ts'

/** Exports of the module `assembly/zstd-encode/`. Numbers are byte addresses and lengths. */
interface EncodeKernels {
  zstdEncode(src: number, srcBytes: number, dst: number, work: number): number
  readonly zstdWorkBytes: { readonly value: number }
}

const DEFAULT_LEVEL = 3
const MAX_LEVEL = 22
/** Largest content of a block in a frame. */
const BLOCK_BYTES = 128 * 1024
const BLOCK_HEADER_BYTES = 3
/**
 * Room for the header, and for the bytes by which a block may grow before it turns out to be incompressible.
 */
const SPARE_BYTES = 2048

const embeddedEncode = embedded(ZSTD_ENCODE_TEXT, ZSTD_ENCODE_BYTES)
/** Encoder instances by the kernels whose memory they use. */
const instances = new WeakMap<object, EncodeKernels>()

/**
 * Returns a function that encodes one frame with a declared size. It uses the platform's library, on threads
 * of its own, if there is one. Otherwise it uses the kernel on this thread, which ignores the level and
 * compresses about like level 1.
 * @throws InvalidArgumentError for a level other than 1 to 22; UnsupportedError if neither is available
 */
export function zstdEncoder(level: number = DEFAULT_LEVEL): (bytes: Uint8Array) => Uint8Array | Promise<Uint8Array> {
  if (!Number.isInteger(level) || level < 1 || level > MAX_LEVEL) {
    const details = { actual: level, expected: [1, MAX_LEVEL] }
    throw new HyperslabError('InvalidArgumentError', `a zstd level is an integer from 1 to ${MAX_LEVEL}, got ${level}`, details)
  }
  const native = nativeEncoder()
  if (native !== undefined) return (bytes) => native(bytes, level)
  try {
    withArena(encodeKernels)
  } catch (cause) {
    const text = `this platform neither has zstd nor compiles the WebAssembly that writes it; choose the codec 'lz4' or 'none'`
    throw new HyperslabError('UnsupportedError', text, { cause })
  }
  return encodeFrame
}

/** Returns the platform's encoder; available in Node 22.15 and newer, Deno and Bun. */
export function nativeEncoder(): ((bytes: Uint8Array, level: number) => Promise<Uint8Array>) | undefined {
  const zlib = platformZlib()
  if (zlib?.zstdCompress === undefined) return undefined
  return (bytes, level) =>
    new Promise((resolve, reject) =>
      zlib.zstdCompress!(
        bytes,
        {
          chunkSize: Math.max(bytes.length >> 1, 1024),
          pledgedSrcSize: bytes.length,
          params: { [zlib.constants.ZSTD_c_compressionLevel!]: level },
        },
        (error, result) => (error ? reject(error) : resolve(result)),
      ),
    )
}

/**
 * Encodes a frame by the kernel.
 * @throws OutOfMemoryError if the bytes do not fit twice into 4 GiB; UnsupportedError if the kernel cannot
 *   be compiled
 */
export const encodeFrame = (bytes: Uint8Array): Uint8Array =>
  withArena((arena) => {
    const { zstdEncode, zstdWorkBytes } = encodeKernels(arena)
    const src = arena.put(bytes)
    const blocks = Math.floor(bytes.length / BLOCK_BYTES) + 1
    const dst = arena.alloc(bytes.length + blocks * BLOCK_HEADER_BYTES + SPARE_BYTES)
    const work = arena.alloc(zstdWorkBytes.value)
    const written = zstdEncode(src, bytes.length, dst, work) >>> 0
    return arena.bytes(dst, written).slice()
  })

function encodeKernels({ kernels }: Arena): EncodeKernels {
  let encode = instances.get(kernels)
  if (encode === undefined) {
    encode = isWhole(kernels)
      ? kernels
      : instantiate<EncodeKernels>(embeddedEncode(), { env: { memory: kernels.memory } }).exports
    instances.set(kernels, encode)
  }
  return encode
}

/** Whether the kernels are the complete module passed to initKernels, which includes the encoder. */
const isWhole = (kernels: object): kernels is EncodeKernels => 'zstdEncode' in kernels
