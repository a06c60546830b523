import { joinBytes } from '../core/bytes.ts'
import { HyperslabError } from '../core/errors.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { compute } from '../kernels/compute.ts'
import { deflate } from './deflate.ts'

/** Options of a Blosc frame; `blosc.ts` describes the format. */
export interface BloscOptions {
  readonly compressor: BloscCompressor
  /** From 0, uncompressed, to 9. */
  readonly level: number
  readonly shuffle: 'noshuffle' | 'shuffle' | 'bitshuffle'
  /** Bytes of an element. */
  readonly typesize: number
  /** Bytes of a block; 0 uses the default. */
  readonly blockBytes: number
}

export type BloscCompressor = 'lz4' | 'lz4hc' | 'zlib' | 'zstd'

/** Numbers of compressors in frames. */
const NUMBERS: Readonly<Record<BloscCompressor, number>> = { lz4: 1, lz4hc: 1, zlib: 3, zstd: 4 }
const SHUFFLES = { noshuffle: 0, shuffle: 1, bitshuffle: 4 }

const HEADER_BYTES = 16
const NOT_COMPRESSED = 2
/** Flag: each block is one stream, whatever its elements. */
const NOT_SPLIT = 16
/** Largest input that c-blosc accepts. */
const MOST_BYTES = 2 ** 31 - 1 - HEADER_BYTES
const MOST_TYPESIZE = 255
/** Default block sizes. LZ4 blocks fit the second-level cache; the others have room for long matches. */
const BLOCK_BYTES: Readonly<Record<BloscCompressor, number>> = {
  lz4: 256 * 1024,
  lz4hc: 256 * 1024,
  zlib: 512 * 1024,
  zstd: 512 * 1024,
}

/** A block of a frame. */
interface Block {
  readonly start: number
  readonly bytes: number
}

/**
 * Encodes bytes as a frame of Blosc 1.
 * @throws CodecError if a frame cannot hold that many bytes; any error of the compressor
 */
export async function encodeBlosc(bytes: Uint8Array, options: BloscOptions): Promise<Uint8Array> {
  const { compressor, level, shuffle } = options
  if (bytes.length > MOST_BYTES) {
    const text = `a frame of blosc holds at most ${MOST_BYTES} bytes, not ${bytes.length}`
    throw new HyperslabError('CodecError', text, { actual: bytes.length, expected: MOST_BYTES })
  }
  const typesize = options.typesize > MOST_TYPESIZE ? 1 : options.typesize
  const blockBytes = chooseBlockBytes(bytes.length, typesize, options.blockBytes || BLOCK_BYTES[compressor])
  const flags = SHUFFLES[shuffle] | NOT_SPLIT | (NUMBERS[compressor] << 5)
  const withHeader = (frame: Uint8Array, added = 0): Uint8Array => {
    frame.set([2, 1, flags | added, typesize])
    const view = new DataView(frame.buffer)
    for (const [i, value] of [bytes.length, blockBytes, frame.length].entries()) view.setUint32(4 + 4 * i, value, true)
    return frame
  }
  const plain = (): Uint8Array => withHeader(joinBytes([new Uint8Array(HEADER_BYTES), bytes]), NOT_COMPRESSED)
  if (level === 0 || bytes.length === 0) return plain()
  const blocks = Array.from({ length: Math.ceil(bytes.length / blockBytes) }, (_, i): Block => {
    const start = i * blockBytes
    return { start, bytes: Math.min(blockBytes, bytes.length - start) }
  })
  const order = { ...options, typesize }
  const frame = compressor.startsWith('lz4') ? lz4Frame(bytes, blocks, order) : await otherFrame(bytes, blocks, order)
  if (frame.length >= HEADER_BYTES + bytes.length) return plain()
  const view = new DataView(frame.buffer)
  for (let i = 0, at = headBytes(blocks); i < blocks.length; i++, at += 4 + view.getUint32(at, true))
    view.setUint32(HEADER_BYTES + 4 * i, at, true)
  return withHeader(frame)
}

