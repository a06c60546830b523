/** Yields the integers `[start, stop)`. */
export function* numbersFrom(start: number, stop: number): Generator<number, void> {
  for (let number = start; number < stop; number++) yield number
}
