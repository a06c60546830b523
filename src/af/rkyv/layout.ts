import { HyperslabError } from '../../core/errors.ts'
import { Reader } from './reader.ts'
import { ArchiveWriter } from './writer.ts'

/**
 * How values of one type are archived: rkyv 0.8, little-endian, aligned, 64-bit pointers. A layout describes
 * both directions, so that what `read` takes apart and `write` puts together is next to each other.
 */
export interface Archived<T> {
  /** Bytes of the object itself, without what it points to. */
  readonly size: number
  /** Power of two. */
  readonly align: number
  /** The value whose object is at `at`, which is inside the payload. */
  read(from: Reader, at: number): T
  /**
   * Appends what the value points to. The object itself is stored later, at a place known only then, by the
   * function returned. This order (children before parents, siblings in order) is the only one readers
   * accept.
   * @throws InvalidArgumentError when the value does not fit the type
   */
  write(to: ArchiveWriter, value: T): StoreObject
}

/** Stores an object in `size` reserved bytes at `at`. */
export type StoreObject = (at: number) => void

/**
 * The value of a whole payload, boxes nested `maxDepth` deep at most. Its object is the last `layout.size`
 * bytes:
 *
 *     | what it points to, in order, gaps allowed | root object |
 */
export function unarchive<T>(what: string, layout: Archived<T>, payload: Uint8Array, maxDepth?: number): T {
  const bytes = payload.byteLength
  const at = bytes - layout.size
  if (at < 0 || at % layout.align !== 0) {
    const expected = `${layout.size} or more and a multiple of ${layout.align}`
    throw new HyperslabError('FormatError', `${what} payload has ${bytes} bytes, expected ${expected}`, {
      actual: bytes,
      expected,
    })
  }
  const from = new Reader(what, payload, maxDepth)
  return from.subtree(at, at, layout.size, layout.align, () => layout.read(from, at))
}

/** The payload of a value. */
export function archive<T>(layout: Archived<T>, value: T): Uint8Array {
  const to = new ArchiveWriter()
  appendObject(to, layout, value)
  return to.finish()
}

/** Appends what a value points to, then its object; returns where the object is. */
export function appendObject<T>(to: ArchiveWriter, layout: Archived<T>, value: T): number {
  const store = layout.write(to, value)
  to.align(layout.align)
  const at = to.reserve(layout.size)
  store(at)
  return at
}

/** The next multiple of a power of two. */
export const alignUp = (position: number, align: number): number => (position + align - 1) & -align

/** Fields in declaration order, as in C: each at the next multiple of its alignment. */
export function struct<T extends object>(fields: { readonly [K in keyof T]: Archived<T[K]> }): Archived<T> {
  const places: { key: keyof T; field: Archived<T[keyof T]>; offset: number }[] = []
  let end = 0
  let align = 1
  for (const key of Object.keys(fields) as (keyof T)[]) {
    const field = fields[key] as Archived<T[keyof T]>
    const offset = alignUp(end, field.align)
    places.push({ key, field, offset })
    end = offset + field.size
    align = Math.max(align, field.align)
  }
  return {
    size: alignUp(end, align),
    align,
    read(from, at) {
      const value = {} as T
      for (const { key, field, offset } of places) value[key] = field.read(from, at + offset)
      return value
    },
    write(to, value) {
      const stores = places.map(({ key, field }) => field.write(to, value[key]))
      return (at) => {
        for (const [index, { offset }] of places.entries()) stores[index]!(at + offset)
      }
    },
  }
}

/** Values told apart by the string in field `key`. */
type Union<Key extends string, Bodies> = { [Label in keyof Bodies]: { [K in Key]: Label } & Bodies[Label] }[keyof Bodies]

/**
 * A Rust enum. Variants count from 0 in declaration order, and each has an alignment of its own inside a
 * common size:
 *
 *     +0 u8 variant | zeros up to the alignment of the variant's fields | fields | zeros
 */
export function union<Key extends string, Bodies extends { [Label in keyof Bodies]: object }>(
  name: string,
  key: Key,
  bodies: { readonly [Label in keyof Bodies]: Archived<Bodies[Label]> },
): Archived<Union<Key, Bodies>> {
  const labels = Object.keys(bodies) as (keyof Bodies & string)[]
  const variants = labels.map((label) => bodies[label] as Archived<object>)
  const align = Math.max(...variants.map((body) => body.align))
  const size = alignUp(Math.max(...variants.map((body) => body.align + body.size)), align)
  return {
    size,
    align,
    read(from, at) {
      const tag = from.view.getUint8(at)
      const body = variants[tag]
      if (body === undefined)
        return from.fail(at, `${name} variant ${tag}, expected 0 to ${labels.length - 1}`, tag, labels.length - 1)
      return { [key]: labels[tag], ...body.read(from, at + body.align) } as Union<Key, Bodies>
    },
    write(to, value) {
      const label = value[key] as keyof Bodies & string
      const tag = labels.indexOf(label)
      if (tag < 0) throw new HyperslabError('InvalidArgumentError', `${name} '${label}'`, { actual: label, expected: labels })
      const body = variants[tag]!
      const store = body.write(to, value)
      return (at) => {
        to.view.setUint8(at, tag)
        store(at + body.align)
      }
    },
  }
}

/** The fields of a variant that has none. */
export const nothing: Archived<object> = { size: 0, align: 1, read: () => ({}), write: () => () => {} }

/**
 * A value or `null`:
 *
 *     +0 u8 0 = none, 1 = some | zeros up to the value's alignment | value, or zeros
 */
export function option<T>(some: Archived<T>): Archived<T | null> {
  return {
    size: some.align + some.size,
    align: some.align,
    read(from, at) {
      const tag = from.view.getUint8(at)
      if (tag > 1) from.fail(at, `option variant ${tag}, expected 0 or 1`, tag, [0, 1])
      return tag === 0 ? null : some.read(from, at + some.align)
    },
    write(to, value) {
      if (value === null) return () => {}
      const store = some.write(to, value)
      return (at) => {
        to.view.setUint8(at, 1)
        store(at + some.align)
      }
    },
  }
}

/** The same bytes for another JavaScript form of the value. */
export function mapped<A, B>(layout: Archived<A>, decode: (value: A) => B, encode: (value: B) => A): Archived<B> {
  return {
    size: layout.size,
    align: layout.align,
    read: (from, at) => decode(layout.read(from, at)),
    write: (to, value) => layout.write(to, encode(value)),
  }
}
