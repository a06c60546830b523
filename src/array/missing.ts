import { type DataOf, type DType, isFloat, readElement, type ScalarOf, toElement } from '../core/dtype.ts'
import { invalidArgument } from '../core/errors.ts'

/** An element as it is stored. */
export type Element = number | bigint | string | Uint8Array

/**
 * What is missing, as elements are stored: different values, none of them NaN. The first is what others
 * become.
 */
export interface MissingElements {
  readonly values: readonly Element[]
  readonly nan: boolean
}

/**
 * The values of elements that say that there is none: reductions pass over these unless told to keep them.
 */
export interface Missing<D extends DType = DType> {
  /** Elements equal to one of these; -0 is 0. Where one of them is to be put, it is the first. */
  readonly values: readonly ScalarOf<D>[]
  /** True when NaN is missing. Where it is not, it is a number that nobody knows: sums it is in are NaN. */
  readonly nan: boolean
  /**
   * One of `values` that is missing only by a convention of the format. No attribute names it, and writers do
   * not name it, either.
   */
  readonly implied?: ScalarOf<D> | undefined
}

/** What a source says of its missing elements. */
export interface MissingOf<D extends DType = DType> {
  readonly dtype: D
  readonly fillValue?: ScalarOf<D> | undefined
  readonly missing?: Missing<D> | undefined
}

/** Nothing is missing. */
export const NOTHING: Missing<never> = { values: [], nan: false }

/** What is missing among floats that were computed. */
export const NOT_A_NUMBER: Missing<never> = { values: [], nan: true }

/**
 * The elements of a source that are missing: those that it names, or, where it names none, those equal to its
 * fill value.
 * @throws InvalidArgumentError for values that are none of the type
 */
export function missingElements({ dtype, fillValue, missing }: MissingOf): MissingElements {
  if (missing !== undefined && !Array.isArray(missing.values))
    invalidArgument('`missing` takes { values: [], nan: boolean }', missing)
  const given = missing?.values ?? (fillValue === undefined ? [] : [fillValue])
  const elements = new Set(given.map((value) => toElement(dtype, value)))
  const nan = elements.delete(Number.NaN) || missing?.nan === true
  return { values: [...elements], nan: nan && isFloat(dtype) }
}

/** The same as values that users have. */
export function missingOf<D extends DType>(source: MissingOf<D>): Missing<D> {
  const { values, nan } = missingElements(source)
  return { values: values.map((element) => readElement(source.dtype, [element] as unknown as DataOf<D>, 0)), nan }
}

export const isAnyMissing = ({ values, nan }: MissingElements): boolean => nan || values.length > 0

/** What stands for a missing element where one is to be put; undefined where nothing is missing. */
export const missingElement = ({ values, nan }: MissingElements): Element | undefined =>
  values[0] ?? (nan ? Number.NaN : undefined)
