import { allocate, type DataOf, elementBytes, type NumericDType, type ScalarOf, toBytes, toElement } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Archived, FieldPlace } from './layout.ts'
import { checkedBits, type FloatWithBits } from './leaves.ts'
import { checkClass, className } from './pointers.ts'
import { checkText, END, INLINE_BYTES } from './string.ts'

/** Deepest nesting of boxed values. A value that contains itself would never end. */
const MAX_DEPTH = 256
const HIGH_WORD = 2 ** 32
const ENCODER = new TextEncoder()

/** Stores an object in its reserved bytes at `at`. */
export type StoreObject = (at: number) => void

/**
 * Appends the objects that a value points to. Returns a function that stores the object itself, at a position
 * known only later. This order (children before parents, siblings in order) is the only one that readers
 * accept.
 * @param of arguments in the form of the layout
 * @throws InvalidArgumentError if the value does not fit the type
 */
// biome-ignore lint/suspicious/noExplicitAny: each has values, and a form, of its own.
type Write = (to: ArchiveWriter, value: any, ...of: any[]) => StoreObject

/**
 * Returns the payload of a value.
 * @param more writers of additional forms
 */
export function archive<T>(layout: Archived<T>, value: T, more: { readonly [by: string]: Write } = {}): Uint8Array {
  const to = new ArchiveWriter({ ...WRITERS, ...more })
  to.object(layout, value)
  return to.finish()
}

/** Writers by the name of the form. */
const WRITERS = {
  struct: <T>(to: ArchiveWriter, value: T, places: readonly FieldPlace<T>[]) => {
    const stores = places.map(({ key, field }) => to.write(field, value[key]))
    return (at: number) => {
      for (const [index, { offset }] of places.entries()) stores[index]!(at + offset)
    }
  },
  union: (
    to: ArchiveWriter,
    value: Record<string, unknown>,
    name: string,
    key: string,
    labels: readonly unknown[],
    variants: readonly Archived<object>[],
  ) => {
    const label = value[key]
    const tag = labels.indexOf(label)
    if (tag < 0) throw new HyperslabError('InvalidArgumentError', `${name} '${label}'`, { actual: label, expected: labels })
    const body = variants[tag]!
    const store = to.write(body, value)
    return (at: number) => {
      to.view.setUint8(at, tag)
      store(at + body.align)
    }
  },
  option: <T>(to: ArchiveWriter, value: T | null, some: Archived<T>) => {
    if (value === null) return () => {}
    const store = to.write(some, value)
    return (at: number) => {
      to.view.setUint8(at, 1)
      store(at + some.align)
    }
  },
  mapped: <A, B>(to: ArchiveWriter, value: B, layout: Archived<A>, encode: (value: B) => A) => to.write(layout, encode(value)),
  scalar: <D extends NumericDType>(to: ArchiveWriter, value: ScalarOf<D>, dtype: D) => {
    const element = toElement(dtype, value)
    const set = `set${arrayName(dtype).replace('Array', '')}` as 'setInt16'
    return (at: number) => to.view[set](at, element as number, true)
  },
  float: (to: ArchiveWriter, { value, bits }: Partial<FloatWithBits<number | bigint>>, dtype: 'float32' | 'float64') => {
    const checked = checkedBits(dtype, value!, bits)
    return (at: number) =>
      typeof checked === 'bigint' ? to.view.setBigUint64(at, checked, true) : to.view.setUint32(at, checked, true)
  },
  safeUint64: (to: ArchiveWriter, value: number) => {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new HyperslabError('InvalidArgumentError', `${value} is not an integer from 0 to 2^53 - 1`, { actual: value })
    }
    return (at: number) => to.uint64(at, value)
  },
  bool: (to: ArchiveWriter, value: boolean) => {
    const element = toElement('bool', value) as number
    return (at: number) => to.view.setUint8(at, element)
  },
  vec: <T>(to: ArchiveWriter, values: readonly T[], item: Archived<T>) => {
    checkClass(values, 'Array')
    const stores = values.map((value) => to.write(item, value))
    to.align(item.align)
    const target = to.reserve(values.length * item.size)
    for (const [index, store] of stores.entries()) store(target + index * item.size)
    return (at: number) => to.vec(at, target, values.length)
  },
  numbers: <D extends NumericDType>(to: ArchiveWriter, values: DataOf<D>, dtype: D) => {
    checkClass(values, arrayName(dtype))
    to.align(elementBytes(dtype))
    const target = to.append(toBytes(values))
    return (at: number) => to.vec(at, target, values.length)
  },
  binary: (to: ArchiveWriter, bytes: Uint8Array) => {
    checkClass(bytes, 'Uint8Array')
    const target = to.append(bytes)
    return (at: number) => to.vec(at, target, bytes.byteLength)
  },
  box: <T>(to: ArchiveWriter, value: T, inner: () => Archived<T>) => {
    const target = to.nested(() => to.object(inner(), value))
    return (at: number) => to.point(at, target)
  },
  string: (to: ArchiveWriter, value: string) => {
    const utf8 = ENCODER.encode(checkText(value))
    const bytes = utf8.byteLength
    if (bytes <= INLINE_BYTES) {
      return (at: number) => {
        to.set(at, utf8)
        to.fill(at + bytes, at + INLINE_BYTES, END)
      }
    }
    const target = to.append(utf8)
    return (at: number) => {
      const rest = Math.floor(bytes / 64)
      to.view.setUint32(at, (bytes & 0x3f) | 0x80 | (rest << 8), true)
      to.view.setUint32(at + 4, Math.floor(rest / 2 ** 24), true)
      to.point(at + 8, target, at)
    }
  },
}

