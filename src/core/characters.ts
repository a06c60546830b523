const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decodes `char` data as UTF-8 or, if it is not valid UTF-8, as Latin-1, which older writers used. Trailing
 * NULs are padding and dropped.
 */
export function decodeText(bytes: Uint8Array): string {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  // Copied, because decoders refuse shared memory.
  const text = bytes.slice(0, end)
  try {
    return UTF8.decode(text)
  } catch {
    return latin1(text)
  }
}

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
