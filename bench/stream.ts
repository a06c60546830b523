/**
 * Measures how fast the machine reads and copies memory with the widest loads. This bounds kernels on data
 * that exceed every cache.
 */

export function read(src: usize, bytes: usize): i32 {
  let a = i64x2.splat(0)
  let b = a
  let c = a
  let d = a
  const end = src + bytes
  while (src < end) {
    a = v128.or(a, v128.load(src))
    b = v128.or(b, v128.load(src, 16))
    c = v128.or(c, v128.load(src, 32))
    d = v128.or(d, v128.load(src, 48))
    src += 64
  }
  return i32(v128.any_true(v128.or(v128.or(a, b), v128.or(c, d))))
}

export function copy(dst: usize, src: usize, bytes: usize): void {
  memory.copy(dst, src, bytes)
}
