import { elementBytes, type FixedDType } from '../../core/dtype.ts'
import type { Archived } from '../rkyv/layout.ts'
import type { Reader } from '../rkyv/reader.ts'
import { END, INLINE_BYTES } from '../rkyv/string.ts'
import { AttributeIndex } from './attribute-index.ts'
import type { ArrayList, ArrayMeta, AttributeValue, BlockMeta } from './footer.ts'
import { ENTRY_BLOCK, ENTRY_BYTES, ENTRY_OFFSET, ENTRY_SIZE } from './footer-chunks.ts'

/*
 * Footers may have hundreds of thousands of arrays, of which programs read few. So one pass over the bytes
 * checks all arrays without making anything but their names. An array becomes an object when it is asked for.
 */

/** Fields of an array, from its beginning. See the layout of arrays in `footer-v6.ts`. */
const AT = {
  dtype: 16,
  shape: 40,
  dimensionNames: 56,
  chunkShape: 72,
  chunks: 88,
  fill: 104,
  fillKind: 112,
  fillBool: 113,
  fillText: 120,
  attributes: 136,
  stats: 152,
  statsName: 160,
  min: 176,
  max: 208,
  nullCount: 240,
  rowCount: 248,
}
const ARRAY_BYTES = 256
const [FILL_BOOL, FILL_TEXT, FILL_KINDS] = [0, 4, 6]
/** Tags of bounds: int, uint, float, bytes, timestamp. */
const [INT, UINT, FLOAT, BYTES, TIMESTAMP] = [0, 1, 2, 3, 4]

interface PlainType {
  /** Bytes of an element; 0 if they differ. */
  readonly width: number
  /** Tag of the bounds in statistics. */
  readonly bounds: number
}

const fixed = (dtype: FixedDType, bounds: number): PlainType => ({ width: elementBytes(dtype), bounds })
const TEXT: PlainType = { width: 0, bounds: BYTES }

/** Types by their tags; lists are left out. */
const TYPES: readonly (PlainType | undefined)[] = [
  fixed('bool', UINT),
  fixed('int8', INT),
  fixed('int16', INT),
  fixed('int32', INT),
  fixed('int64', INT),
  fixed('uint8', UINT),
  fixed('uint16', UINT),
  fixed('uint32', UINT),
  fixed('uint64', UINT),
  fixed('float32', FLOAT),
  fixed('float64', FLOAT),
  TEXT,
  TEXT,
  undefined,
  undefined,
  fixed('timestamp_ns', TIMESTAMP),
]

/** Pools that arrays refer to, and the way to check arrays. */
interface Pools {
  /** If false, the pass doubts every array. */
  readonly quick: boolean
  readonly blocks: readonly BlockMeta[]
  readonly strings: readonly string[]
  /** Number of values of attributes. */
  readonly values: number
  /** Tells which keys an array has twice. */
  readonly seen: { next(): void; add(key: number): boolean }
}

/** The arrays of a footer, read one by one. */
export class FooterArrays implements ArrayList {
  readonly names: readonly string[]
  /** Arrays that the pass did not find right. They are to be checked one by one. */
  readonly doubtful: readonly ArrayMeta[]
  readonly #from: Reader
  readonly #layout: Archived<ArrayMeta>
  readonly #at: number
  /** For each array, the first byte that may belong to it. */
  readonly #starts: Uint32Array
  readonly #made: (ArrayMeta | undefined)[] = []
  #indices: ReadonlyMap<string, number> | undefined

  /**
   * @param at the first array, where what all arrays refer to ends
   * @throws FormatError when the bytes are no arrays
   */
  constructor(from: Reader, at: number, count: number, layout: Archived<ArrayMeta>, pools: Pools) {
    this.#from = from
    this.#layout = layout
    this.#at = at
    this.#starts = new Uint32Array(count)
    const pass = new Pass(from, at, pools)
    const names = new Names(from.view, count)
    const doubtful: ArrayMeta[] = []
    for (let index = 0; index < count; index++) {
      const place = at + index * ARRAY_BYTES
      this.#starts[index] = from.lo
      pass.lo = from.lo
      if (pools.quick && pass.isRight(place)) {
        from.moveTo(pass.lo)
        names.add(pass.nameAt, pass.nameBytes)
        continue
      }
      const array = layout.read(from, place)
      doubtful.push(array)
      this.#made[index] = array
      names.set(array.name)
    }
    this.doubtful = doubtful
    this.names = names.list()
  }

  at(index: number): ArrayMeta {
    const made = this.#made[index]
    if (made !== undefined) return made
    const place = this.#at + index * ARRAY_BYTES
    const array = this.#from.within(this.#starts[index]!, this.#at, (from) => this.#layout.read(from, place))
    this.#made[index] = array
    return array
  }

  all(): ArrayMeta[] {
    return this.names.map((_, index) => this.at(index))
  }

  get indices(): ReadonlyMap<string, number> {
    this.#indices ??= new Map(this.names.map((name, index) => [name, index]))
    return this.#indices
  }

