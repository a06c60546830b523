/** Number of characters of an object that a message shows. */
const SHOWN = 100

/**
 * Returns a value as messages show it: texts in quotes, bigints with an `n`, objects as JSON, cut if long.
 * Never throws, whatever the value is.
 */
export function quoted(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value !== 'object' || value === null) return String(value)
  try {
    const text = JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? `${each}n` : each)) ?? String(value)
    return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
  } catch {
    return 'an object'
  }
}
