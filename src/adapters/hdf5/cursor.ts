import { decodeText } from '../../core/characters.ts'
import { HyperslabError } from '../../core/errors.ts'

/** Bytes of addresses and of lengths, as the superblock has them. */
export interface Sizes {
  readonly offsets: number
  readonly lengths: number
}

/** @throws FormatError, always, with the position in the file */
export function damaged(text: string, position: number, actual?: unknown): never {
  throw new HyperslabError('FormatError', `damaged HDF5 metadata at byte ${position}: ${text}`, { actual })
}

/** @throws UnsupportedError, always */
export function refuse(text: string, actual?: unknown): never {
  throw new HyperslabError('UnsupportedError', text, { actual })
}

/** Reads integers, addresses and texts of one structure, one after another. All are little-endian. */
export class Cursor {
  readonly bytes: Uint8Array
  readonly sizes: Sizes
  /** Position of the first byte in the file. */
  readonly start: number
  at = 0
  readonly #view: DataView

  constructor(bytes: Uint8Array, sizes: Sizes, start: number) {
    this.bytes = bytes
    this.sizes = sizes
    this.start = start
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  /** Number of bytes that are left. */
  get left(): number {
    return this.bytes.length - this.at
  }

  /** Position of the next byte in the file. */
  get position(): number {
    return this.start + this.at
  }

  /** @throws FormatError unless `count` bytes are left */
  take(count: number): number {
    const at = this.at
    if (!(count >= 0 && count <= this.bytes.length - at))
      damaged(`${count} bytes are needed, and ${this.left} are left`, this.position, count)
    this.at += count
    return at
  }

  skip(count: number): this {
    this.take(count)
    return this
  }

  u8(): number {
    return this.#view.getUint8(this.take(1))
  }

  u16(): number {
    return this.#view.getUint16(this.take(2), true)
  }

  u32(): number {
    return this.#view.getUint32(this.take(4), true)
  }

  u64(): bigint {
    return this.#view.getBigUint64(this.take(8), true)
  }

  /** Returns an unsigned integer of 0 to 8 bytes. */
  uint(size: number): number {
    const at = this.take(size)
    let value = 0
    for (let i = size - 1; i >= 0; i--) value = value * 256 + this.bytes[at + i]!
    if (!Number.isSafeInteger(value)) damaged(`the number ${value} is above 2^53`, this.start + at, value)
    return value
  }

  length(): number {
    return this.uint(this.sizes.lengths)
  }

  /** Returns a length; undefined for all ones, which stand for "unlimited". */
  maxLength(): number | undefined {
    return this.#isOnes(this.sizes.lengths) ? undefined : this.length()
  }

  /** Returns an address; undefined for the undefined address, which is all ones. */
  address(): number | undefined {
    return this.#isOnes(this.sizes.offsets) ? undefined : this.uint(this.sizes.offsets)
  }

  /** @throws FormatError for the undefined address */
  definedAddress(what: string): number {
    const { position } = this
    return this.address() ?? damaged(`the address of ${what} is undefined`, position)
  }

  /** Consumes a number of bytes if all are 0xff. */
  #isOnes(size: number): boolean {
    const at = this.take(size)
    for (let i = 0; i < size; i++) {
      if (this.bytes[at + i] === 0xff) continue
      this.at = at
      return false
    }
    return true
  }

  slice(count: number): Uint8Array {
    const at = this.take(count)
    return this.bytes.subarray(at, at + count)
  }

  /** Returns a text of a number of bytes, up to its first NUL. */
  text(count: number): string {
    const bytes = this.slice(count)
    const end = bytes.indexOf(0)
    return decodeText(end < 0 ? bytes : bytes.subarray(0, end))
  }

  /** Returns a text that ends with NUL, padded to a multiple of `unit` bytes. */
  terminated(unit = 1): string {
    const end = this.bytes.indexOf(0, this.at)
    if (end < 0) damaged('a text has no end', this.position)
    const length = end - this.at
    const text = this.text(length)
    this.skip(Math.ceil((length + 1) / unit) * unit - length)
    return text
  }

  /** Reads a signature of four characters and checks it. */
  signature(expected: string): this {
    const { position } = this
    const actual = String.fromCharCode(...this.slice(4))
    if (actual !== expected) damaged(`the signature is ${JSON.stringify(actual)} instead of '${expected}'`, position, actual)
    return this
  }

  /** Reads the version of a structure and checks it. */
  version(what: string, known: readonly number[]): number {
    const version = this.u8()
    if (!known.includes(version)) refuse(`version ${version} of ${what} is not read here`, version)
    return version
  }

  /** Returns a cursor over the next bytes. */
  part(count: number): Cursor {
    const { position } = this
    return new Cursor(this.slice(count), this.sizes, position)
  }
}

/** Returns a cursor over the bytes that are left, which moves by itself. */
export const copyCursor = ({ bytes, sizes, position, at }: Cursor): Cursor => new Cursor(bytes.subarray(at), sizes, position)

/** Returns the bytes that a number up to `limit` takes. */
export const numberBytes = (limit: number): number => Math.floor(Math.log2(Math.max(1, limit)) / 8) + 1
