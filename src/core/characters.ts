const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text of `char` data: UTF-8 or, where it is not valid UTF-8, Latin-1 as older writers left it. Trailing
 * NULs are padding and dropped.
 */
export function decodeText(bytes: Uint8Array): string {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  // A copy, because decoders refuse shared memory.
  const text = bytes.slice(0, end)
  try {
    return UTF8.decode(text)
  } catch {
    return latin1(text)
  }
}

/** By hand: what TextDecoder calls latin1 is windows-1252. */
function latin1(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

/** A variable of a file, by the dimensions that it has. */
export interface DimensionUse<D> {
  readonly name: string
  readonly dims: readonly D[]
  /** Whether its elements are single characters. */
  readonly isCharacter: boolean
}

/**
 * The dimensions that are lengths of texts, as xarray has it: only variables of characters have them, all as
 * their last one, and no variable has their name. Along others, characters stay single.
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
