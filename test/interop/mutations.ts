import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeFooter } from '../../src/af/format/encode.ts'
import { FOOTER_MAGIC, type Footer } from '../../src/af/format/footer.ts'
import { STATS_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'

/** Pseudo-random integers below a limit. */
export type Next = (limit: number) => number

/** The payloads of all files with an ending, in a folder and those below it. */
export function payloadsIn(folder: string, ending: '.af' | '.stats'): Uint8Array[] {
  const magic = ending === '.af' ? FOOTER_MAGIC : STATS_MAGIC
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending) && !path.includes('g_footer_size_gt_file'))
    .sort()
    .map((path) => splitFile(new Uint8Array(readFileSync(join(folder, path))), magic).payload)
}

const EXTREMES = [
  0n,
  1n,
  15n,
  16n,
  17n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n,
  2n ** 60n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
]

/** One to three damages to a payload; `others` are what pieces are taken from. */
export function mutated(payload: Uint8Array, others: readonly Uint8Array[], next: Next): Uint8Array {
  let bytes: Uint8Array = payload.slice()
  for (let times = 1 + Math.floor(next(9) / 4); times > 0; times--)
    bytes = MUTATIONS[next(MUTATIONS.length)]!(bytes, others, next)
  return bytes
}

type Mutation = (bytes: Uint8Array, others: readonly Uint8Array[], next: Next) => Uint8Array

/** Roots and the pointers in them are the last bytes; half of the time the damage is there. */
const place = (bytes: Uint8Array, next: Next, align: number): number => {
  const size = bytes.length
  const at = next(2) === 0 ? next(size) : size - 1 - next(Math.min(size, 280))
  return Math.max(0, Math.min(at - (at % align), size - 8))
}

const flipBit: Mutation = (bytes, _, next) => {
  const at = place(bytes, next, 1)
  if (at < bytes.length) bytes[at]! ^= 1 << next(8)
  return bytes
}

const setWord: Mutation = (bytes, _, next) => {
  if (bytes.length < 8) return bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const value = EXTREMES[next(EXTREMES.length)]!
  if (next(3) === 0) view.setUint32(place(bytes, next, 4), Number(BigInt.asUintN(32, value)), true)
  else view.setBigUint64(place(bytes, next, 8), value, true)
  return bytes
}

/** Pointers are relative to where they are. */
const setPointer: Mutation = (bytes, _, next) => {
  if (bytes.length < 16) return bytes
  const at = place(bytes, next, 8)
  const target = next(4) === 0 ? next(bytes.length) : 4 * next(Math.floor(bytes.length / 4))
  new DataView(bytes.buffer, bytes.byteOffset).setBigInt64(at, BigInt(target - at), true)
  return bytes
}

/** A pointer or a count, a little off. */
const nudge: Mutation = (bytes, _, next) => {
  if (bytes.length < 8) return bytes
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const at = place(bytes, next, 8)
  const by = [-96, -32, -24, -16, -8, -4, -1, 1, 4, 8, 16, 24, 32, 96][next(14)]!
  view.setBigInt64(at, BigInt.asIntN(64, view.getBigInt64(at, true) + BigInt(by)), true)
  return bytes
}

const truncate: Mutation = (bytes, _, next) => {
  const cut = next(2) === 0 ? next(bytes.length + 1) : 8 * next(Math.floor(bytes.length / 8) + 1)
  return next(2) === 0 ? bytes.slice(cut) : bytes.slice(0, bytes.length - cut)
}

/** Another payload's bytes in the place of some of these, or between them. */
const splice: Mutation = (bytes, others, next) => {
  const other = others[next(others.length)]!
  const from = 8 * next(Math.floor(other.length / 8))
  const piece = other.subarray(from, from + 8 * (1 + next(16)))
  const at = 8 * next(Math.floor(bytes.length / 8) + 1)
  const rest = next(2) === 0 ? at : Math.min(bytes.length, at + piece.length)
  const joined = new Uint8Array(at + piece.length + bytes.length - rest)
  joined.set(bytes.subarray(0, at))
  joined.set(piece, at)
  joined.set(bytes.subarray(rest), at + piece.length)
  return joined
}

const MUTATIONS: readonly Mutation[] = [flipBit, flipBit, setWord, setWord, setPointer, nudge, nudge, truncate, splice]

/** A small footer that uses all that a footer can hold, so that little damage is without effect. */
export function everything(version: 4 | 5): Uint8Array {
  const footer: Footer = {
    version,
    blocks: [{ id: 0, fileOffset: 0, compressedBytes: 0, uncompressedBytes: 64, codec: 'a codec with a long name' }],
    arrays: [
      {
        name: 'nested',
        dtype: { kind: 'fixed_size_list', child: { kind: 'list', child: { kind: 'string' } }, size: 3 },
        shape: [4, 4],
        dimensionNames: ['y', 'a dimension with a long name'],
        chunkShape: [2, 2],
        chunks: {
          length: 2,
          rank: 2,
          coords: Uint32Array.of(0, 0, 1, 1),
          blockIds: new Uint32Array(2),
          offsets: Uint32Array.of(0, 16),
          sizes: Uint32Array.of(16, 16),
        },
        fillValue: { kind: 'string', value: 'a fill value with a long text' },
        deleted: false,
        attributes: { width: 32, keys: [0, 1], values: [0, 1] },
      },
    ],
    attributeKeys: ['units', 'a key with more than 16 bytes'],
    attributeValues: [
      { type: 'string', value: 'metres per second' },
      { type: 'bool', value: true },
      ...(version === 4
        ? []
        : ([
            { type: 'string[]', value: ['a', 'seventeen bytes!!'] },
            { type: 'binary[]', value: [Uint8Array.of(1, 2, 3)] },
            { type: 'bool[]', value: [true, false] },
            { type: 'float64[]', value: Float64Array.of(1, Number.NaN) },
          ] as const)),
    ] as Footer['attributeValues'],
    overlayIndex: 1,
    baseFileHint: 'a base with a long name.af',
  }
  return encodeFooter(footer)
}
