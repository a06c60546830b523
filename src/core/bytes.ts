/** Bytes one after another; of a single part the part itself, not a copy. */
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

/** The same bytes with no others behind them: to be kept, a part of a large buffer is copied. */
export const compactBytes = (bytes: Uint8Array): Uint8Array => (bytes.length < bytes.buffer.byteLength ? bytes.slice() : bytes)
