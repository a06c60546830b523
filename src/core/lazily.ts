/**
 * Loads a module when it is first asked for; from then on there is nothing to wait for, where `import()` of a
 * module that is there takes some microseconds each time. A load that fails is tried anew.
 */
export function lazily<T>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: T | undefined
  const first = async (): Promise<T> => {
    loaded = await load()
    return loaded
  }
  return () => loaded ?? first()
}
