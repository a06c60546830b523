import type { Zstd } from '@hpcc-js/wasm-zstd'
import { type Frame, parseFrames } from '../../src/codec/zstd-frames.ts'
import { KINDS } from '../kernels/lz4-data.ts'
import { noise } from '../kernels/support.ts'

/**
 * Frames with features that compressors seldom write: literals of one byte, tables of one symbol and repeated
 * tables, counts of three bytes.
 */
const RARE = [
  // 5 times x; 3 sequences of 1 literal and 3 bytes from 1 before
  [0x29, 0x78, 3, 0x54, 1, 0, 0, 1],
  // no literals; 0x7f00 sequences of 3 bytes from the offset before the last
  [0, 0xff, 0, 0, 0x54, 0, 0, 0, 1],
  // y and z; 2 sequences by the tables of the block before
  [0x10, 0x79, 0x7a, 2, 0xfc, 1],
]
const rare = (blocks: number): [string, Frame, number] => {
  const bytes = RARE.slice(0, blocks).map((block, i) => [(block.length << 3) | 4 | Number(i === blocks - 1), 0, 0, ...block])
  const last = bytes.slice(0, -1).flat().length
  const size = [14, 14 + 0x7f00 * 3, 14 + 0x7f00 * 3 + 8][blocks - 1]!
  const frame: Frame = { contentBytes: size, blocks: Uint8Array.from(bytes.flat()), last, checksum: new Uint8Array(0) }
  return [`${blocks} rare blocks`, frame, size]
}

/** Few values in no order: literals alone, and weights of so few symbols that they are not coded. */
const digits = (bytes: number): Uint8Array => noise(bytes, 3).map((byte) => Math.min(Math.clz32(byte << 24), 3))

/** Name, frame and size: small frames of all kinds of blocks, literals and tables. */
export const samples = (reference: Zstd): [string, Frame, number][] => [
  rare(1),
  rare(2),
  rare(3),
  ...Object.entries({ ...KINDS, digits }).flatMap(([name, make]) =>
    [40, 700, 3000].flatMap((size) =>
      [1, 19].map((level): [string, Frame, number] => {
        const [frame] = parseFrames(reference.compress(make(size), level))
        return [`${name}, ${size} bytes, level ${level}`, frame!, size]
      }),
    ),
  ),
]

/** Adds what kinds of blocks, literals and tables a frame has. */
export function partsOf({ blocks }: Frame, seen: Set<string>): void {
  for (let at = 0; at < blocks.length; ) {
    const [a, b, c] = blocks.subarray(at, at + 3) as unknown as [number, number, number]
    const [type, bytes] = [(a >> 1) & 3, (a | (b << 8) | (c << 16)) >> 3]
    at += 3
    seen.add(`block ${type}`)
    if (type === 2) blockPartsOf(blocks.subarray(at, at + bytes), seen)
    at += type === 1 ? 1 : bytes
  }
}

function blockPartsOf(block: Uint8Array, seen: Set<string>): void {
  const head = new DataView(Uint8Array.from([...block.subarray(0, 8), ...new Uint8Array(8)]).buffer).getBigUint64(0, true)
  const [type, format] = [block[0]! & 3, (block[0]! >> 2) & 3]
  const plain = [1, 2, 1, 3][format]!
  const bits = [10n, 10n, 14n, 18n][format]!
  const bytes = type === 0 ? (Number(head & 0xffffffn) & (2 ** (8 * plain) - 1)) >> (plain === 1 ? 3 : 4) : 1
  let at = type < 2 ? plain + bytes : [3, 3, 4, 5][format]! + Number((head >> (4n + bits)) & ((1n << bits) - 1n))
  seen.add(`literals ${type}`)
  if (type === 2) seen.add(`weights ${block[[3, 3, 4, 5][format]!]! < 128 ? 'coded' : 'direct'}`)
  if (type > 1) seen.add(format === 0 ? '1 stream' : '4 streams')
  const count = block[at]!
  at += count < 128 ? 1 : count < 255 ? 2 : 3
  seen.add(`count ${count === 0 ? 0 : count < 128 ? 1 : count < 255 ? 2 : 3}`)
  if (count > 0) for (const shift of [6, 4, 2]) seen.add(`table ${shift} ${(block[at]! >> shift) & 3}`)
}
