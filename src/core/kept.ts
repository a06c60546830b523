/** Returns a function that reads once for all its callers. A failed read is not kept. */
export function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined
  return () => {
    if (found === undefined) {
      found = read()
      found.catch(() => {
        found = undefined
      })
    }
    return found
  }
}

/**
 * Returns what is known of a key, or finds it. Failures are not kept.
 * @param most largest number of keys; the oldest gives way
 */
export function kept<T, K = number>(known: Map<K, Promise<T>>, key: K, find: () => Promise<T>, most: number): Promise<T> {
  let found = known.get(key)
  if (found === undefined) {
    if (known.size >= most) known.delete(known.keys().next().value!)
    found = find()
    known.set(key, found)
    found.catch(() => known.delete(key))
  }
  return found
}
