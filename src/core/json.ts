import { HyperslabError, messageOf } from './errors.ts'

/** Default maximum size of one document of JSON in bytes. */
export const METADATA_BYTES = 16 * 2 ** 20
/** Bytes of the limit for each value, which bounds the memory of the parsed document. */
const BYTES_PER_VALUE = 8
/** Maximum nesting depth of lists and objects. */
export const MAX_DEPTH = 200
/** Maximum number of digits of an integer that is kept exactly. A 128-bit integer has fewer. */
const MAX_DIGITS = 40
/** An integer that `JSON.parse` may round. Texts of several words can match, too. */
const LONG = /(?:^|[[:,\s-])\d{16,40}\s*(?:[\],}]|$)/
/** A whole number that is written as a float. A match within a text only costs the slower parser. */
const WHOLE_FLOAT = /\d\.0+\s*[,\]}]|\d[eE][+-]?\d/
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const WORDS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]

/** Options for parsing a document. */
interface JsonOptions {
  /** Maximum size in bytes. The document may have one value for every 8 of them. Default: 16 MiB. */
  readonly maxBytes?: number | undefined
  /** Name in errors of the option that raises `maxBytes`. */
  readonly limit?: string | undefined
  /**
   * Whether integers beyond 2^53 become `bigint`; false: numbers, as `JSON.stringify` writes them. Default:
   * true.
   */
  readonly exact?: boolean | undefined
}

/** Names of members, or positions of items, that are whole numbers written as floats: `10.0`. */
const FLOATS = new WeakMap<object, ReadonlySet<string>>()
const NONE: ReadonlySet<string> = new Set()

/**
 * Returns the members of a parsed object, or the items of a list, that are whole numbers written as floats.
 * Python keeps integers and floats apart, and the types of its results depend on it.
 */
export const floatsIn = (parent: object): ReadonlySet<string> => FLOATS.get(parent) ?? NONE

/** Marks members of an object, or items of a list, to be written as floats. Returns the object. */
export function markFloats<T extends object>(parent: T, names: Iterable<string | number>): T {
  const floats = new Set(Array.from(names, String))
  if (floats.size > 0) FLOATS.set(parent, floats)
  else FLOATS.delete(parent)
  return parent
}

/** Returns an object without some members. The remaining marks of floats are kept. */
export function withoutMembers(
  object: Readonly<Record<string, unknown>>,
  isLeftOut: (name: string) => boolean,
): Readonly<Record<string, unknown>> {
  if (!Object.keys(object).some(isLeftOut)) return object
  const kept = Object.fromEntries(Object.entries(object).filter(([name]) => !isLeftOut(name)))
  return markFloats(
    kept,
    [...floatsIn(object)].filter((name) => name in kept),
  )
}

/**
 * Parses a document of JSON, with integers beyond 2^53 as `bigint`, and with the NaN and infinities that
 * Python writes. Counts its values and its depth before it makes any of them.
 * @param what names the document in the error
 * @throws FormatError for text that is not UTF-8 or not JSON, or nests too deeply; TooLargeError
 */
export function parseJson(source: Uint8Array | string, what: string, options: JsonOptions = {}): unknown {
  const { maxBytes = METADATA_BYTES, exact = true } = options
  if (source.length > maxBytes)
    throw tooLarge(`${what} has ${source.length} bytes; up to ${maxBytes} are read`, source.length, maxBytes, options)
  try {
    const text = typeof source === 'string' ? source : new TextDecoder('utf-8', { fatal: true }).decode(source.slice())
    checkBounds(text, what, maxBytes, options)
    return exact ? parseText(text) : JSON.parse(text)
  } catch (cause) {
    if (cause instanceof HyperslabError) throw cause
    throw new HyperslabError('FormatError', `${what} is not JSON: ${messageOf(cause)}`)
  }
}

function tooLarge(text: string, actual: number, expected: number, { limit }: JsonOptions): HyperslabError {
  return new HyperslabError('TooLargeError', text, { actual, expected, ...(limit !== undefined && { limit }) })
}

/** Refuses documents that would take more memory, or a deeper stack, than their length suggests. */
function checkBounds(text: string, what: string, maxBytes: number, options: JsonOptions): void {
  // Small documents get a minimum share, so that they need not be counted.
  const most = Math.ceil(maxBytes / BYTES_PER_VALUE) + 1024
  let [values, depth] = [1, 0]
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) at = endOfText(text, at)
    else if (unit === COMMA) values++
    else if (unit === OPEN_LIST || unit === OPEN_OBJECT) {
      values++
      if (++depth > MAX_DEPTH) throw new SyntaxError(`it nests deeper than ${MAX_DEPTH}`)
    } else if (unit === CLOSE_LIST || unit === CLOSE_OBJECT) depth--
    if (values > most)
      throw tooLarge(
        `${what} has more than ${most} values, which documents of up to ${maxBytes} bytes may have`,
        values,
        most,
        options,
      )
  }
}

/**
 * Returns the position of the quote that ends the text that begins at `at`; the last position if none does.
 */
