import { allocate, type DataOf, type DType, type FixedDType, isFixed, type VariableDType } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { decodeFixed } from './fixed-values.ts'

/*
 * The payload of a chunk contains its elements in C order. Fixed-width types are little-endian, one after
 * another. Strings and binaries:
 *
 *   u32 offset[N + 1]   relative to the first value, offset[0] = 0, never decreasing
 *   bytes               the values, one after another
 */

export const OFFSET_BYTES = 4

/**
 * Decodes the `count` elements of a chunk.
 * @throws FormatError if the bytes do not contain exactly that many elements
 */
export function decodeChunk<D extends DType>(dtype: D, bytes: Uint8Array, count: number): DataOf<D> {
  if (!isFixed(dtype)) return decodeVariable(dtype as VariableDType, bytes, count) as DataOf<D>
  return decodeFixed(dtype as FixedDType, bytes, count) as DataOf<D>
}

function decodeVariable(dtype: VariableDType, bytes: Uint8Array, count: number): string[] | Uint8Array[] {
  const head = OFFSET_BYTES * (count + 1)
  const damaged = (why: string): never => {
    throw new HyperslabError('FormatError', `a chunk of ${count} ${dtype} values in ${bytes.length} bytes is damaged: ${why}`, {
      actual: bytes.length,
    })
  }
  if (bytes.length < head) damaged(`its offsets alone take ${head} bytes`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const offsetAt = (i: number): number => view.getUint32(OFFSET_BYTES * i, true)
  if (offsetAt(0) !== 0) damaged(`its first offset is ${offsetAt(0)}`)
  if (head + offsetAt(count) !== bytes.length) damaged(`its values end at byte ${head + offsetAt(count)}`)
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const values = allocate(dtype, count)
  for (let i = 0; i < count; i++) {
    if (offsetAt(i + 1) < offsetAt(i) || head + offsetAt(i + 1) > bytes.length)
      damaged(`offset ${i + 1} is ${offsetAt(i + 1)} after ${offsetAt(i)}`)
    const value = bytes.slice(head + offsetAt(i), head + offsetAt(i + 1))
    try {
      values[i] = dtype === 'binary' ? value : utf8.decode(value)
    } catch {
      damaged(`value ${i} is not UTF-8`)
    }
  }
  return values
}
