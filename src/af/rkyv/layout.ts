import { HyperslabError } from '../../core/errors.ts'
import { Reader } from './reader.ts'

/**
 * Archived form of values of one type: rkyv 0.8, little-endian, aligned, 64-bit pointers. A layout reads
 * values itself. `writer.ts` writes them by its form; programs that only read do not load it.
 */
export interface Archived<T> {
  /** Size of the object itself in bytes, without the objects that it points to. */
  readonly size: number
  /** Power of two. */
  readonly align: number
  /** Returns the value whose object is at `at`, which lies in the payload. */
  read(from: Reader, at: number): T
  readonly form: Form
}

/** Name of the function that writes values, and its arguments. */
export type Form = readonly [by: string, ...of: unknown[]]

/** A field of a struct, and its offset. */
export interface FieldPlace<T> {
  readonly key: keyof T
  readonly field: Archived<T[keyof T]>
  readonly offset: number
}

/**
 * Returns the value of a whole payload, with boxes nested at most `maxDepth` deep. Its object is the last
 * `layout.size` bytes:
 *
 *     | the objects that it points to, in order, gaps allowed | root object |
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

/** Returns the next multiple of a power of two. */
const alignUp = (position: number, align: number): number => (position + align - 1) & -align

/** Places fields in the order of their declaration, as C does: each at the next multiple of its alignment. */
export function struct<T extends object>(fields: { readonly [K in keyof T]: Archived<T[K]> }): Archived<T> {
  const places: FieldPlace<T>[] = []
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
    form: ['struct', places],
  }
}

/** Values distinguished by the string in field `key`. */
type Union<Key extends string, Bodies> = { [Label in keyof Bodies]: { [K in Key]: Label } & Bodies[Label] }[keyof Bodies]

/**
 * A Rust enum. Variants count from 0 in the order of their declaration. Each has its own alignment; all have
 * the same size:
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
    form: ['union', name, key, labels, variants],
  }
}

/** The fields of a variant without fields. */
export const nothing: Archived<object> = { size: 0, align: 1, read: () => ({}), form: ['struct', []] }

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
    form: ['option', some],
  }
}

/** Same bytes, but another JavaScript form of the value. */
export function mapped<A, B>(layout: Archived<A>, decode: (value: A) => B, encode: (value: B) => A): Archived<B> {
  return {
    size: layout.size,
    align: layout.align,
    read: (from, at) => decode(layout.read(from, at)),
    form: ['mapped', layout, encode],
  }
}
