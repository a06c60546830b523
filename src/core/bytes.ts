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

/** Position of the first byte in which two runs of as many bytes differ; -1 when they are the same. */
export function firstDifference(a: Uint8Array, b: Uint8Array): number {
  let at = 0
  if (a.byteOffset % 4 === 0 && b.byteOffset % 4 === 0) {
    const [x, y] = [a, b].map(({ buffer, byteOffset, length }) => new Int32Array(buffer, byteOffset, length >> 2)) as [
      Int32Array,
      Int32Array,
    ]
    let word = 0
    while (word < x.length && x[word] === y[word]) word++
    at = 4 * word
  }
  while (at < a.length && a[at] === b[at]) at++
  return at < a.length ? at : -1
}
