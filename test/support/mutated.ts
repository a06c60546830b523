const INTERESTING = [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff]

/**
 * A few changes of some bytes: bits, bytes, numbers of 16 and 32 bits, runs that are copied, left out or put
 * in; or nothing but noise.
 * @param next gives numbers in [0, 1)
 */
export function mutated(bytes: Uint8Array, next: () => number): Uint8Array {
  const below = (end: number): number => Math.floor(next() * end)
  if (next() < 0.05) return Uint8Array.from({ length: below(400) }, () => below(256))
  let out = bytes.slice()
  for (let left = 1 + below(next() < 0.5 ? 1 : 6); left > 0 && out.length > 0; left--) {
    const at = below(out.length)
    const length = Math.min(1 + below(next() < 0.5 ? 4 : 40), out.length - at)
    const kind = below(8)
    if (kind < 2) out[at]! ^= 1 << below(8)
    else if (kind === 2) out[at] = below(256)
    else if (kind === 3 && at + 4 <= out.length)
      new DataView(out.buffer).setUint32(at, INTERESTING[below(INTERESTING.length)]!, next() < 0.7)
    else if (kind === 4 && at + 2 <= out.length) new DataView(out.buffer).setUint16(at, INTERESTING[below(9)]!, next() < 0.7)
    else if (kind === 5) out.copyWithin(below(out.length), at, at + length)
    else if (kind === 6) out = next() < 0.3 ? out.slice(0, at) : joined(out.subarray(0, at), out.subarray(at + length))
    else out = joined(out.subarray(0, at), out.subarray(at - Math.min(at, length), at), out.subarray(at))
  }
  return out
}

const joined = (...parts: Uint8Array[]): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.concat(parts))
