import { HyperslabError } from '../core/errors.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { embedded, instantiate } from '../kernels/module.ts'
import { platformZlib } from './platform-zlib.ts'
import { ZSTD_ENCODE_BYTES, ZSTD_ENCODE_TEXT } from './zstd-encode.generated.ts'

/** What the module exports: `assembly/zstd-encode/`. Numbers are byte addresses and lengths. */
interface EncodeKernels {
  zstdEncode(src: number, srcBytes: number, dst: number, work: number): number
  readonly zstdWorkBytes: { readonly value: number }
}

const DEFAULT_LEVEL = 3
const MAX_LEVEL = 22
/** What a block of a frame has at most. */
const BLOCK_BYTES = 128 * 1024
const BLOCK_HEADER_BYTES = 3
/** The header, and how much longer a block may be until it is seen that it does not compress. */
const SPARE_BYTES = 2048

const embeddedEncode = embedded(ZSTD_ENCODE_TEXT, ZSTD_ENCODE_BYTES)
/** By the kernels over whose memory they work. */
const instances = new WeakMap<object, EncodeKernels>()

/**
 * What encodes one frame that says its size: the platform's library in threads of its own, where it has one,
 * else the kernel, in this thread, which has one way to do it, about that of level 1.
 * @throws InvalidArgumentError for a level other than 1 to 22; UnsupportedError where there is neither
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

/** The platform's encoder: Node from 22.15, Deno, Bun. */
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
 * @throws OutOfMemoryError when 4 GiB do not hold the bytes twice; UnsupportedError where it is not compiled
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

/** The module that initKernels was given has them all. */
const isWhole = (kernels: object): kernels is EncodeKernels => 'zstdEncode' in kernels
