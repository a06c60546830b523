const isInteger = (value: number | bigint): boolean =>
  typeof value === 'bigint' || (Number.isSafeInteger(value) && !Object.is(value, -0))

/**
 * Returns the type that holds all numbers of JSON exactly: `float64` for numbers alone, `int64` or `uint64`
 * for integers beyond 2^53. Integers with fractions among them are `float64` if it holds each of them.
 * Undefined if no type does, as for integers beyond 64 bits.
 */
export function typeOfNumbers(list: readonly (number | bigint)[]): 'float64' | 'int64' | 'uint64' | undefined {
  const integers = list.filter((value) => typeof value === 'bigint')
  if (integers.length === 0) return 'float64'
  if (!integers.every((value) => value >= -(2n ** 63n) && value < 2n ** 64n)) return undefined
  if (!list.every(isInteger)) return integers.every((value) => BigInt(Number(value)) === value) ? 'float64' : undefined
  if (integers.every((value) => value < 2n ** 63n)) return 'int64'
  return list.every((value) => value >= 0) ? 'uint64' : undefined
}
