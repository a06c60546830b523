import { type Arena, withArena } from '../kernels/arena.ts'
import { embedded, instantiate } from '../kernels/module.ts'
import type { DecoderMaker } from './stream-decoder.ts'
import { checkContent, type Frame, type FrameMeasure, malformed, splitFrames } from './zstd-frames.ts'
import { ZSTD_BYTES, ZSTD_TEXT } from './zstd-wasm.generated.ts'

/** Exports of the module `assembly/zstd/`. Numbers are byte addresses and lengths. */
interface ZstdKernels {
  zstdDecode(src: number, srcBytes: number, dst: number, dstBytes: number, literals: number): number
  zstdDecodeUpTo(src: number, srcBytes: number, dst: number, mostBytes: number, literals: number): number
  zstdChecksum(src: number, bytes: number): number
}

/** Reasons by the module's error codes -1, -2, ... (assembly/zstd/layout.ts). */
const REASONS = [
  'it ends in the middle of a block',
  'a block is of an unknown type',
  'the literals of a block are damaged',
  'the Huffman code of a block is none',
  'a table of a block is none',
  'the sequences of a block are damaged',
  'a match reaches back to before the start of the output',
  'it decodes to more bytes than expected',
  'it decodes to fewer bytes than expected',
  'there is more input after the last block',
]

/** Largest size of a block's literals, plus the distance that a damaged block reads beyond them. */
const LITERALS_BYTES = (128 + 64) * 1024

const embeddedZstd = embedded(ZSTD_TEXT, ZSTD_BYTES)
let compiles: boolean | undefined
/** Decoder instances by the kernels whose memory they use. */
const instances = new WeakMap<object, ZstdKernels>()

/** Whether this platform can compile the module now; edge workers and some security policies forbid it. */
export function hasZstdKernels(): boolean {
  if (compiles === undefined)
    try {
      embeddedZstd()
      compiles = true
    } catch {
      compiles = false
    }
  return compiles
}

/**
 * Decodes consecutive frames in kernel memory.
 * @throws CodecError if a frame is malformed, has another size, or differs from its checksum
 */
export const zstdStreams: DecoderMaker = (arena) => {
  const { decode, measure } = framesDecoder(arena)
  return (src, srcBytes, dst, dstBytes) => {
    const measureThere: FrameMeasure = ({ blocks }, mostBytes) => measure(blocks.byteOffset, blocks.length, dst, mostBytes)
    for (const { frame, start, size } of splitFrames(arena.bytes(src, srcBytes), dstBytes, measureThere))
      decode(frame, frame.blocks.byteOffset, dst + start, size)
  }
}

/**
 * Decodes a frame to exactly `contentBytes` bytes.
 * @throws CodecError as {@link zstdStreams}; OutOfMemoryError if 4 GiB cannot hold it, encoded and decoded
 */
export const decodeFrame = (frame: Frame, contentBytes: number): Uint8Array =>
  withArena((arena) => {
    const src = arena.put(frame.blocks)
    const dst = arena.alloc(contentBytes)
    framesDecoder(arena).decode(frame, src, dst, contentBytes)
    return arena.bytes(dst, contentBytes).slice()
  })

/**
 * Decodes a frame to at most `mostBytes` bytes, and returns its size. Its checksum is left to the decoding
 * that follows.
 * @throws CodecError as {@link zstdStreams}
 */
export const measureFrame: FrameMeasure = ({ blocks }, mostBytes) =>
  withArena((arena) => {
    const src = arena.put(blocks)
    const dst = arena.alloc(mostBytes)
    return framesDecoder(arena).measure(src, blocks.length, dst, mostBytes)
  })

/** Decodes and measures frames whose blocks are in kernel memory at `src`, without growing the memory. */
interface FramesDecoder {
  decode(frame: Frame, src: number, dst: number, dstBytes: number): void
  measure(src: number, srcBytes: number, dst: number, mostBytes: number): number
}

function framesDecoder(arena: Arena): FramesDecoder {
  const literals = arena.alloc(LITERALS_BYTES)
  const zstd = zstdKernels(arena)
  return {
    decode(frame, src, dst, dstBytes) {
      const srcBytes = frame.blocks.length
      const code = zstd.zstdDecode(src, srcBytes, dst, dstBytes, literals)
      if (code < 0) throw malformed(`${REASONS[-code - 1]} (${srcBytes} bytes of input, ${dstBytes} of output)`)
      checkContent(frame, () => zstd.zstdChecksum(dst, dstBytes))
    },
    measure(src, srcBytes, dst, mostBytes) {
      const count = zstd.zstdDecodeUpTo(src, srcBytes, dst, mostBytes, literals)
      if (count < 0) throw malformed(`${REASONS[-count - 1]} (${srcBytes} bytes of input, at most ${mostBytes} of output)`)
      return count
    },
  }
}

function zstdKernels({ kernels }: Arena): ZstdKernels {
  let zstd = instances.get(kernels)
  if (zstd === undefined) {
    zstd = instantiate<ZstdKernels>(embeddedZstd(), { env: { memory: kernels.memory } }).exports
    instances.set(kernels, zstd)
  }
  return zstd
}
