/**
 * Returns a function that loads a module on first use. Later calls return it synchronously, because
 * `import()` of a loaded module takes some microseconds. A failed load is retried.
 */
export function lazily<T>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: T | undefined
  const first = async (): Promise<T> => {
    loaded = await load()
    return loaded
  }
  return () => loaded ?? first()
}
