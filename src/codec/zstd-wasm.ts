import { HyperslabError } from '../core/errors.js'
import { bytesOfText } from '../kernels/module-text.js'
import { type Frame, malformed } from './zstd-frames.js'
import { ZSTD_BYTES, ZSTD_TEXT } from './zstd-wasm.generated.js'

/** What the module exports: `assembly/zstd/`. Numbers are byte addresses and lengths. */
interface ZstdExports {
  readonly memory: { readonly buffer: ArrayBuffer }
  arenaMark(): number
  arenaAlloc(bytes: number): number
  arenaReset(mark: number): void
  zstdDecode(src: number, srcBytes: number, dst: number, dstBytes: number, literals: number): number
}

// What is used of the platform, whose own names for it need the DOM library.
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { readonly exports: unknown }
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

/** Memory above which it is given back after use: 64 MiB. WebAssembly memory cannot shrink, so the instance goes with it. */
const KEPT_BYTES = 64 * 1024 * 1024

let compiled: object | undefined
let instance: ZstdExports | undefined

/**
 * Decodes frames to exactly as many bytes as they should have; checksums are not looked at. Undefined where the platform does not compile the
 * module now, as in edge workers and under some security policies.
 */
export function wasmDecoder(): ((frame: Frame, contentBytes: number) => Uint8Array) | undefined {
  // Asked for anew by each frame: an instance does not outlive a large one.
  return instantiate() && ((frame, contentBytes) => decodeFrame(instantiate()!, frame, contentBytes))
}

function instantiate(): ZstdExports | undefined {
  if (instance === undefined) {
    try {
      compiled ??= new WebAssembly.Module(bytesOfText(ZSTD_TEXT, ZSTD_BYTES))
    } catch {
      return undefined
    }
    instance = new WebAssembly.Instance(compiled).exports as ZstdExports
  }
  return instance
}

/** @throws CodecError when the frame is malformed or has another size; OutOfMemoryError when 4 GiB do not hold it, encoded and decoded */
function decodeFrame(zstd: ZstdExports, { blocks }: Frame, contentBytes: number): Uint8Array {
  const mark = zstd.arenaMark()
  try {
    const [src, dst, literals] = [blocks.length, contentBytes, LITERALS_BYTES].map((bytes) => {
      // the module takes 32 bits: more would wrap round
      const pointer = bytes < 2 ** 32 ? zstd.arenaAlloc(bytes) >>> 0 : 0
      if (pointer !== 0) return pointer
      throw new HyperslabError('OutOfMemoryError', `there is no memory to decode a zstd frame of ${contentBytes} bytes`, {
        actual: contentBytes,
      })
    }) as [number, number, number]
    new Uint8Array(zstd.memory.buffer).set(blocks, src)
    const code = zstd.zstdDecode(src, blocks.length, dst, contentBytes, literals)
    if (code < 0) throw malformed(`${REASONS[-code - 1]} (${blocks.length} bytes of input, ${contentBytes} of output)`)
    return new Uint8Array(zstd.memory.buffer).slice(dst, dst + contentBytes)
  } finally {
    zstd.arenaReset(mark)
    if (zstd.memory.buffer.byteLength > KEPT_BYTES && instance === zstd) instance = undefined
  }
}
