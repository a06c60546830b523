import { OFFSET_BYTES } from '../../../engine/chunk-values.ts'

/**
 * Texts or bytes as `vlen-utf8` and `vlen-bytes` store them: their number, and each behind its length.
 * @param payload as the engine has them: where each begins and ends, then all in a row
 */
export function encodeLengthPrefixed(payload: Uint8Array, count: number): Uint8Array {
  const from = new DataView(payload.buffer, payload.byteOffset, payload.byteLength)
  const head = OFFSET_BYTES * (count + 1)
  const out = new Uint8Array(payload.length)
  const to = new DataView(out.buffer)
  to.setUint32(0, count, true)
  let at = 4
  for (let i = 0; i < count; i++) {
    const [start, stop] = [from.getUint32(OFFSET_BYTES * i, true), from.getUint32(OFFSET_BYTES * (i + 1), true)]
    to.setUint32(at, stop - start, true)
    out.set(payload.subarray(head + start, head + stop), at + 4)
    at += 4 + stop - start
  }
  return out
}
