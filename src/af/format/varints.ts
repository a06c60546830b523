/**
 * Numbers from 0 to 2^53 - 1 as bytes: 7 bits each, the lowest first; the upper bit says that more follow.
 */
export function encodeVarints(numbers: Iterable<number>): Uint8Array {
  const bytes: number[] = []
  for (let number of numbers) {
    for (; number >= 128; number = Math.floor(number / 128)) bytes.push(128 + (number % 128))
    bytes.push(number)
  }
  return Uint8Array.from(bytes)
}

/** The numbers; what is cut off or too large is not among them, nor what comes after. */
export function* decodeVarints(bytes: Uint8Array): Generator<number> {
  let number = 0
  let place = 1
  for (const byte of bytes) {
    number += (byte % 128) * place
    place *= 128
    if (number > Number.MAX_SAFE_INTEGER || place > 2 ** 56) return
    if (byte >= 128) continue
    yield number
    number = 0
    place = 1
  }
}
