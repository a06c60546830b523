import type { ByteRange, Store } from '../store/store.ts'
import { readWhole } from '../store/whole.ts'
import { type Conformance, checkError, equal, refused } from './check.ts'

/** An object with the `store` that reads it. */
export interface ReadablePlace {
  readonly store: Store
  /** Key of the object. */
  readonly key: string
  /** Key of a missing object. */
  readonly missing: string
  /** Replaces the bytes of the object. Optional, for stores where this is possible. */
  replace?(bytes: Uint8Array): Promise<void>
}

type Check = (place: ReadablePlace, content: Uint8Array) => Promise<void>

export const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values)
const counting = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => i)

/**
 * Returns the requirements for every store, tested on an object with given bytes. Methods that a store omits
 * are not tested.
 * @param make called for each case; the store is closed afterwards
 */
export function readableConformance(make: (content: Uint8Array) => Promise<ReadablePlace>): Conformance[] {
  return CASES.map(([name, content, check]) => ({
    name,
    run: async () => {
      const place = await make(content.slice())
      try {
        await check(place, content)
      } finally {
        await place.store.close?.()
      }
    },
  }))
}

const missingIsUndefined: Check = async ({ store, missing }) => {
  equal(await store.stat(missing), undefined)
  equal(await store.getRange(missing, 0, 1), undefined)
  equal(await store.getRange(missing, 0, 0), undefined)
  if (store.getTail) equal(await store.getTail(missing, 5), undefined)
  if (store.getStart) equal(await store.getStart(missing, 5, { tailBytes: 5 }), undefined)
  equal(await readWhole(store, missing), undefined)
  equal(await readWhole(store, missing, { maxBytes: 0 }), undefined)
  if (!store.getRanges) return
  equal(await store.getRanges(missing, [{ offset: 0, length: 1 }]), undefined)
  equal(await store.getRanges(missing, []), undefined)
}

const sizeAndRanges: Check = async ({ store, key }) => {
  const info = (await store.stat(key))!
  equal(info.size, 5)
  equal(info.etag.length > 0, true)
  equal(await store.stat(key), info)
  equal(await store.getRange(key, 0, 5), bytes(1, 2, 3, 4, 5))
  equal(await store.getRange(key, 1, 3), bytes(2, 3, 4))
  equal(await store.getRange(key, 4, 1, { ifMatch: info.etag }), bytes(5))
  equal(await store.getRange(key, 5, 0), bytes())
  equal(await store.getRange(key, 2, 0), bytes())
}

const emptyObject: Check = async ({ store, key }) => {
  equal((await store.stat(key))!.size, 0)
  equal(await store.getRange(key, 0, 0), bytes())
  await refused(store.getRange(key, 0, 1), 'FormatError', { actual: 0, expected: 1 })
  const tail = await store.getTail?.(key, 5)
  if (tail) equal([tail.size, tail.bytes], [0, bytes()])
  const start = await store.getStart?.(key, 5, { tailBytes: 5 })
  if (start) equal([start.size, start.bytes, start.tail ?? bytes()], [0, bytes(), bytes()])
  const whole = (await readWhole(store, key, { maxBytes: 0 }))!
  equal([whole.size, whole.bytes], [0, bytes()])
}

const beyondTheEnd: Check = async ({ store, key }) => {
  const beyond = (work: Promise<unknown>, expected: number) =>
    refused(work, 'FormatError', { file: store.describe(key), actual: 3, expected })
  await beyond(store.getRange(key, 1, 5), 6)
  await beyond(store.getRange(key, 3, 1), 4)
  await beyond(store.getRange(key, 100, 1), 101)
  await beyond(store.getRange(key, 4, 0), 4)
  if (store.getRanges) await beyond(store.getRanges(key, [range(0, 1), range(2, 2)]), 4)
}

const callerOwnsResults: Check = async ({ store, key }) => {
  ;(await store.getRange(key, 0, 3))!.fill(0)
  ;(await store.getTail?.(key, 3))?.bytes.fill(0)
  ;(await store.getStart?.(key, 3))?.bytes.fill(0)
  ;(await readWhole(store, key))?.bytes.fill(0)
  const twice = await store.getRanges?.(key, [range(0, 3), range(0, 3)])
  twice?.[0]?.fill(0)
  if (twice) equal(twice[1], bytes(1, 2, 3))
  const [one, other] = await Promise.all([store.getRange(key, 0, 3), store.getRange(key, 0, 3)])
  one!.fill(0)
  equal(other, bytes(1, 2, 3))
  equal(await store.getRange(key, 0, 3), bytes(1, 2, 3))
}

const range = (offset: number, length: number): ByteRange => ({ offset, length })

/** Empty, overlapping, adjacent and equal ranges in various orders. */
const MANY_RANGES = [
  [],
  [range(7, 0)],
  [range(0, 200)],
  [range(150, 50), range(0, 10), range(10, 10), range(5, 20), range(5, 20), range(30, 0), range(199, 1)],
]

