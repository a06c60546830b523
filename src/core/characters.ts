const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const LATIN1 = /^(latin-?1|iso-?8859-?1|l1)$/

/**
 * Returns the decoder of an encoding that `_Encoding` names; undefined for UTF-8 and unknown names.
 */
function findDecoder(encoding: string): ((bytes: Uint8Array) => string) | undefined {
  const name = encoding.trim().toLowerCase().replaceAll('_', '-')
  if (LATIN1.test(name)) return latin1
  if (/^(utf-?8|ascii|us-ascii)$/.test(name)) return undefined
  try {
    const decoder = new TextDecoder(name, { fatal: true })
    return (bytes) => decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** Whether a name of an encoding is known. */
export const isEncoding = (name: string): boolean =>
  /^\s*(utf[-_]?8|ascii|us[-_]ascii)\s*$/i.test(name) || findDecoder(name) !== undefined

/**
 * Decodes `char` data in the encoding that `_Encoding` names. Without a known one, or if the bytes are not
 * valid in it, decodes UTF-8 or, if it is not valid UTF-8, Latin-1, which older writers used. Trailing NULs
 * are padding and dropped.
 */
export function decodeText(bytes: Uint8Array, encoding?: unknown): string {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  // Copied, because decoders refuse shared memory.
  const text = bytes.slice(0, end)
  try {
    return ((typeof encoding === 'string' ? findDecoder(encoding) : undefined) ?? decodeUtf8)(text)
  } catch {
    return latin1(text)
  }
}

const decodeUtf8 = (bytes: Uint8Array): string => UTF8.decode(bytes)

/** Decodes Latin-1 without TextDecoder, whose `latin1` is windows-1252. */
function latin1(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

/** A variable of a file, with the dimensions that it uses. */
export interface DimensionUse<D> {
  readonly name: string
  readonly dims: readonly D[]
  /** Whether its elements are single characters. */
  readonly isCharacter: boolean
}

/**
 * Returns the dimensions that are lengths of texts, by the rule of xarray: only variables of characters use
 * them, always as their last dimension, and no variable has their name. Along other dimensions, characters
 * stay single.
 */
export function textLengths<D>(variables: readonly DimensionUse<D>[], nameOf: (dim: D) => string): Set<D> {
  const names = new Set(variables.map(({ name }) => name))
  const lengths = new Set<D>()
  const others = new Set<D>()
  for (const { dims, isCharacter } of variables)
    for (const [axis, dim] of dims.entries()) {
      const isLast = dim === dims.at(-1)
      if (isCharacter && isLast && axis === dims.length - 1) lengths.add(dim)
      else if (!(isCharacter && isLast)) others.add(dim)
    }
  for (const dim of lengths) if (others.has(dim) || names.has(nameOf(dim))) lengths.delete(dim)
  return lengths
}
