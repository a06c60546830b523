import { HyperslabError } from '../../core/errors.ts'
import { sizeOf } from '../../core/shape.ts'

/** An object of JSON. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Maximum number of axes, that of numpy. More would only take time. */
const MAX_AXES = 64
/** Maximum number of codecs in a chain. */
const MAX_CODECS = 64
/** Maximum number of characters of a value in a message. */
const SHOWN = 80
/** Maximum number of items, and nesting depth, of lists and objects in a message. */
const SHOWN_PARTS = 8
const SHOWN_DEPTH = 2

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a value as messages show it, shortened if it is long. */
export function showJson(value: unknown, depth = 0): string {
  if (typeof value === 'string') return JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value)
  if (typeof value !== 'object' || value === null) return String(value)
  const parts = Array.isArray(value)
    ? value.slice(0, SHOWN_PARTS).map((part) => () => showJson(part, depth + 1))
    : Object.keys(value)
        .slice(0, SHOWN_PARTS)
        .map((name) => () => `${JSON.stringify(name)}: ${showJson((value as JsonObject)[name], depth + 1)}`)
  const count = Array.isArray(value) ? value.length : Object.keys(value).length
  const text = depth === SHOWN_DEPTH ? '…' : [...parts.map((show) => show()), ...(count > parts.length ? ['…'] : [])].join(', ')
  return Array.isArray(value) ? `[${text}]` : `{${text}}`
}

/** @throws FormatError for metadata that violate the format */
export function badMetadata(text: string, actual?: unknown): never {
  throw new HyperslabError('FormatError', text, { actual })
}

/** @throws UnsupportedError for well-formed metadata of arrays that cannot be read here */
export function unsupported(text: string, actual?: unknown): never {
  throw new HyperslabError('UnsupportedError', text, { actual })
}

export const asObject = (value: unknown, what: string): JsonObject =>
  isObject(value) ? value : badMetadata(`${what} must be an object, got ${showJson(value)}`, value)

export const asText = (value: unknown, what: string): string =>
  typeof value === 'string' ? value : badMetadata(`${what} must be a text, got ${showJson(value)}`, value)

export const asList = (value: unknown, what: string): readonly unknown[] =>
  Array.isArray(value) ? value : badMetadata(`${what} must be a list, got ${showJson(value)}`, value)

export const asLength = (value: unknown, what: string): number =>
  Number.isSafeInteger(value) && (value as number) >= 0
    ? (value as number)
    : badMetadata(`${what} must be an integer from 0, got ${showJson(value)}`, value)

/** @throws FormatError unless it is a list of at most 64 codecs, because each codec processes every chunk */
export function asCodecs(value: unknown, what: string): readonly unknown[] {
  const codecs = asList(value, what)
  if (codecs.length > MAX_CODECS) badMetadata(`${what} has ${codecs.length} codecs, more than ${MAX_CODECS}`, codecs.length)
  return codecs
}

/** @throws FormatError unless it is a list of integers from 0 whose product is exact */
export function asShape(value: unknown, what: string): number[] {
  const shape = asList(value, what)
  if (shape.length > MAX_AXES) badMetadata(`${what} has ${shape.length} axes, more than ${MAX_AXES}`, shape.length)
  const lengths = shape.map((length) => asLength(length, `each length of ${what}`))
  if (!Number.isSafeInteger(sizeOf(lengths))) badMetadata(`${what} ${showJson(lengths)} has more than 2^53 elements`, lengths)
  return lengths
}

/**
 * Parses the lengths of regular chunks along each axis. If the array is empty, length 0 is allowed and
 * becomes 1.
 */
export function asChunkShape(value: unknown, shape: readonly number[], what: string): number[] {
  const chunks = asShape(value, what)
  if (chunks.length !== shape.length)
    badMetadata(`${what} ${showJson(chunks)} has ${chunks.length} axes, the array ${showJson(shape)} has ${shape.length}`, chunks)
  return chunks.map((length, axis) => {
    if (length === 0 && shape[axis]! > 0) badMetadata(`${what} ${showJson(chunks)} is of length 0 along axis ${axis}`, chunks)
    return Math.max(1, length)
  })
}

/** @throws FormatError unless each axis has a name */
export function asDimensionNames(value: unknown, rank: number, what: string): string[] {
  const names = asList(value, what)
  if (names.length !== rank) badMetadata(`${what} ${showJson(names)} has ${names.length} names for ${rank} axes`, names)
  return names.map((name) => (name === null ? '' : asText(name, `each of ${what}`)))
}
