// XXH64 with seed 0 in plain JavaScript, used only where WebAssembly cannot be compiled; its counterpart is
// assembly/zstd/xxh64.ts. Stripes are processed as 32-bit halves, because BigInt takes three times as long.

const P1 = 0x9e3779b185ebca87n
const P2 = 0xc2b2ae3d27d4eb4fn
const P3 = 0x165667b19e3779f9n
const P4 = 0x85ebca77c2b2ae63n
const P5 = 0x27d4eb2f165667c5n
const [P1_LOW, P1_HIGH, P2_LOW, P2_HIGH] = [0x85ebca87, 0x9e3779b1, 0x27d4eb4f, 0xc2b2ae3d] as const
const STRIPE = 32
const ROTATIONS = [1n, 7n, 12n, 18n]

/** Returns the low 4 bytes of XXH64: the checksum of a Zstandard frame with this content. */
export function contentChecksum(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = bytes.length - (bytes.length % STRIPE)
  let hash = wrap((at === 0 ? P5 : stripesHash(view, at)) + BigInt(bytes.length))
  for (; bytes.length - at >= 8; at += 8) hash = wrap(rotated(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * P1 + P4)
  if (bytes.length - at >= 4) {
    hash = wrap(rotated(hash ^ wrap(BigInt(view.getUint32(at, true)) * P1), 23n) * P2 + P3)
    at += 4
  }
  for (; at < bytes.length; at++) hash = wrap(rotated(hash ^ wrap(BigInt(bytes[at]!) * P5), 11n) * P1)
  hash = wrap((hash ^ (hash >> 33n)) * P2)
  hash = wrap((hash ^ (hash >> 29n)) * P3)
  return Number(BigInt.asUintN(32, hash ^ (hash >> 32n)))
}

/** Returns the hash of the first `bytes` bytes, whole stripes. */
function stripesHash(view: DataView, bytes: number): bigint {
  const start = [wrap(P1 + P2), P2, 0n, wrap(-P1)]
  // Low and high half of each lane.
  const lanes = Int32Array.from(start.flatMap((lane) => [Number(lane & 0xffffffffn), Number(lane >> 32n)]))
  for (let at = 0; at < bytes; at += STRIPE)
    for (let i = 0; i < 8; i += 2) {
      const product = lowProduct(view.getInt32(at + 4 * i, true), view.getInt32(at + 4 * i + 4, true), P2_LOW, P2_HIGH)
      const low = (lanes[i]! + product) | 0
      const high = (lanes[i + 1]! + highProduct + Number(low >>> 0 < product >>> 0)) | 0
      // Rotated to the left by 31.
      lanes[i] = lowProduct((low << 31) | (high >>> 1), (high << 31) | (low >>> 1), P1_LOW, P1_HIGH)
      lanes[i + 1] = highProduct
    }
  const ends = start.map((_, i) => wrap((BigInt(lanes[2 * i + 1]!) << 32n) | BigInt(lanes[2 * i]! >>> 0)))
  const hash = wrap(ends.reduce((sum, lane, i) => sum + rotated(lane, ROTATIONS[i]!), 0n))
  return ends.reduce((sum, lane) => wrap((sum ^ round(0n, lane)) * P1 + P4), hash)
}

/** High half of the last product. */
let highProduct = 0

/** Multiplies modulo 2^64; returns the low half and stores the high one in `highProduct`. */
function lowProduct(aLow: number, aHigh: number, bLow: number, bHigh: number): number {
  const [a0, a1, b0, b1] = [aLow & 0xffff, aLow >>> 16, bLow & 0xffff, bLow >>> 16]
  const inner = Math.imul(a0, b1) >>> 0
  const outer = Math.imul(a1, b0) >>> 0
  const carry = (Math.imul(a0, b0) >>> 16) + (inner & 0xffff) + (outer & 0xffff)
  highProduct =
    (Math.imul(a1, b1) + (inner >>> 16) + (outer >>> 16) + (carry >>> 16) + Math.imul(aHigh, bLow) + Math.imul(aLow, bHigh)) | 0
  return Math.imul(aLow, bLow)
}

const wrap = (value: bigint): bigint => BigInt.asUintN(64, value)
const rotated = (value: bigint, bits: bigint): bigint => wrap((value << bits) | (value >> (64n - bits)))
const round = (lane: bigint, input: bigint): bigint => wrap(rotated(wrap(lane + input * P2), 31n) * P1)
