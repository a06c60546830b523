import { type Archived, option, struct, union } from '../rkyv/layout.ts'
import { float64WithBits, int64, uint64 } from '../rkyv/leaves.ts'
import { binary } from '../rkyv/pointers.ts'
import { string } from '../rkyv/string.ts'
import type { StatValue } from './footer-values.ts'

/**
 * Statistics of one array. The counts are as stored, and wrong in some files: see the rule of the format for
 * trusting statistics.
 */
export interface ArrayStats {
  name: string
  /** `null` if all elements equal the fill value. */
  min: StatValue | null
  max: StatValue | null
  nullCount: bigint
  rowCount: bigint
}

/** 24 bytes; all fields at +8. */
export const statValueLayout: Archived<StatValue> = union('statistic', 'kind', {
  int: struct({ value: int64 }),
  uint: struct({ value: uint64 }),
  float: float64WithBits,
  bytes: struct({ value: binary }),
  timestamp_ns: struct({ value: int64 }),
}) as Archived<StatValue>

/** 96 bytes: +0 name | +16 minimum | +48 maximum | +80 nulls | +88 rows */
export const statsLayout: Archived<ArrayStats> = struct({
  name: string,
  min: option(statValueLayout),
  max: option(statValueLayout),
  nullCount: uint64,
  rowCount: uint64,
})