  attributeIndex(isKey: Uint8Array, values: readonly AttributeValue[], without?: string): AttributeIndex {
    const places = new Int32Array(this.names.length).fill(-1)
    const from = this.#from
    const { view } = from
    // Most arrays have the key at the same position.
    let position = 0
    for (let i = 0; i < places.length; i++) {
      const field = this.#at + i * ARRAY_BYTES + AT.attributes
      const target = from.target(field)
      const count = from.count(field + 8)
      if (!(position < count && isKey[view.getUint32(target + 8 * position, true)] === 1)) {
        position = 0
        while (position < count && isKey[view.getUint32(target + 8 * position, true)] !== 1) position++
      }
      if (position < count) places[i] = view.getUint32(target + 8 * position + 4, true)
    }
    const omitted = without === undefined ? undefined : this.indices.get(without)
    if (omitted !== undefined) places[omitted] = -1
    return new AttributeIndex(this.names, this.indices, places, values)
  }
}

/**
 * Checks arrays by the rules of `footer-v6.ts` and of the archive. It may doubt an array that is right, such
 * as one with a name that is not ASCII, but never the other way.
 */
class Pass {
  /** The first byte that the next object may have. */
  lo = 0
  /** Offset of the name of the last array in the payload, in bytes. */
  nameAt = 0
  nameBytes = 0
  readonly #from: Reader
  readonly #view: DataView
  readonly #hi: number
  readonly #pools: Pools
  /** Whether the ids of blocks are their positions. */
  readonly #inOrder: boolean
  /** Offset of the last text in the payload, in bytes. */
  #textAt = 0
  #textBytes = 0

  constructor(from: Reader, hi: number, pools: Pools) {
    this.#from = from
    this.#view = from.view
    this.#hi = hi
    this.#pools = pools
    this.#inOrder = pools.blocks.every(({ id }, index) => id === index)
  }

