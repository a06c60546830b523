import type { FixedDType } from '../../core/dtype.ts'

/** External types of the classic format, by the names in netcdfjs. `char` is text and has no numeric type. */
export const NUMERIC_TYPES = {
  byte: 'int8',
  short: 'int16',
  int: 'int32',
  float: 'float32',
  double: 'float64',
} as const satisfies Record<string, FixedDType>

export type NumericType = keyof typeof NUMERIC_TYPES
export type ClassicType = NumericType | 'char'
export type ClassicDType = (typeof NUMERIC_TYPES)[NumericType]

/** Bytes of one value. */
export const TYPE_BYTES: Record<ClassicType, 1 | 2 | 4 | 8> = { byte: 1, char: 1, short: 2, int: 4, float: 4, double: 8 }

export const isClassicType = (type: string): type is ClassicType => type in TYPE_BYTES
