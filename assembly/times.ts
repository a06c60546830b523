/**
 * Times converted to other units.
 *
 * Contract: multiplies each of `n` 64-bit integers at `at` by `factor`, which is above 0. The least integer,
 * which marks a missing time, stays. Returns how many were multiplied before one that does not fit.
 */
export function scaleTimes(at: usize, n: usize, factor: i64): usize {
  const most = i64.MAX_VALUE / factor
  for (let i: usize = 0; i < n; i++, at += 8) {
    const time = load<i64>(at)
    if (time == i64.MIN_VALUE) continue
    if (time > most || time < -most) return i
    store<i64>(at, time * factor)
  }
  return n
}