const severalRanges: Check = async ({ store, key }, content) => {
  if (!store.getRanges) return
  const { etag } = (await store.stat(key))!
  for (const ranges of MANY_RANGES) {
    const wanted = ranges.map(({ offset, length }) => content.slice(offset, offset + length))
    equal(await store.getRanges(key, ranges), wanted)
    equal(await store.getRanges(key, ranges, { ifMatch: etag }), wanted)
  }
}

const theEnd: Check = async ({ store, key }, content) => {
  if (!store.getTail) return
  const info = (await store.stat(key))!
  for (const length of [1, 20, 50, 51, 100_000, 0]) {
    equal(await store.getTail(key, length), { ...info, bytes: content.slice(Math.max(0, 50 - length)) })
  }
}

const bothEnds: Check = async ({ store, key }, content) => {
  if (!store.getStart) return
  const info = (await store.stat(key))!
  for (const length of [1, 20, 50, 51, 100_000, 0])
    for (const tailBytes of [undefined, 0, 1, 49, 50, 100_000]) {
      const { tail, ...start } = (await store.getStart(key, length, { tailBytes }))!
      equal(start, { ...info, bytes: content.slice(0, length) })
      if (tail !== undefined) equal(tail, content.slice(Math.max(0, 50 - (tailBytes ?? 0))))
    }
}

const theWhole: Check = async ({ store, key }, content) => {
  const whole = { ...(await store.stat(key))!, bytes: content }
  equal(await readWhole(store, key), whole)
  equal(await readWhole(store, key, { maxBytes: 50 }), whole)
  for (const maxBytes of [49, 1, 0])
    await refused(readWhole(store, key, { maxBytes }), 'TooLargeError', { file: store.describe(key), expected: maxBytes })
  equal(await Promise.all([readWhole(store, key), readWhole(store, key)]), [whole, whole])
}

const oneVersion: Check = async ({ store, key, replace }) => {
  const first = (await store.stat(key))!
  equal(await store.getRange(key, 0, 2, { ifMatch: first.etag }), bytes(1, 1))
  await refused(store.getRange(key, 0, 2, { ifMatch: 'never' }), 'ConflictError')
  if (store.getRanges) await refused(store.getRanges(key, [range(1, 1)], { ifMatch: 'never' }), 'ConflictError')
  if (!replace) return
  await replace(bytes(2, 2))
  const second = (await store.stat(key))!
  equal(second.etag === first.etag, false)
  equal(await store.getRange(key, 0, 2), bytes(2, 2))
  equal(await store.getRange(key, 0, 2, { ifMatch: second.etag }), bytes(2, 2))
  if (store.getTail) equal(await store.getTail(key, 1), { ...second, bytes: bytes(2) })
  if (store.getStart) equal(await store.getStart(key, 1), { ...second, bytes: bytes(2) })
  equal(await readWhole(store, key), { ...second, bytes: bytes(2, 2) })
  // A store may keep the old version readable.
  const old = await store.getRange(key, 0, 2, { ifMatch: first.etag }).catch((error: unknown) => error)
  if (old instanceof Uint8Array) equal(old, bytes(1, 1))
  else checkError(old, 'ConflictError', { file: store.describe(key) })
  if (!store.getRanges) return
  const parts = await store.getRanges(key, [range(1, 1)], { ifMatch: first.etag }).catch((error: unknown) => error)
  if (Array.isArray(parts)) equal(parts, [bytes(1)])
  else checkError(parts, 'ConflictError')
}

const manyAtOnce: Check = async ({ store, key }) => {
  const reads = Array.from({ length: 200 }, (_, i) => store.getRange(key, i, 2))
  equal(
    await Promise.all(reads),
    Array.from({ length: 200 }, (_, i) => bytes(i, i + 1)),
  )
  await store.close?.()
  equal(await store.getRange(key, 0, 1), bytes(0))
  await store.close?.()
}

const CASES: readonly (readonly [string, Uint8Array, Check])[] = [
  ['a missing object is undefined, not an error', bytes(1), missingIsUndefined],
  ['size and ranges', bytes(1, 2, 3, 4, 5), sizeAndRanges],
  ['an empty object', bytes(), emptyObject],
  ['a range beyond the end names the numbers', bytes(1, 2, 3), beyondTheEnd],
  ['results belong to the caller', bytes(1, 2, 3), callerOwnsResults],
  ['several ranges: any order, overlapping, adjacent, equal, empty, all versions', counting(200), severalRanges],
  ['the end of an object, with its size and version', counting(50), theEnd],
  ['both ends of an object, with its size and version', counting(50), bothEnds],
  ['a whole object, with its size and version; a larger one is refused', counting(50), theWhole],
  ['a version is read or refused, never another one', bytes(1, 1), oneVersion],
  ['many reads at once, also after closing', counting(256), manyAtOnce],
]