function endOfText(text: string, at: number): number {
  for (let next = at + 1; next < text.length; next++) {
    const unit = text.charCodeAt(next)
    if (unit === QUOTE) return next
    if (unit === BACKSLASH) next++
  }
  return text.length
}

const [QUOTE, COMMA, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [34, 44, 92, 91, 93, 123, 125]

/**
 * Whether a member is a number written as a float, `10.0`, or a list that contains one. The type of a valid
 * range decides which values it bounds.
 */
export function isFloatIn(object: object, name: string, value: unknown): boolean {
  const isFloat = (each: unknown, parent: object, key: string): boolean =>
    typeof each === 'number' && (!Number.isInteger(each) || floatsIn(parent).has(key))
  return Array.isArray(value) ? value.some((each, i) => isFloat(each, value, String(i))) : isFloat(value, object, name)
}

function parseText(text: string): unknown {
  if (!LONG.test(text) && !WHOLE_FLOAT.test(text)) {
    try {
      return JSON.parse(text)
    } catch {
      // The document may contain a NaN. If not, the other parser throws the right error.
    }
  }
  return new ExactParser(text).whole()
}

/**
 * Writes a value as JSON, exactly as attributes of Zarr have it: long integers stay integers, NaN and
 * infinities become words, and whole numbers that are marked as floats get a point.
 */
export function writeJson(value: unknown): string {
  if (typeof value === 'bigint' || typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const floats = floatsIn(value)
  const partText = (part: unknown, name: string): string => (floats.has(name) ? floatText(part) : writeJson(part))
  if (Array.isArray(value)) return `[${value.map((part, i) => partText(part, String(i))).join(',')}]`
  return `{${Object.entries(value)
    .filter(([, part]) => part !== undefined)
    .map(([name, part]) => `${JSON.stringify(name)}:${partText(part, name)}`)
    .join(',')}}`
}

function floatText(value: unknown): string {
  const text = writeJson(value)
  return Number.isInteger(value) && /^-?\d+$/.test(text) ? `${text}.0` : text
}

/** Parses exactly, but slower than the runtime's parser. */
class ExactParser {
  readonly #text: string
  #at = 0
  /** Whether the last number was a whole number written as a float. */
  #isWholeFloat = false

  constructor(text: string) {
    this.#text = text
  }

  whole(): unknown {
    const value = this.#value()
    this.#space()
    return this.#at === this.#text.length ? value : this.#wrong()
  }

  #value(): unknown {
    this.#space()
    const first = this.#text[this.#at]
    if (first === '"') return this.#string()
    if (first === '{') return this.#object()
    if (first === '[') return this.#list()
    this.#isWholeFloat = false
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue
      this.#at += word.length
      return value
    }
    return this.#number()
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    const floats: string[] = []
    this.#items('}', () => {
      this.#space()
      const name = this.#text[this.#at] === '"' ? this.#string() : this.#wrong()
      this.#space()
      if (this.#text[this.#at++] !== ':') this.#wrong(-1)
      const value = this.#value()
      if (typeof value === 'number' && this.#isWholeFloat) floats.push(name)
      // An assignment would set the prototype.
      if (name === '__proto__')
        Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
      else object[name] = value
    })
    return floats.length === 0 ? object : markFloats(object, floats)
  }

  #list(): unknown[] {
    const list: unknown[] = []
    const floats: number[] = []
    this.#items(']', () => {
      const value = this.#value()
      if (typeof value === 'number' && this.#isWholeFloat) floats.push(list.length)
      list.push(value)
    })
    return floats.length === 0 ? list : markFloats(list, floats)
  }

  #items(end: string, item: () => void): void {
    this.#at++
    this.#space()
    if (this.#text[this.#at] === end) {
      this.#at++
      return
    }
    for (;;) {
      item()
      this.#space()
      const next = this.#text[this.#at++]
      if (next === end) return
      if (next !== ',') this.#wrong(-1)
    }
  }

  #string(): string {
    const start = this.#at++
    for (;;) {
      const end = this.#text.indexOf('"', this.#at)
      if (end < 0) throw new SyntaxError(`the text at ${start} does not end`)
      let escapes = end
      while (this.#text[escapes - 1] === '\\') escapes--
      this.#at = end + 1
      if ((end - escapes) % 2 === 0) return JSON.parse(this.#text.slice(start, this.#at)) as string
    }
  }

  #number(): number | bigint {
    NUMBER.lastIndex = this.#at
    const [text, fraction, exponent] = NUMBER.exec(this.#text) ?? this.#wrong()
    this.#at += text!.length
    const number = Number(text)
    this.#isWholeFloat = (fraction !== undefined || exponent !== undefined) && Number.isInteger(number)
    const isLong = fraction === undefined && exponent === undefined && !Number.isSafeInteger(number)
    return isLong && text!.length <= MAX_DIGITS ? BigInt(text!) : number
  }

  #space(): void {
    while (/[ \t\n\r]/.test(this.#text[this.#at] ?? '')) this.#at++
  }

  #wrong(back = 0): never {
    const at = this.#at + back
    throw new SyntaxError(at >= this.#text.length ? 'it ends early' : `unexpected ${JSON.stringify(this.#text[at])} at ${at}`)
  }
}
