import type { DType } from '../../core/dtype.ts'
import { type Archived, nothing, struct, union } from '../rkyv/layout.ts'
import { uint32 } from '../rkyv/leaves.ts'
import { box } from '../rkyv/pointers.ts'

/**
 * The element type of an array. Lists exist in the metadata only: the format says nothing certain about their
 * data.
 */
export type AfDType =
  | { kind: DType }
  | { kind: 'list'; child: AfDType }
  | { kind: 'fixed_size_list'; child: AfDType; size: number }

const child = box((): Archived<AfDType> => dtypeLayout)

/** 24 bytes. `timestamp_ns` came last because it was added last. */
export const dtypeLayout: Archived<AfDType> = union('dtype', 'kind', {
  bool: nothing,
  int8: nothing,
  int16: nothing,
  int32: nothing,
  int64: nothing,
  uint8: nothing,
  uint16: nothing,
  uint32: nothing,
  uint64: nothing,
  float32: nothing,
  float64: nothing,
  string: nothing,
  binary: nothing,
  /** +8 box of the child, +16 u32 size */
  fixed_size_list: struct({ child, size: uint32 }),
  /** +8 box of the child */
  list: struct({ child }),
  timestamp_ns: nothing,
}) as Archived<AfDType>
