/** Bits of a digit of the radix sort: a table of 2048 counts fits the cache. */
const DIGIT = 11
const MASK = (1 << DIGIT) - 1
/** Number of values up to which comparing is faster than filling that table. */
const FEW = 128

/** Returns 0, 1, 2, … */
export function numbersTo(length: number): Uint32Array {
  const numbers = new Uint32Array(length)
  for (let i = 0; i < length; i++) numbers[i] = i
  return numbers
}

/**
 * Returns the stable order that sorts whole numbers below 2^53; undefined if they are sorted. Long lists are
 * sorted by radix: time is linear in their length and in the digits of the range they span.
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
  let order = numbersTo(length)
  if (length <= FEW) return order.sort((a, b) => values[a]! - values[b]! || a - b)
  let next: Uint32Array = new Uint32Array(length)
  const digits = new Uint16Array(length)
  const counts = new Uint32Array(1 << DIGIT)
  for (let unit = 1; unit <= high - low; unit *= 1 << DIGIT) {
    counts.fill(0)
    for (let i = 0; i < length; i++) {
      const quotient = Math.floor((values[i]! - low) / unit)
      // The modulo operator is slow for large numbers.
      const digit = quotient < 2 ** 31 ? quotient & MASK : quotient % (1 << DIGIT)
      digits[i] = digit
      counts[digit]!++
    }
    for (let k = 0, sum = 0; k < counts.length; k++) {
      const count = counts[k]!
      counts[k] = sum
      sum += count
    }
    for (let i = 0; i < length; i++) {
      const at = order[i]!
      next[counts[digits[at]!]!++] = at
    }
    const done = order
    order = next
    next = done
  }
  return order
}
