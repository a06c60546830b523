import { elementIn, parseSign } from '../../array/lazy/signs.ts'
import { type Missing, NOTHING } from '../../array/missing.ts'
import { decodeBase64 } from '../../core/base64.ts'
import { DEFAULT_FILL } from '../../core/default-fill.ts'
import type { DType, NumericDType, ScalarOf } from '../../core/dtype.ts'
import { isHyperslabError } from '../../core/errors.ts'
import { member } from '../../core/member.ts'
import type { JsonObject } from './document.ts'
import { parseFillValue, roundTo } from './fill-values.ts'
import type { StoredType } from './metadata.ts'
import { NOT_A_TIME } from './time-units.ts'

type Scalar = ScalarOf<DType>

/** Metadata that determine the missing elements of an array. */
export interface MissingFacts {
  readonly version: 2 | 3
  readonly type: StoredType
  readonly fillValue: Scalar | undefined
  readonly attrs: JsonObject
  /** Whether the axes have names in the conventions of xarray or NCZarr. */
  readonly isNamed: boolean
}

/**
 * Returns the missing elements by the rules of xarray. In version 2, the fill value is missing if the axes of
 * the array have names. In version 3, the attribute `_FillValue` names the missing value, because chunks
 * always need a fill value. Values of `missing_value` are missing, too. If axes have no names, as in images,
 * nothing is missing. Of times, only NaT is missing, in every array.
 *
 * In version 3 without `_FillValue`, the default fill value of netCDF is missing, too: copies of NetCDF files
 * name it in no attribute, like the files themselves.
 */
export function parseMissing({ version, type, fillValue, attrs, isNamed }: MissingFacts): Missing {
  if (type.kind === 'datetime' || type.kind === 'timedelta') return { values: [NOT_A_TIME], nan: false }
  if (version === 2 && !isNamed) return NOTHING
  const ofFill =
    version === 2 && fillValue !== undefined ? [fillValue] : elementsNamed('_FillValue', attrs, type).filter(isElement)
  const implied =
    version === 3 && member(attrs, '_FillValue') === undefined && isImplied(type, fillValue, isNamed) ? fillValue : undefined
  const named = [...ofFill, ...elementsNamed('missing_value', attrs, type).filter(isElement)]
  if (implied !== undefined) return { ...withoutNaN([...named, implied]), implied }
  return named.length === 0 ? NOTHING : withoutNaN(named)
}

/**
 * Whether readers of Zarr treat the fill value as missing although no attribute names it. It must be the
 * value that the netCDF library stores in unwritten elements, of a type of the classic formats. Other types,
 * bytes, and arrays without names of axes have no such value: copies to Zarr name theirs in `_FillValue`.
 */
export const isImplied = ({ kind, dtype }: Pick<StoredType, 'kind' | 'dtype'>, value: unknown, isNamed: boolean): boolean =>
  isNamed &&
  (kind === 'int' || kind === 'float') &&
  dtype !== 'int8' &&
  value !== undefined &&
  value === (DEFAULT_FILL as Partial<Record<DType, number>>)[dtype]

function withoutNaN(values: readonly Scalar[]): Missing {
  const others = values.filter((value) => !Number.isNaN(value))
  return { values: [...new Set(others)], nan: others.length < values.length }
}

const isElement = (value: Scalar | undefined): value is Scalar => value !== undefined

/**
 * Returns the elements that an attribute names as missing: one for each of its values, or undefined for a
 * value that no element equals. These are text among numbers, a NaN of integers, and integers beyond those of
 * the type. If `_Unsigned` gives the values the other sign, a value of this sign names the element with the
 * same bits.
 */
export function elementsNamed(name: '_FillValue' | 'missing_value', attrs: JsonObject, type: StoredType): (Scalar | undefined)[] {
  const given = member(attrs, name)
  const list: readonly unknown[] = given === undefined ? [] : Array.isArray(given) ? given : [given]
  const isInteger = type.kind === 'int' || type.kind === 'uint'
  const hasOtherSign = isInteger && typeof parseSign(type.dtype, member(attrs, '_Unsigned')) === 'string'
  return list.map((value) => {
    if (name === '_FillValue' && (type.kind === 'float' || type.kind === 'bfloat16')) {
      const float = parseDouble(value)
      if (float !== undefined) return roundTo(type, float)
    }
    if (!isComparable(name, value, type)) return undefined
    if (hasOtherSign) return elementIn(type.dtype as NumericDType, value as number | bigint, true)
    try {
      return parseFillValue(value, type)
    } catch (error) {
      if (isHyperslabError(error, 'FormatError', 'UnsupportedError')) return undefined
      throw error
    }
  })
}

/**
 * Whether a value can equal an element. For bytes, only `_FillValue` in base64 counts. Numbers are compared
 * with numbers, and text with text.
 */
function isComparable(name: string, value: unknown, { kind, dtype }: StoredType): boolean {
  if (dtype === 'binary') return name === '_FillValue' && typeof value === 'string'
  if (dtype === 'string') return typeof value === 'string'
  if (kind === 'bool') return typeof value === 'boolean'
  if (typeof value === 'string') return value === 'NaN' && (kind === 'float' || kind === 'bfloat16')
  return typeof value === 'number' || typeof value === 'bigint'
}

/** Parses the float64 that xarray writes for a float: its eight bytes, little-endian, in base64. */
function parseDouble(value: unknown): number | undefined {
  const bytes = typeof value === 'string' ? decodeBase64(value) : undefined
  return bytes?.length === 8 ? new DataView(bytes.buffer).getFloat64(0, true) : undefined
}
