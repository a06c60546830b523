/** Returns the greatest common divisor. */
export const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b))

/** Returns the largest divisor of a length up to `most`; 1 for a length of 0. */
export function largestDivisor(length: number, most: number): number {
  if (length <= most) return Math.max(1, length)
  let best = 1
  for (let divisor = 1; divisor * divisor <= length; divisor++) {
    if (length % divisor !== 0) continue
    if (divisor <= most) best = Math.max(best, divisor)
    if (length / divisor <= most) best = Math.max(best, length / divisor)
  }
  return best
}
