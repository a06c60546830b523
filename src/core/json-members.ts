import { HyperslabError } from './errors.ts'
import { METADATA_BYTES, parseJson } from './json.ts'
import { Pace } from './pace.ts'
import type { Signal } from './signal.ts'

/** Maximum nesting depth of lists and objects within one value. */
const MAX_DEPTH = 200
const [QUOTE, COMMA, COLON, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 44, 58, 92, 91, 93, 123, 125]
const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9

/** JSON object of which only the names are parsed. Its values stay bytes until they are requested. */
export class JsonMembers {
  readonly #bytes: Uint8Array
  readonly #what: string
  /** Position of the first byte of each value. */
  readonly #starts: ReadonlyMap<string, number>
  readonly #inner: ReadonlyMap<string, JsonMembers>

  private constructor(scan: Scan, starts: ReadonlyMap<string, number>, inner: ReadonlyMap<string, JsonMembers>) {
    this.#bytes = scan.bytes
    this.#what = scan.what
    this.#starts = starts
    this.#inner = inner
  }

  /**
   * Reads the names of an object, and yields to other work meanwhile.
   * @param what names the document in errors
   * @param options `most`: maximum number of members; `inner`: name of members whose own members are read,
   *   too
   * @throws FormatError if the bytes are not an object of JSON; TooLargeError for too many members, and for a
   *   value of more than 16 MiB that is not a text
   */
  static async read(
    bytes: Uint8Array,
    what: string,
    { most, inner, signal }: { readonly most: number; readonly inner?: string | undefined; readonly signal?: Signal | undefined },
  ): Promise<JsonMembers> {
    const scan = new Scan(bytes, what, most)
    const members = await scan.members(new Pace(signal), inner)
    scan.end()
    return new JsonMembers(scan, ...members)
  }

  /** @internal */
  static of(scan: Scan, starts: ReadonlyMap<string, number>): JsonMembers {
    return new JsonMembers(scan, starts, new Map())
  }

  get names(): Iterable<string> {
    return this.#starts.keys()
  }

  has(name: string): boolean {
    return this.#starts.has(name)
  }

  /** Returns the members of a value that was read with `inner`; undefined if it is not an object. */
  inner(name: string): JsonMembers | undefined {
    return this.#inner.get(name)
  }

  /** Returns the bytes of a value; undefined if there is no such name. */
  bytesOf(name: string): Uint8Array | undefined {
    const start = this.#starts.get(name)
    if (start === undefined) return undefined
    return this.#bytes.subarray(start, new Scan(this.#bytes, this.#what, 0, start).value())
  }

  /** @throws FormatError for a value that is not JSON */
  get(name: string): unknown {
    const bytes = this.bytesOf(name)
    return bytes && parseJson(bytes, `${this.#what}, '${name}'`, { maxBytes: Math.max(bytes.length, METADATA_BYTES) })
  }
}

/** Scans a document and parses only the names. */
class Scan {
  readonly bytes: Uint8Array
  readonly what: string
  readonly #most: number
  #at: number

  constructor(bytes: Uint8Array, what: string, most: number, at = bytes[0] === 0xef && bytes[1] === 0xbb ? 3 : 0) {
    this.bytes = bytes
    this.what = what
    this.#most = most
    this.#at = at
  }

  /** Reads the positions of values by name. */
  async members(pace: Pace, inner?: string): Promise<[Map<string, number>, Map<string, JsonMembers>]> {
    const starts = new Map<string, number>()
    const objects = new Map<string, JsonMembers>()
    const first = this.#next()
    if (first === OPEN_LIST || first === QUOTE) throw new HyperslabError('FormatError', `${this.what} must be an object of JSON`)
    this.#expect(OPEN_OBJECT)
    if (this.#next() === CLOSE_OBJECT) {
      this.#at++
      return [starts, objects]
    }
    for (;;) {
      if (pace.due()) await pace.turn()
      const name = this.#name()
      this.#expect(COLON)
      const begin = this.#next()
      starts.set(name, this.#at)
      if (starts.size > this.#most) throw this.#tooLarge(`has more than ${this.#most} members`, starts.size, this.#most)
      if (name === inner && begin === OPEN_OBJECT) objects.set(name, JsonMembers.of(this, (await this.members(pace))[0]))
      else {
        objects.delete(name)
        this.value()
      }
      const next = this.#next()
      this.#at++
      if (next === CLOSE_OBJECT) return [starts, objects]
      if (next !== COMMA) this.#wrong(-1)
    }
  }

  /** @throws FormatError if more bytes follow */
  end(): void {
    if (this.#next() !== undefined) this.#wrong()
  }

  /** Skips a value. @returns the position of its end */
  value(): number {
    const first = this.#next()
    if (first === QUOTE) this.#text()
    else if (first === OPEN_LIST || first === OPEN_OBJECT) this.#nested()
    else this.#word()
    return this.#at
  }

  #word(): void {
    const start = this.#at
    for (; this.#at < this.bytes.length; this.#at++) {
      const byte = this.bytes[this.#at]!
      if (byte === COMMA || byte === CLOSE_LIST || byte === CLOSE_OBJECT || isSpace(byte)) break
      if (this.#at - start > 400) this.#wrong()
    }
    if (this.#at === start) this.#wrong()
  }

  #nested(): void {
    const start = this.#at
    let depth = 0
    do {
      const byte = this.bytes[this.#at]
      if (byte === undefined) this.#wrong()
      if (byte === QUOTE) this.#text()
      else {
        if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++
        else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
        this.#at++
      }
      if (depth > MAX_DEPTH) throw this.#bad(`it nests deeper than ${MAX_DEPTH}`)
      const length = this.#at - start
      if (length > METADATA_BYTES)
        throw this.#tooLarge(`has a list or object of more than ${METADATA_BYTES} bytes`, length, METADATA_BYTES)
    } while (depth > 0)
  }

  /** Skips a text in quotes. */
  #text(): void {
    const start = this.#at
    for (let at = start + 1; ; ) {
      const end = this.bytes.indexOf(QUOTE, at)
      if (end < 0) throw this.#bad(`the text at ${start} does not end`)
      let escapes = end
      while (escapes > at && this.bytes[escapes - 1] === BACKSLASH) escapes--
      at = end + 1
      this.#at = at
      if ((end - escapes) % 2 === 0) return
    }
  }

  #name(): string {
    if (this.#next() !== QUOTE) this.#wrong()
    const start = this.#at
    this.#text()
    return parseJson(this.bytes.subarray(start, this.#at), 'a name') as string
  }

  /** Returns the next byte that is not white space; undefined at the end. */
  #next(): number | undefined {
    while (isSpace(this.bytes[this.#at])) this.#at++
    return this.bytes[this.#at]
  }

  #expect(byte: number): void {
    if (this.#next() !== byte) this.#wrong()
    this.#at++
  }

  #wrong(back = 0): never {
    const at = this.#at + back
    const found = this.bytes[at]
    throw this.#bad(found === undefined ? 'it ends early' : `unexpected ${JSON.stringify(String.fromCharCode(found))} at ${at}`)
  }

  #bad(text: string): HyperslabError {
    return new HyperslabError('FormatError', `${this.what} is not JSON: ${text}`)
  }

  #tooLarge(text: string, actual: number, expected: number): HyperslabError {
    return new HyperslabError('TooLargeError', `${this.what} ${text}`, { actual, expected })
  }
}
