import { messageOf } from '../../core/errors.ts'
import { badMetadata } from './document.ts'

/** Lists and objects in each other; what nests deeper is no metadata. */
const MAX_DEPTH = 200
/** Digits of integers that are kept exactly: more than 128 bits have. */
const MAX_DIGITS = 40
/** An integer that `JSON.parse` may round, where it is no part of a text of one word. */
const LONG = /(?:^|[[:,\s-])\d{16,40}\s*(?:[\],}]|$)/
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const WORDS: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]

/**
 * The value of a document of JSON, with integers beyond 2^53 as `bigint`, and with the NaN and infinities
 * that Python writes.
 * @param what names the document in the error
 * @throws FormatError for what is not UTF-8 or not JSON
 */
export function parseJson(source: Uint8Array | string, what: string): unknown {
  try {
    const text = typeof source === 'string' ? source : new TextDecoder('utf-8', { fatal: true }).decode(source.slice())
    const value = parseText(text)
    checkDepth(value, MAX_DEPTH)
    return value
  } catch (cause) {
    return badMetadata(`${what} is not JSON: ${messageOf(cause)}`)
  }
}

function parseText(text: string): unknown {
  if (!LONG.test(text)) {
    try {
      return JSON.parse(text)
    } catch {
      // It may have a NaN; if not, the other parser says what is wrong.
    }
  }
  return new ExactParser(text).whole()
}

/** The text of a value, as the parser takes it: long integers stay integers, NaN and infinities words. */
export function writeJson(value: unknown): string {
  if (typeof value === 'bigint' || typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`
  return `{${Object.entries(value)
    .map(([name, part]) => `${JSON.stringify(name)}:${writeJson(part)}`)
    .join(',')}}`
}

function checkDepth(value: unknown, room: number): void {
  if (typeof value !== 'object' || value === null) return
  if (room === 0) throw new SyntaxError(`it nests deeper than ${MAX_DEPTH}`)
  for (const part of Array.isArray(value) ? value : Object.values(value)) checkDepth(part, room - 1)
}

/** Slower than the runtime's, and exact. */
class ExactParser {
  readonly #text: string
  #at = 0
  #depth = 0

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
    if (first === '{') return this.#nested(() => this.#object())
    if (first === '[') return this.#nested(() => this.#list())
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, this.#at)) continue
      this.#at += word.length
      return value
    }
    return this.#number()
  }

  #nested<T>(parse: () => T): T {
    if (++this.#depth > MAX_DEPTH) throw new SyntaxError(`it nests deeper than ${MAX_DEPTH}`)
    const value = parse()
    this.#depth--
    return value
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    this.#items('}', () => {
      this.#space()
      const name = this.#text[this.#at] === '"' ? this.#string() : this.#wrong()
      this.#space()
      if (this.#text[this.#at++] !== ':') this.#wrong(-1)
      const value = this.#value()
      // To assign it would set the prototype.
      if (name === '__proto__')
        Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
      else object[name] = value
    })
    return object
  }

  #list(): unknown[] {
    const list: unknown[] = []
    this.#items(']', () => list.push(this.#value()))
    return list
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
