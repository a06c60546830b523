import { Pace } from './pace.ts'

/** Limits of work that is under way or waits to be taken. */
export interface WorkLimits<T> {
  readonly count: number
  readonly bytes?: number
  /** Returns the bytes of an item; an item above `bytes` runs alone. */
  readonly bytesOf?: (item: T) => number
}

/**
 * Processes several items at a time and yields the results in the order of the items. After a failure, or if
 * the consumer stops, no item starts, and the generator ends once the work under way has ended. Yields to the
 * event loop every few milliseconds.
 * @param giveUp called first at the end, for whatever reason it ends
 */
export async function* ahead<T, R>(
  items: Iterable<T>,
  { count, bytes: most = Number.POSITIVE_INFINITY, bytesOf = () => 0 }: WorkLimits<T>,
  work: (item: T) => Promise<R>,
  giveUp?: () => void,
): AsyncGenerator<R, void, undefined> {
  const underWay: { result: Promise<R>; bytes: number }[] = []
  let bytes = 0
  const takeOldest = (): Promise<R> => {
    const oldest = underWay.shift()!
    bytes -= oldest.bytes
    return oldest.result
  }
  try {
    const pace = new Pace()
    for (const item of items) {
      if (pace.due()) await pace.turn()
      const more = bytesOf(item)
      while (underWay.length > 0 && (underWay.length >= count || bytes + more > most)) yield await takeOldest()
      const result = work(item)
      // The consumer receives a failure later; until then, it must not count as unhandled.
      result.catch(() => undefined)
      underWay.push({ result, bytes: more })
      bytes += more
    }
    while (underWay.length > 0) yield await takeOldest()
  } finally {
    giveUp?.()
    await Promise.allSettled(underWay.map(({ result }) => result))
  }
}

/** Same as {@link ahead}, but calls `take` with each result and throws the first failure. */
export async function inOrder<T, R>(
  items: Iterable<T>,
  limits: WorkLimits<T>,
  work: (item: T) => Promise<R>,
  take: (result: R) => void,
): Promise<void> {
  for await (const result of ahead(items, limits, work)) take(result)
}

/**
 * Yields the items of several sources, one source after another. The first item of the next sources is
 * requested ahead. When the generator ends, for whatever reason, all started sources end, too.
 */
export async function* inSequence<R>(
  sources: readonly (() => AsyncIterable<R>)[],
  count: number,
): AsyncGenerator<R, void, undefined> {
  const begun: { readonly source: AsyncIterator<R>; readonly first: Promise<IteratorResult<R>> }[] = []
  let next = 0
  const begin = (): void => {
    while (next < sources.length && begun.length < count) {
      const source = sources[next++]!()[Symbol.asyncIterator]()
      const first = source.next()
      // The consumer receives a failure later; until then, it must not count as unhandled.
      first.catch(() => undefined)
      begun.push({ source, first })
    }
  }
  try {
    for (begin(); begun.length > 0; begin()) {
      const { source, first } = begun[0]!
      for (let result = await first; !result.done; result = await source.next()) yield result.value
      begun.shift()
    }
  } finally {
    await Promise.allSettled(begun.map(({ source }) => source.return?.()))
  }
}
