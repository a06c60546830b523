import { type Archived, struct, union } from '../rkyv/layout.ts'
import { bitsOfFloat64, bool, float64WithBits, int64, uint64 } from '../rkyv/leaves.ts'
import { binary } from '../rkyv/pointers.ts'
import { string } from '../rkyv/string.ts'

/** A float; `bits` is what the file has, and tells NaNs apart. */
type FloatValue = { kind: 'float'; value: number; bits: bigint }
type IntegerValue = { kind: 'int' | 'uint' | 'timestamp_ns'; value: bigint }

/** What elements nobody wrote read as. Of a wider kind than the array's type: readers convert. */
export type FillValue = { kind: 'bool'; value: boolean } | IntegerValue | FloatValue | { kind: 'string'; value: string }

/** A minimum or maximum. */
export type StatValue = IntegerValue | FloatValue | { kind: 'bytes'; value: Uint8Array }

/** The `float` value of a number, for fill values and statistics. */
export const floatFill = (value: number): FloatValue => ({ kind: 'float', value, bits: bitsOfFloat64(value) })

/** 24 bytes; the boolean at +1, everything else at +8. */
export const fillValueLayout: Archived<FillValue> = union('fill value', 'kind', {
  bool: struct({ value: bool }),
  int: struct({ value: int64 }),
  uint: struct({ value: uint64 }),
  float: float64WithBits,
  string: struct({ value: string }),
  timestamp_ns: struct({ value: int64 }),
}) as Archived<FillValue>

/** 24 bytes; everything at +8. */
export const statValueLayout: Archived<StatValue> = union('statistic', 'kind', {
  int: struct({ value: int64 }),
  uint: struct({ value: uint64 }),
  float: float64WithBits,
  bytes: struct({ value: binary }),
  timestamp_ns: struct({ value: int64 }),
}) as Archived<StatValue>