/** Returns the bytes of the header and of the table of stream positions. */
const headBytes = (blocks: readonly Block[]): number => HEADER_BYTES + 4 * blocks.length

/**
 * Returns the block size: a multiple of 8 elements, because bits are shuffled in groups of 8; at most
 * `bytes`.
 */
function chooseBlockBytes(bytes: number, typesize: number, wanted: number): number {
  const unit = 8 * typesize
  const whole = Math.floor(wanted / unit) * unit || unit
  return Math.max(1, Math.min(bytes, whole))
}

/**
 * Encodes the streams of all blocks, each behind its size, with room in front for header and table.
 * Incompressible blocks are stored uncompressed.
 */
function lz4Frame(bytes: Uint8Array, blocks: readonly Block[], options: BloscOptions): Uint8Array {
  return withArena((arena) => {
    const kernels = compute(arena)
    const largest = blocks[0]!.bytes
    const head = headBytes(blocks)
    // The frame overwrites the blocks that were encoded already. It starts far enough in front that even a
    // block that grows ends before the next one.
    const ahead = head + 4 * blocks.length + (kernels.lz4Bound(largest) >>> 0)
    const frame = arena.alloc(ahead + bytes.length)
    const shuffled = shuffler(arena, largest, options)
    arena.bytes(frame + ahead, bytes.length).set(bytes)
    let end = frame + head
    for (const { start, bytes } of blocks) {
      const block = shuffled(frame + ahead + start, bytes)
      const compressed = kernels.lz4Encode(block, bytes, end + 4) >>> 0
      const isSmaller = compressed > 0 && compressed < bytes
      if (!isSmaller) arena.bytes(end + 4, bytes).set(arena.bytes(block, bytes))
      const size = isSmaller ? compressed : bytes
      arena.bytes(end, 4).set(littleEndian(size))
      end += 4 + size
    }
    return arena.bytes(frame, end - frame).slice()
  })
}

async function otherFrame(bytes: Uint8Array, blocks: readonly Block[], options: BloscOptions): Promise<Uint8Array> {
  const { compressor, level } = options
  const shuffled = withArena((arena) => {
    const from = arena.put(bytes)
    const shuffle = shuffler(arena, blocks[0]!.bytes, options)
    return blocks.map(({ start, bytes }) => arena.bytes(shuffle(from + start, bytes), bytes).slice())
  })
  // As in c-blosc, zstd levels are about twice the level of Blosc.
  const zstd =
    compressor === 'zstd' ? (await import('./zstd-encode.ts')).zstdEncoder(level === 9 ? 22 : 2 * level - 1) : undefined
  const parts: Uint8Array[] = [new Uint8Array(headBytes(blocks))]
  for (const block of shuffled) {
    const compressed = await (zstd === undefined ? deflate('zlib', block, level) : zstd(block))
    const stream = compressed.length < block.length ? compressed : block
    parts.push(littleEndian(stream.length), stream)
  }
  return joinBytes(parts)
}

function littleEndian(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value, true)
  return bytes
}

/** Returns a function that shuffles a block in kernel memory and returns the address of the result. */
function shuffler(
  arena: Arena,
  largest: number,
  { shuffle, typesize }: BloscOptions,
): (pointer: number, bytes: number) => number {
  if (shuffle === 'noshuffle' || (shuffle === 'shuffle' && typesize === 1)) return (pointer) => pointer
  const kernels = compute(arena)
  const target = arena.alloc(largest)
  const planes = shuffle === 'bitshuffle' ? arena.alloc(largest) : 0
  return (pointer, bytes) => {
    if (shuffle === 'shuffle') kernels.shuffle(typesize, pointer, target, bytes)
    else kernels.bitShuffle(typesize, pointer, target, bytes, planes)
    return target
  }
}
