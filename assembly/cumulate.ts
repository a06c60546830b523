/**
 * Reverses differencing: each number becomes the sum of all up to it, in its own type.
 *
 * Contract: works in place on `n` numbers at `at`. Integers wrap; they are signed or unsigned. Floats are
 * added one after another, each sum rounded.
 */
const INTEGERS: i32 = 0

/** @param isFloat 1 for floats, 0 for integers */
export function cumulate(bytes: i32, isFloat: i32, at: usize, n: usize): void {
  if (isFloat != INTEGERS) {
    if (bytes == 4) sums<f32>(at, n)
    else sums<f64>(at, n)
  } else if (bytes == 1) sums<u8>(at, n)
  else if (bytes == 2) sums<u16>(at, n)
  else if (bytes == 4) sums<u32>(at, n)
  else sums<u64>(at, n)
}

function sums<T>(at: usize, n: usize): void {
  if (n == 0) return
  const end = at + n * sizeof<T>()
  let sum = load<T>(at)
  for (at += sizeof<T>(); at < end; at += sizeof<T>()) {
    sum = <T>(sum + load<T>(at))
    store<T>(at, sum)
  }
}
