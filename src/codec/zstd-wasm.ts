import { type Allocator, Arena, isTrap, KEPT_BYTES } from '../kernels/arena.ts'
import { embedded, instantiate } from '../kernels/module.ts'
import { type Frame, malformed } from './zstd-frames.ts'
import { ZSTD_BYTES, ZSTD_TEXT } from './zstd-wasm.generated.ts'

/** What the module exports: `assembly/zstd/`. Numbers are byte addresses and lengths. */
export interface ZstdExports extends Allocator {
  zstdDecode(src: number, srcBytes: number, dst: number, dstBytes: number, literals: number): number
}

/** Why a frame does not decode, by the module's error codes -1, -2, ... (assembly/zstd/layout.ts). */
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

/** What a block has of literals at most. */
const LITERALS_BYTES = 128 * 1024

const embeddedZstd = embedded(ZSTD_TEXT, ZSTD_BYTES)
let refused = false
let current: Arena<ZstdExports> | undefined

/**
 * Decodes frames to exactly as many bytes as they should have; checksums are not looked at. Undefined where
 * the platform does not compile the module now, as in edge workers and under some security policies. Given
 * an array of as many bytes, it decodes into that: fresh memory would take a third of the time.
 */
export function wasmDecoder(): ((frame: Frame, contentBytes: number, into?: Uint8Array) => Uint8Array) | undefined {
  // Asked for anew by each frame: memory does not outlive a large one.
  return memory() && ((frame, contentBytes, into) => decodeFrame(memory()!, frame, contentBytes, into))
}

function memory(): Arena<ZstdExports> | undefined {
  if (current !== undefined || refused) return current
  try {
    embeddedZstd()
  } catch {
    refused = true
    return undefined
  }
  current = new Arena(instantiate<ZstdExports>(embeddedZstd()).exports)
  return current
}

/**
 * @throws CodecError when the frame is malformed or has another size; OutOfMemoryError when 4 GiB do not hold
 *   it, encoded and decoded
 */
function decodeFrame(
  arena: Arena<ZstdExports>,
  { blocks }: Frame,
  contentBytes: number,
  into: Uint8Array | undefined,
): Uint8Array {
  try {
    return arena.scratch(() => {
      const src = arena.put(blocks)
      const dst = arena.alloc(contentBytes)
      const code = arena.kernels.zstdDecode(src, blocks.length, dst, contentBytes, arena.alloc(LITERALS_BYTES))
      if (code < 0) throw malformed(`${REASONS[-code - 1]} (${blocks.length} bytes of input, ${contentBytes} of output)`)
      const decoded = arena.bytes(dst, contentBytes)
      if (into === undefined) return decoded.slice()
      into.set(decoded)
      return into
    })
  } catch (error) {
    // The memory of an instance that trapped may hold anything.
    if (isTrap(error) && current === arena) current = undefined
    throw error
  } finally {
    if (arena.kernels.memory.buffer.byteLength > KEPT_BYTES && current === arena) current = undefined
  }
}
