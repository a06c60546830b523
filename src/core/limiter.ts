/**
 * Calls `work` for every item, with at most `limit` calls under way. After a failure nothing new starts, and the error is thrown once the
 * calls under way have ended, so that nothing runs on behind the caller's back.
 */
export async function forEachLimited<T>(items: Iterable<T>, limit: number, work: (item: T) => Promise<void>): Promise<void> {
  const iterator = items[Symbol.iterator]()
  const failures: unknown[] = []
  const lane = async (): Promise<void> => {
    for (let next = iterator.next(); !next.done && failures.length === 0; next = iterator.next()) {
      await work(next.value).catch((error: unknown) => {
        failures.push(error)
      })
    }
  }
  await Promise.all(Array.from({ length: limit }, lane))
  if (failures.length > 0) throw failures[0]
}
