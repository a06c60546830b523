/** Yields items in order, in batches of at most `maxBytes`; a larger item comes alone. */
export function* batched<T>(items: Iterable<T>, maxBytes: number, bytesOf: (item: T) => number): Generator<T[], void> {
  let batch: T[] = []
  let bytes = 0
  for (const item of items) {
    const more = bytesOf(item)
    if (batch.length > 0 && bytes + more > maxBytes) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(item)
    bytes += more
  }
  if (batch.length > 0) yield batch
}