  isRight(at: number): boolean {
    const view = this.#view
    const from = this.#from
    const hi = this.#hi
    if (!this.#text(at, hi)) return false
    this.nameAt = this.#textAt
    this.nameBytes = this.#textBytes
    const type = TYPES[view.getUint8(at + AT.dtype)]
    if (type === undefined) return false
    const rank = from.count(at + AT.shape + 8)
    const shape = from.target(at + AT.shape)
    if (!this.#claim(shape, 4 * rank, 4, hi)) return false
    if (!this.#names(at + AT.dimensionNames, rank)) return false
    const chunkShape = from.target(at + AT.chunkShape)
    if (from.count(at + AT.chunkShape + 8) !== rank || !this.#claim(chunkShape, 4 * rank, 4, hi)) return false
    let [elements, most] = [1, 1]
    for (let axis = 0; axis < rank; axis++) {
      const length = view.getUint32(chunkShape + 4 * axis, true)
      if (length === 0) return false
      elements *= view.getUint32(shape + 4 * axis, true)
      most *= length
    }
    if (elements > Number.MAX_SAFE_INTEGER || most > Number.MAX_SAFE_INTEGER) return false
    return (
      this.#chunks(at + AT.chunks, rank, shape, chunkShape, type.width) &&
      this.#fill(at) &&
      this.#attributes(at + AT.attributes) &&
      this.#stats(at, elements, type.bounds)
    )
  }

  #claim(target: number, bytes: number, align: number, hi: number): boolean {
    if (!(target >= this.lo && target + bytes <= hi) || (target & (align - 1)) !== 0) return false
    this.lo = target + bytes
    return true
  }

  /** An ASCII string. */
  #text(at: number, hi: number): boolean {
    const view = this.#view
    const first = view.getUint8(at)
    let bytes = 0
    let target = at
    if ((first & 0xc0) !== 0x80) {
      while (bytes < INLINE_BYTES && view.getUint8(at + bytes) < 0x80) bytes++
      if (bytes < INLINE_BYTES && view.getUint8(at + bytes) !== END) return false
    } else {
      bytes = (first & 0x3f) + 64 * (view.getUint32(at + 4, true) * 2 ** 24 + (view.getUint32(at, true) >>> 8))
      target = this.#from.target(at + 8, at)
      if (bytes <= INLINE_BYTES || !this.#claim(target, bytes, 1, hi)) return false
      for (let i = 0; i < bytes; i++) if (view.getUint8(target + i) >= 0x80) return false
    }
    this.#textAt = target
    this.#textBytes = bytes
    return true
  }

  #names(at: number, rank: number): boolean {
    const target = this.#from.target(at)
    const bytes = INLINE_BYTES * rank
    if (this.#from.count(at + 8) !== rank || !(target >= this.lo && target + bytes <= this.#hi) || (target & 7) !== 0)
      return false
    for (let axis = 0; axis < rank; axis++) if (!this.#text(target + INLINE_BYTES * axis, target)) return false
    this.lo = target + bytes
    return true
  }

  #chunks(at: number, rank: number, shape: number, chunkShape: number, width: number): boolean {
    const view = this.#view
    const from = this.#from
    const { blocks } = this.#pools
    const table = from.target(at)
    const count = from.count(at + 8)
    const bytes = ENTRY_BYTES * count
    if (!(table >= this.lo && table + bytes <= this.#hi) || (table & 7) !== 0) return false
    if (count > 0 && !this.#inOrder) return false
    let last = -1
    for (let entry = table; entry < table + bytes; entry += ENTRY_BYTES) {
      const coord = from.target(entry)
      if (from.count(entry + 8) !== rank || !this.#claim(coord, 4 * rank, 4, table)) return false
      let [chunk, elements] = [0, 1]
      for (let axis = 0; axis < rank; axis++) {
        const k = view.getUint32(coord + 4 * axis, true)
        const each = view.getUint32(chunkShape + 4 * axis, true)
        const length = view.getUint32(shape + 4 * axis, true)
        const left = length - k * each
        if (left <= 0) return false
        chunk = chunk * Math.ceil(length / each) + k
        elements *= Math.min(left, each)
      }
      if (chunk <= last) return false
      last = chunk
      const size = view.getUint32(entry + ENTRY_SIZE, true)
      if (width > 0 ? size !== elements * width : size < 4 * (elements + 1)) return false
      const block = blocks[view.getUint32(entry + ENTRY_BLOCK, true)]
      if (block === undefined || view.getUint32(entry + ENTRY_OFFSET, true) + size > block.uncompressedBytes) return false
    }
    this.lo = table + bytes
    return true
  }

  #fill(at: number): boolean {
    const view = this.#view
    const tag = view.getUint8(at + AT.fill)
    if (tag === 0) return true
    const kind = view.getUint8(at + AT.fillKind)
    if (tag !== 1 || kind >= FILL_KINDS!) return false
    if (kind === FILL_BOOL) return view.getUint8(at + AT.fillBool) <= 1
    return kind !== FILL_TEXT || this.#text(at + AT.fillText, this.#hi)
  }

  #attributes(at: number): boolean {
    const view = this.#view
    const { strings, values, seen } = this.#pools
    const target = this.#from.target(at)
    const count = this.#from.count(at + 8)
    if (!this.#claim(target, 8 * count, 4, this.#hi)) return false
    seen.next()
    for (let pair = target; pair < target + 8 * count; pair += 8) {
      const key = view.getUint32(pair, true)
      if (key >= strings.length || view.getUint32(pair + 4, true) >= values || !seen.add(key)) return false
    }
    return true
  }

  #stats(at: number, elements: number, bounds: number): boolean {
    const view = this.#view
    const from = this.#from
    const tag = view.getUint8(at + AT.stats)
    if (tag === 0) return true
    if (tag !== 1 || !this.#text(at + AT.statsName, this.#hi) || this.#textBytes !== this.nameBytes) return false
    for (let i = 0; i < this.nameBytes; i++) if (view.getUint8(this.#textAt + i) !== view.getUint8(this.nameAt + i)) return false
    for (const bound of [at + AT.min, at + AT.max]) {
      const some = view.getUint8(bound)
      if (some === 0) continue
      if (some !== 1 || view.getUint8(bound + 8) !== bounds) return false
      if (bounds === BYTES && !this.#claim(from.target(bound + 16), from.count(bound + 24), 1, this.#hi)) return false
    }
    const rows = from.count(at + AT.rowCount)
    return rows === elements && from.count(at + AT.nullCount) <= rows
  }
}

/** Bytes of names that are decoded together. */
const BATCH_BYTES = 2 ** 16

/** Names in ASCII, decoded many at a time: a call of the decoder takes longer than a name. */
class Names {
  readonly #view: DataView
  readonly #names: string[]
  readonly #bytes = new Uint8Array(BATCH_BYTES)
  readonly #decoder = new TextDecoder()
  /** Ends of the names in the batch. */
  #ends: number[] = []
  #filled = 0
  #length = 0

  constructor(view: DataView, count: number) {
    this.#view = view
    this.#names = new Array(count)
  }

  add(at: number, bytes: number): void {
    if (this.#filled + bytes > BATCH_BYTES) this.#decode()
    if (bytes > BATCH_BYTES) {
      const { buffer, byteOffset } = this.#view
      this.#names[this.#length++] = this.#decoder.decode(new Uint8Array(buffer, byteOffset + at, bytes))
      return
    }
    const view = this.#view
    for (let i = 0; i < bytes; i++) this.#bytes[this.#filled + i] = view.getUint8(at + i)
    this.#filled += bytes
    this.#ends.push(this.#filled)
  }

  set(name: string): void {
    this.#decode()
    this.#names[this.#length++] = name
  }

  list(): string[] {
    this.#decode()
    return this.#names
  }

  #decode(): void {
    const text = this.#decoder.decode(this.#bytes.subarray(0, this.#filled))
    let start = 0
    for (const end of this.#ends) {
      this.#names[this.#length++] = text.substring(start, end)
      start = end
    }
    this.#filled = 0
    this.#ends = []
  }
}
