import { type DataOf, type DType, isFloat, readElement, type ScalarOf, toElement } from '../core/dtype.ts'
import { invalidArgument } from '../core/errors.ts'

/** An element as it is stored. */
export type Element = number | bigint | string | Uint8Array

/** Missing values as stored: distinct, none of them NaN. Missing elements that are written get the first. */
export interface MissingElements {
  readonly values: readonly Element[]
  readonly nan: boolean
}

/** Option that reductions and searches share, on arrays and on labelled data. */
export interface SkipMissingOptions {
  /**
   * Whether to skip missing elements: those equal to a missing value of the array, and NaN if the array says
   * that NaN is missing, as all floats of labelled data do. Default: true. If false, arrays include elements
   * as they are stored. In labelled data, a missing value then makes its result missing.
   */
  readonly skipMissing?: boolean
}

/** Values that mark missing elements. Reductions skip these by default. */
export interface Missing<D extends DType = DType> {
  /**
   * Elements equal to one of these are missing; -0 equals 0. Missing elements that are written get the first.
   */
  readonly values: readonly ScalarOf<D>[]
  /** Whether NaN is missing. Otherwise, NaN is an unknown value: sums that include it are NaN. */
  readonly nan: boolean
  /**
   * One of `values` that is missing only by a convention of the format. Attributes do not name it, and
   * writers must not name it, either.
   */
  readonly implied?: ScalarOf<D> | undefined
}

/** The facts of a source that determine its missing elements. */
export interface MissingOf<D extends DType = DType> {
  readonly dtype: D
  readonly fillValue?: ScalarOf<D> | undefined
  readonly missing?: Missing<D> | undefined
}

/** Definition by which no element is missing. */
export const NOTHING: Missing<never> = { values: [], nan: false }

/** Definition for computed floats: NaN is missing. */
export const NOT_A_NUMBER: Missing<never> = { values: [], nan: true }

/**
 * Returns the missing values of a source: those it defines, or by default its fill value.
 * @throws InvalidArgumentError for values that are not of the type
 */
export function missingElements({ dtype, fillValue, missing }: MissingOf): MissingElements {
  if (missing !== undefined && !Array.isArray(missing?.values))
    invalidArgument('`missing` takes { values: [], nan: boolean }', missing)
  const given = missing?.values ?? (fillValue === undefined ? [] : [fillValue])
  // A Set would make 0 of -0.
  const elements = new Map<Element, Element>()
  for (const value of given) {
    const element = toElement(dtype, value)
    if (!elements.has(element)) elements.set(element, element)
  }
  const nan = elements.delete(Number.NaN) || missing?.nan === true
  return { values: [...elements.values()], nan: nan && isFloat(dtype) }
}

/** Returns the missing values of a source as users see them. */
export function missingOf<D extends DType>(source: MissingOf<D>): Missing<D> {
  const { values, nan } = missingElements(source)
  return { values: values.map((element) => readElement(source.dtype, [element] as unknown as DataOf<D>, 0)), nan }
}

export const isAnyMissing = ({ values, nan }: MissingElements): boolean => nan || values.length > 0

/** Returns the value that is written for a missing element; undefined if nothing is missing. */
export const missingElement = ({ values, nan }: MissingElements): Element | undefined =>
  values[0] ?? (nan ? Number.NaN : undefined)
