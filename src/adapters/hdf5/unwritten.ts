import { type DType, isFixed, readElement, type ScalarOf } from '../../core/dtype.ts'
import { sizeOf } from '../../core/shape.ts'
import { decodeChunk } from '../../engine/chunk-values.ts'
import { refuse } from './cursor.ts'
import type { ElementPlan } from './elements/plan.ts'
import { decodeElements, type ValueSource } from './elements/steps.ts'
import type { Fill } from './messages/fill.ts'

/** Values of unwritten elements. */
export interface UnwrittenElements {
  /** Value of all of them; undefined if it is not set, or if values differ. */
  readonly fillValue: ScalarOf<DType> | undefined
  /** Values of one element, as the payload of a chunk, if one value does not fill it. */
  readonly record: Uint8Array | undefined
  /** Returns the payload of unwritten elements of so many bytes. */
  repeat(bytes: number): Uint8Array
}

const NOTHING: UnwrittenElements = { fillValue: undefined, record: undefined, repeat: (bytes) => new Uint8Array(bytes) }

/** Decodes the fill value of an array, or of a field of its elements. */
export async function unwrittenElements(plan: ElementPlan, { bytes }: Fill, source: ValueSource): Promise<UnwrittenElements> {
  if (bytes === undefined) return NOTHING
  const { dtype, innerShape } = plan
  const record = await decodeElements(plan, bytes, source)
  const count = sizeOf(innerShape)
  const data = decodeChunk(dtype, record, count)
  const values = Array.from({ length: count }, (_, i) => readElement(dtype, data, i))
  if (values.every((value) => Object.is(value, values[0]))) return { ...NOTHING, fillValue: values[0] }
  if (!isFixed(dtype)) return refuse('fill values that differ within an element of texts are not read here')
  return {
    fillValue: undefined,
    record,
    repeat: (length) => Uint8Array.from({ length }, (_, i) => record[i % record.length]!),
  }
}
