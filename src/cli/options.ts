import { InvalidArgumentError } from 'commander'

/** Parses an option that is an integer within bounds. */
export function integerBetween(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= low && value <= high) return value
    throw new InvalidArgumentError(`It must be an integer from ${low} to ${high}.`)
  }
}
