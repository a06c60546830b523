import { Pace } from './pace.ts'

/** How much of some work may be under way or wait to be taken. */
export interface WorkLimits<T> {
  readonly count: number
  readonly bytes?: number
  /** What an item holds; one of more than `bytes` runs alone. */
  readonly bytesOf?: (item: T) => number
}

/**
 * Works on several items at a time and hands out the results in the order of the items. After a failure, or
 * when nobody wants more, nothing new starts, and it ends once the work under way has ended, so that nothing
 * runs on behind the caller's back. Gives way to others of the thread every few milliseconds.
 * @param giveUp called first when it ends, however that comes
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
      // Whoever waits for it hears of a failure; until then it must not count as unhandled.
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

/** As {@link ahead}; calls `take` with each result and throws what fails. */
export async function inOrder<T, R>(
  items: Iterable<T>,
  limits: WorkLimits<T>,
  work: (item: T) => Promise<R>,
  take: (result: R) => void,
): Promise<void> {
  for await (const result of ahead(items, limits, work)) take(result)
}

/** Items in their order, as many at once as hold no more than `maxBytes`; one that holds more comes alone. */
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

/**
 * What several give, one after another; of some, the first is asked for ahead. When it ends, however that
 * comes, those that were begun are ended, too.
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
      // Whoever comes to it hears of a failure; until then it must not count as unhandled.
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
