import type { MissingElements } from './missing.ts'

/**
 * Returns a function that recognises missing elements; undefined if none are missing. -0 equals 0, and
 * binaries are compared byte by byte.
 */
export function missingTest({ values, nan }: MissingElements): ((element: unknown) => boolean) | undefined {
  if (values.some((value) => value instanceof Uint8Array)) return (element) => values.some((value) => sameBytes(value, element))
  const [first] = values
  if (values.length === 0) return nan ? Number.isNaN : undefined
  if (values.length === 1) return nan ? (element) => element === first || Number.isNaN(element) : (element) => element === first
  const all = new Set<unknown>(nan ? [...values, Number.NaN] : values)
  return (element) => all.has(element)
}

function sameBytes(a: unknown, b: unknown): boolean {
  const [one, other] = [a as Uint8Array, b as Uint8Array]
  return one.length === other.length && one.every((byte, i) => byte === other[i])
}

/** Whether two definitions mark the same elements as missing. */
export function sameMissing(a: MissingElements, b: MissingElements): boolean {
  const test = missingTest(b)
  return a.nan === b.nan && a.values.length === b.values.length && a.values.every((value) => test!(value))
}
