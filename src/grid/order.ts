/** Bits of a digit: tables of 2048 counts fit the cache and cost next to nothing for short lists. */
const DIGIT = 11

/**
 * The order that sorts whole numbers below 2^53, equal ones as they come; `undefined` when they are sorted. A radix sort: time is linear in
 * their number and in the digits of the range they span.
 */
export function sortingOrder(values: Float64Array): Uint32Array | undefined {
  const { length } = values
  let [low, high] = [Infinity, 0]
  let sorted = true
  for (let i = 0; i < length; i++) {
    const value = values[i]!
    if (i > 0 && value < values[i - 1]!) sorted = false
    if (value < low) low = value
    if (value > high) high = value
  }
  if (sorted) return undefined
  let order = Uint32Array.from(values.keys())
  let next = new Uint32Array(length)
  const counts = new Uint32Array(1 << DIGIT)
  for (let unit = 1; unit <= high - low; unit *= 1 << DIGIT) {
    counts.fill(0)
    for (let i = 0; i < length; i++) counts[digit(values[i]! - low, unit)]!++
    for (let k = 0, sum = 0; k < counts.length; k++) {
      const count = counts[k]!
      counts[k] = sum
      sum += count
    }
    for (let i = 0; i < length; i++) {
      const at = order[i]!
      next[counts[digit(values[at]! - low, unit)]!++] = at
    }
    ;[order, next] = [next, order]
  }
  return order
}

const digit = (value: number, unit: number): number => Math.floor(value / unit) % (1 << DIGIT)
