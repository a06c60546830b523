/** Concatenates bytes; a single part is returned without a copy. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let end = 0
  for (const part of parts) {
    bytes.set(part, end)
    end += part.length
  }
  return bytes
}

/**
 * Returns the same bytes for keeping: a part of a larger buffer is copied, so that the buffer can be freed.
 */
export const compactBytes = (bytes: Uint8Array): Uint8Array => (bytes.length < bytes.buffer.byteLength ? bytes.slice() : bytes)
