/** Random numbers of a seed. */
export interface Random {
  /** Returns an integer of a range, with both ends. */
  between(low: number, high: number): number
  /** Returns an integer from 0 below 2^64. */
  long(): bigint
  chance(probability: number): boolean
  of<T>(list: readonly T[]): T
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const unit = (): number => next() / 2 ** 32
  const between = (low: number, high: number): number => low + Math.floor(unit() * (high - low + 1))
  return {
    between,
    long: () => (BigInt(next()) << 32n) | BigInt(next()),
    chance: (probability) => unit() < probability,
    of: (list) => list[between(0, list.length - 1)]!,
  }
}
