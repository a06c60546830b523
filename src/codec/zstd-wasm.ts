import { type Arena, withArena } from '../kernels/arena.ts'
import { embedded, instantiate } from '../kernels/module.ts'
import type { DecoderMaker, StreamDecoder } from './stream-decoder.ts'
import { type Frame, type FrameMeasure, framePartsOf, malformed } from './zstd-frames.ts'
import { ZSTD_BYTES, ZSTD_TEXT } from './zstd-wasm.generated.ts'

/** Exports of the module `assembly/zstd/`. Numbers are byte addresses and lengths. */
interface ZstdKernels {
  zstdDecode(src: number, srcBytes: number, dst: number, dstBytes: number, literals: number): number
  zstdDecodeUpTo(src: number, srcBytes: number, dst: number, mostBytes: number, literals: number): number
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
 * Decodes consecutive frames in kernel memory; checksums are ignored.
 * @throws CodecError if a frame is malformed or has another size
 */
export const zstdStreams: DecoderMaker = (arena) => {
  const decode = blocksDecoder(arena)
  return (src, srcBytes, dst, dstBytes) => {
    const measure: FrameMeasure = ({ blocks }, mostBytes) => measured(arena, blocks.byteOffset, blocks.length, mostBytes)
    for (const { frame, start, size } of framePartsOf(arena.bytes(src, srcBytes), dstBytes, measure))
      decode(frame.blocks.byteOffset, frame.blocks.length, dst + start, size)
  }
}

/**
 * Decodes a frame to exactly `contentBytes` bytes.
 * @throws CodecError as {@link zstdStreams}; OutOfMemoryError if 4 GiB cannot hold it, encoded and decoded
 */
export const decodeFrame = ({ blocks }: Frame, contentBytes: number): Uint8Array =>
  withArena((arena) => {
    const src = arena.put(blocks)
    const dst = arena.alloc(contentBytes)
    blocksDecoder(arena)(src, blocks.length, dst, contentBytes)
    return arena.bytes(dst, contentBytes).slice()
  })

/**
 * Decodes a frame to at most `mostBytes` bytes, and returns its size.
 * @throws CodecError as {@link zstdStreams}
 */
export const measureFrame: FrameMeasure = ({ blocks }, mostBytes) =>
  withArena((arena) => measured(arena, arena.put(blocks), blocks.length, mostBytes))

const measured = (arena: Arena, src: number, srcBytes: number, mostBytes: number): number =>
  arena.scratch(() => {
    const literals = arena.alloc(LITERALS_BYTES)
    const count = zstdKernels(arena).zstdDecodeUpTo(src, srcBytes, arena.alloc(mostBytes), mostBytes, literals)
    if (count < 0) throw malformed(`${REASONS[-count - 1]} (${srcBytes} bytes of input, at most ${mostBytes} of output)`)
    return count
  })

/** Decodes the blocks of a frame. */
function blocksDecoder(arena: Arena): StreamDecoder {
  const literals = arena.alloc(LITERALS_BYTES)
  const { zstdDecode } = zstdKernels(arena)
  return (src, srcBytes, dst, dstBytes) => {
    const code = zstdDecode(src, srcBytes, dst, dstBytes, literals)
    if (code < 0) throw malformed(`${REASONS[-code - 1]} (${srcBytes} bytes of input, ${dstBytes} of output)`)
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
