import type { NumericDType } from '../../core/dtype.ts'

/** Types in the order of their codes in the file, which start at 1. Only CDF-5 has the last five. */
const TYPES = [
  'int8',
  'char',
  'int16',
  'int32',
  'float32',
  'float64',
  'uint8',
  'uint16',
  'uint32',
  'int64',
  'uint64',
] as const satisfies readonly (NumericDType | 'char')[]

/** Number of types that CDF-1 and CDF-2 have. */
const CLASSIC_COUNT = 6

/** Type of elements in a file. `char` is text and has no numeric type. */
export type ClassicType = (typeof TYPES)[number]
export type ClassicDType = Exclude<ClassicType, 'char'>

/** Returns the code of a type. */
export const codeOfType = (type: ClassicType): number => TYPES.indexOf(type) + 1

/** Whether all versions of the format have a type. */
export const isInAllVersions = (type: ClassicType): boolean => TYPES.indexOf(type) < CLASSIC_COUNT

/** Returns the type of a code; undefined if this version of the format has no such type. */
export const typeOfCode = (code: number, version: number): ClassicType | undefined =>
  code > CLASSIC_COUNT && version !== 5 ? undefined : TYPES[code - 1]

/** Size of one value in bytes. */
export const TYPE_BYTES: Record<ClassicType, 1 | 2 | 4 | 8> = {
  int8: 1,
  char: 1,
  int16: 2,
  int32: 4,
  float32: 4,
  float64: 8,
  uint8: 1,
  uint16: 2,
  uint32: 4,
  int64: 8,
  uint64: 8,
}
