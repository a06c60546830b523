/**
 * Decoding of PackBits.
 *
 * Contract: writes at most `dstBytes` bytes at `dst`, and returns their number. A run that the input ends in
 * has the bytes that are there.
 *
 *     n from 0 to 127: n + 1 bytes follow | n from 129 to 255: one byte follows, 257 - n times | 128: nothing
 */
export function packBitsDecode(src: usize, srcBytes: usize, dst: usize, dstBytes: usize): i32 {
  const start = dst
  const end = src + srcBytes
  const stop = dst + dstBytes
  while (src < end && dst < stop) {
    const head: usize = load<u8>(src++)
    if (head < 128) {
      const bytes = min<usize>(head + 1, min<usize>(end - src, stop - dst))
      memory.copy(dst, src, bytes)
      src += bytes
      dst += bytes
    } else if (head > 128 && src < end) {
      const bytes = min<usize>(257 - head, stop - dst)
      memory.fill(dst, load<u8>(src++), bytes)
      dst += bytes
    }
  }
  return <i32>(dst - start)
}
