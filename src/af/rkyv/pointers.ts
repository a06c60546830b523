import { type DataOf, elementBytes, fromBytes, type NumericDType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Archived } from './layout.ts'
import type { Reader } from './reader.ts'

/*
 * A Vec. The elements are contiguous and aligned. An empty one points to a legal place too: where its
 * elements would have been.
 *
 *     +0 i64 offset of the elements, from +0 | +8 u64 number of elements
 */
export const VEC_BYTES = 16

export const vecTarget = (from: Reader, at: number): number => from.target(at)
export const vecCount = (from: Reader, at: number): number => from.count(at + 8)

/** JavaScript engines store longer arrays, if allocated at once, as hash tables. */
const MOST_AT_ONCE = 2 ** 25

/**
 * Allocates a list, to be filled in order. A growing list would be copied repeatedly and end up to half as
 * long again.
 */
export const listLayout = <T>(count: number): T[] => (count < MOST_AT_ONCE ? new Array(count) : [])

/** A Vec of anything. */
export function vec<T>(item: Archived<T>): Archived<T[]> {
  return {
    size: VEC_BYTES,
    align: 8,
    read(from, at) {
      const target = vecTarget(from, at)
      const count = vecCount(from, at)
      return from.subtree(at, target, count * item.size, item.align, () => {
        const values = listLayout<T>(count)
        for (let index = 0; index < count; index++) values[index] = item.read(from, target + index * item.size)
        return values
      })
    },
    form: ['vec', item],
  }
}

/** Name of a typed array's class; the same in every realm and for subclasses such as Buffer. */
export const className = (values: unknown): string => Object.prototype.toString.call(values).slice(8, -1)

/** @throws InvalidArgumentError for values of another class */
export function checkClass(values: unknown, expected: string): void {
  const actual = className(values)
  if (actual !== expected) {
    throw new HyperslabError(
      'InvalidArgumentError',
      `values must be in ${expected === 'Array' ? 'an' : 'a'} ${expected}, got ${actual}`,
      { actual, expected },
    )
  }
}

/** A Vec of numbers as a typed array. Copied as bytes, so floats keep their bit patterns. */
export function numbers<D extends NumericDType>(dtype: D): Archived<DataOf<D>> {
  const size = elementBytes(dtype)
  return {
    size: VEC_BYTES,
    align: 8,
    read(from, at) {
      const target = vecTarget(from, at)
      const bytes = vecCount(from, at) * size
      from.claim(at, target, bytes, size)
      return fromBytes(dtype, from.bytes(target, target + bytes).slice())
    },
    form: ['numbers', dtype],
  }
}

/** A Vec of bytes, copied. */
export const binary: Archived<Uint8Array> = {
  size: VEC_BYTES,
  align: 8,
  read(from, at) {
    const target = vecTarget(from, at)
    const count = vecCount(from, at)
    from.claim(at, target, count, 1)
    return from.bytes(target, target + count).slice()
  },
  form: ['binary'],
}

/**
 * A Box: the only way in which a type can contain itself. Hence `inner` is a function, and the depth is
 * limited.
 *
 *     +0 i64 offset of the value, from +0
 */
export function box<T>(inner: () => Archived<T>): Archived<T> {
  return {
    size: 8,
    align: 8,
    read(from, at) {
      const { size, align } = inner()
      const target = from.target(at)
      return from.nested(at, () => from.subtree(at, target, size, align, () => inner().read(from, target)))
    },
    form: ['box', inner],
  }
}