const arrayName = (dtype: NumericDType): string => className(allocate(dtype, 0))

/**
 * An append-only buffer. One is enough, because pointers always point backwards. Unwritten bytes are zero,
 * and so is padding.
 */
export class ArchiveWriter {
  view: DataView
  #bytes: Uint8Array
  #length = 0
  #depth = 0

  readonly #writers: { readonly [by: string]: Write }

  constructor(writers: { readonly [by: string]: Write }) {
    this.#writers = writers
    this.#bytes = new Uint8Array(1024)
    this.view = new DataView(this.#bytes.buffer)
  }

  /** Appends the objects that a value points to. Returns the function that stores its own object. */
  write<T>({ form: [by, ...of] }: Archived<T>, value: T): StoreObject {
    return this.#writers[by]!(this, value, ...of)
  }

  /** Appends the objects that a value points to, then its own object. Returns the position of the latter. */
  object<T>(layout: Archived<T>, value: T): number {
    const store = this.write(layout, value)
    this.align(layout.align)
    const at = this.reserve(layout.size)
    store(at)
    return at
  }

  /** Appends zeros up to a multiple of `align`. Returns the new end. */
  align(align: number): number {
    this.reserve(-this.#length & (align - 1))
    return this.#length
  }

  /** Appends `bytes` zeros to be overwritten. Returns their start. */
  reserve(bytes: number): number {
    const start = this.#length
    this.#length += bytes
    if (this.#length > this.#bytes.byteLength) this.#grow()
    return start
  }

  /** Appends a copy of `bytes`. Returns its start. */
  append(bytes: Uint8Array): number {
    const start = this.reserve(bytes.byteLength)
    this.#bytes.set(bytes, start)
    return start
  }

  /** Overwrites reserved bytes. */
  set(at: number, bytes: Uint8Array): void {
    this.#bytes.set(bytes, at)
  }

  /** Overwrites reserved bytes with one value. */
  fill(from: number, to: number, value: number): void {
    this.#bytes.fill(value, from, to)
  }

  /** Stores at `field` a pointer to `target`, counted from `base`. */
  point(field: number, target: number, base = field): void {
    this.uint64(field, target - base)
  }

  /** Stores at `at` the Vec of `count` elements that start at `target`. */
  vec(at: number, target: number, count: number): void {
    this.point(at, target)
    this.uint64(at + 8, count)
  }

  /** Stores an integer of magnitude below 2^53 as 64 bits, in two's complement. */
  uint64(at: number, value: number): void {
    this.view.setUint32(at, value, true)
    this.view.setUint32(at + 4, Math.floor(value / HIGH_WORD), true)
  }

  /** Runs `write` one level deeper. */
  nested<T>(write: () => T): T {
    if (this.#depth === MAX_DEPTH) {
      throw new HyperslabError('InvalidArgumentError', `values are nested more than ${MAX_DEPTH} deep`, { expected: MAX_DEPTH })
    }
    this.#depth++
    const result = write()
    this.#depth--
    return result
  }

  /** Returns a copy of the written bytes. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  #grow(): void {
    const grown = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.byteLength))
    grown.set(this.#bytes)
    this.#bytes = grown
    this.view = new DataView(grown.buffer)
  }
}
