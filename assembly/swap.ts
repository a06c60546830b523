/**
 * Byte order.
 *
 * Contract: in each 16 of `bytes` bytes at `at`, and of up to 15 more to fill whole vectors, `swap` moves the
 * byte at `places[i]` to index `i`. `places` has 16 bytes; `bytes` is above 0.
 *
 * Why it is fast: one loop for elements of all sizes moves the bytes of whole vectors.
 */
export function swap(at: usize, bytes: i32, places: usize): void {
  for (; bytes > 0; at += 16, bytes -= 16) v128.store(at, i8x16.swizzle(v128.load(at), v128.load(places)))
}
