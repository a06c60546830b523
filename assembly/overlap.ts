/**
 * Runs of the LZ family: literals, and matches, which are bytes copied from `offset` bytes before and may
 * overlap the copy itself.
 *
 * Why it is fast: below 16 a match repeats a pattern, and one swizzle builds a whole vector of it.
 */
/** For each offset below 16, the swizzle that repeats a pattern of that length. */
const PATTERNS: usize = memory.data<u8>([
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
  0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1,
  0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0,
  0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3,
  0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0,
  0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3,
  0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1,
  0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2, 3, 4,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 1, 2,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 1,
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0,
], 16)

/** Largest multiple of each offset that fits a vector: the advance per store of the pattern. */
export const STEPS: usize = memory.data<u8>([16, 16, 16, 15, 16, 15, 12, 14, 16, 9, 10, 11, 12, 13, 14, 15])

/** Returns the vector that a match with an offset below 16 repeats. */
// @ts-ignore: decorator
@inline
export function patternAt(match: usize, offset: usize): v128 {
  return i8x16.swizzle(v128.load(match), v128.load(PATTERNS + (offset << 4)))
}

/**
 * Copies to [to, end) and up to 31 bytes behind it. Source and destination may overlap if they are at least
 * 16 bytes apart.
 */
// @ts-ignore: decorator
@inline
export function copyOver(from: usize, to: usize, end: usize): void {
  do {
    v128.store(to, v128.load(from))
    v128.store(to, v128.load(from, 16), 16)
    from += 32
    to += 32
  } while (to < end)
}

/** Copies a match without writing behind it. */
export function repeat(to: usize, offset: usize, length: usize): void {
  const end = to + length
  if (offset >= 16) {
    for (; end - to >= 16; to += 16) v128.store(to, v128.load(to - offset))
  } else if (length >= 16) {
    const pattern = patternAt(to - offset, offset)
    const step: usize = load<u8>(STEPS + offset)
    for (; end - to >= 16; to += step) v128.store(to, pattern)
  }
  for (; to < end; to++) store<u8>(to, load<u8>(to - offset))
}
