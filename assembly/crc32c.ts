/**
 * CRC-32C (Castagnoli), as used by iSCSI (RFC 3720), Zarr and ext4.
 *
 * Contract: `crc32c(src, bytes, crc)` continues the checksum `crc` (0 for no bytes) with `bytes` bytes at
 * `src`. Any length and alignment; up to 15 bytes behind the input are read, none written. Not reentrant,
 * because it has static memory.
 *
 *     | TABLES: 8 x 256 u32 | SCRATCH: the last HISTORY folded bytes | a segment being folded |
 *
 * Why it is fast: x^5321 + x^3574 + x^2491 + 1 is a multiple of the polynomial. Squaring it three times
 * yields another multiple, with exponents 8 times as large. So a byte of the message can be moved: once it is
 * added (xor) to the bytes 1747, 2830 and 5321 bytes after it, it can be dropped. All but the last HISTORY
 * bytes are folded into these, 16 at a time, by three xors without table or multiplication. The distances are
 * long enough for stored bytes to have reached the cache. (S. Russell, "Chorba", 2024, does this for the
 * polynomial of zip.) The rest, and short input, is processed by tables, 8 bytes at a time.
 */
const POLYNOMIAL: u32 = 0x82f63b78
/** Largest distance, rounded up to whole vectors. */
const HISTORY: usize = 5328
const SEGMENT: usize = 24 * 1024 + 208
/** Length below which folding does not pay off. */
const LEAST_FOLDED: usize = 2 * HISTORY

const TABLES: usize = memory.data(8192, 16)
/** Scratch of HISTORY and SEGMENT bytes. */
const SCRATCH: usize = memory.data(30112, 16)
let ready = false

export function crc32c(src: usize, bytes: usize, crc: u32): u32 {
  if (!ready) makeTables()
  if (bytes < LEAST_FOLDED) return ~update(src, bytes, ~crc)
  const whole = (bytes - HISTORY) & ~15
  fold(src, whole, ~crc)
  return ~update(foldTail(src + whole, bytes - whole), bytes - whole, 0)
}

/** Fills the tables: table k contains the contribution of a byte after k + 1 bytes. */
function makeTables(): void {
  for (let i: u32 = 0; i < 256; i++) {
    let crc = i
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (POLYNOMIAL & (0 - (crc & 1)))
    store<u32>(TABLES + (i << 2), crc)
  }
  for (let i: u32 = 256; i < 8 * 256; i++) {
    const before = load<u32>(TABLES + ((i - 256) << 2))
    store<u32>(TABLES + (i << 2), (before >>> 8) ^ load<u32>(TABLES + ((before & 0xff) << 2)))
  }
  ready = true
}

// @ts-ignore: decorator
@inline
function passed(table: usize, byte: u32): u32 {
  return load<u32>(TABLES + (table << 10) + ((byte & 0xff) << 2))
}

function update(src: usize, bytes: usize, crc: u32): u32 {
  const end = src + bytes
  for (; src + 8 <= end; src += 8) {
    const low = load<u32>(src) ^ crc
    const high = load<u32>(src, 4)
    crc =
      passed(7, low) ^ passed(6, low >>> 8) ^ passed(5, low >>> 16) ^ passed(4, low >>> 24) ^
      passed(3, high) ^ passed(2, high >>> 8) ^ passed(1, high >>> 16) ^ passed(0, high >>> 24)
  }
  for (; src < end; src++) crc = (crc >>> 8) ^ passed(0, crc ^ load<u8>(src))
  return crc
}

/**
 * Returns 16 bytes of input combined with the bytes that were moved to them; `at` is HISTORY bytes before
 * their position in the scratch.
 */
// @ts-ignore: decorator
@inline
function gathered(src: usize, at: usize): v128 {
  return v128.xor(
    v128.xor(v128.load(src), v128.load(at, HISTORY - 5321)),
    v128.xor(v128.load(at, HISTORY - 2830), v128.load(at, HISTORY - 1747)),
  )
}

/** Leaves the last HISTORY folded bytes in the scratch. `bytes` is a multiple of 16. */
function fold(src: usize, bytes: usize, crc: u32): void {
  memory.fill(SCRATCH, 0, HISTORY)
  let first = i32x4.replace_lane(i32x4.splat(0), 0, crc)
  while (bytes > 0) {
    const length = min(bytes, SEGMENT)
    const end = SCRATCH + length
    for (let at = SCRATCH; at < end; at += 16, src += 16) {
      // The checksum so far is added to the first bytes of the input.
      v128.store(at, v128.xor(gathered(src, at), first), HISTORY)
      first = i32x4.splat(0)
    }
    memory.copy(SCRATCH, SCRATCH + length, HISTORY)
    bytes -= length
  }
}

/**
 * Combines the last bytes, less than HISTORY + 16, with the bytes that were moved to them; these are not
 * moved further.
 */
function foldTail(src: usize, bytes: usize): usize {
  const out = SCRATCH + 2 * HISTORY + 32
  memory.fill(SCRATCH + HISTORY, 0, HISTORY + 16)
  for (let i: usize = 0; i < bytes; i += 16) v128.store(out + i, gathered(src + i, SCRATCH + i))
  return out
}
