/** A tag of a directory: its number, type and values; or a count of values that lie elsewhere. */
export interface MadeTag {
  readonly tag: number
  readonly type: 1 | 2 | 3 | 4 | 12 | 13 | 16
  readonly values: ArrayLike<number>
  /** Position of the values in the file. Optional: by default they follow the directory. */
  readonly at?: number
  /** Number of values that the tag claims. Default: those that there are. */
  readonly count?: number
}

const BYTES = { 1: 1, 2: 1, 3: 2, 4: 4, 12: 8, 13: 4, 16: 8 }

/** Returns tags of an image of `uint8` samples. */
export function imageTags([height, width]: readonly [number, number], tile: number | undefined, compression = 1): MadeTag[] {
  const long = (tag: number, value: number): MadeTag => ({ tag, type: 4, values: [value] })
  return [
    long(256, width),
    long(257, height),
    long(258, 8),
    long(259, compression),
    long(262, 1),
    ...(tile === undefined ? [] : [long(322, tile), long(323, tile)]),
  ]
}

/** Writes a little-endian BigTIFF file in a buffer. */
export class BigTiffWriter {
  readonly bytes: Uint8Array
  readonly #view: DataView

  constructor(size: number) {
    this.bytes = new Uint8Array(size)
    this.#view = new DataView(this.bytes.buffer)
    this.bytes.set([0x49, 0x49, 43, 0, 8, 0, 0, 0])
    this.#view.setBigUint64(8, 16n, true)
  }

  /** Writes numbers, and returns the position behind them. */
  numbers(at: number, type: MadeTag['type'], values: ArrayLike<number>): number {
    const bytes = BYTES[type]
    for (let i = 0; i < values.length; i++) {
      const [position, value] = [at + i * bytes, values[i]!]
      if (bytes === 1) this.#view.setUint8(position, value)
      else if (bytes === 2) this.#view.setUint16(position, value, true)
      else if (bytes === 4) this.#view.setUint32(position, value, true)
      else if (type === 12) this.#view.setFloat64(position, value, true)
      else this.#view.setBigUint64(position, BigInt(value), true)
    }
    return at + values.length * bytes
  }

  /** Writes a directory with its values behind it, and returns the position behind these. */
  directory(at: number, tags: readonly MadeTag[], next = 0): number {
    const sorted = [...tags].sort((a, b) => a.tag - b.tag)
    this.numbers(at, 16, [sorted.length])
    let end = at + 8 + 20 * sorted.length + 8
    for (const [i, { tag, type, values, at: elsewhere, count = values.length }] of sorted.entries()) {
      const entry = at + 8 + 20 * i
      this.numbers(entry, 3, [tag, type])
      this.numbers(entry + 4, 16, [count])
      if (elsewhere !== undefined) this.numbers(entry + 12, 16, [elsewhere])
      else if (BYTES[type] * values.length <= 8) this.numbers(entry + 12, type, values)
      else {
        this.numbers(entry + 12, 16, [end])
        end = this.numbers(end, type, values)
      }
    }
    this.numbers(at + 8 + 20 * sorted.length, 16, [next])
    return end
  }
}
