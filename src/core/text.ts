/**
 * Returns the text without these endings, however often they repeat. A regular expression with a quantifier
 * before `$` would restart at each position of the text.
 */
export function withoutEndings(text: string, ...endings: readonly string[]): string {
  let end = text.length
  for (;;) {
    const ending = endings.find((each) => text.endsWith(each, end))
    if (ending === undefined || ending === '') return text.slice(0, end)
    end -= ending.length
  }
}

/** Returns the text without the padding that some writers append. */
export const withoutNuls = (text: string): string => withoutEndings(text, '\0')

/** Returns the path without trailing slashes. */
export function withoutSlashes(path: string): string {
  let start = 0
  while (path[start] === '/') start++
  return withoutEndings(path.slice(start), '/')
}

/**
 * Compares two texts by their code points, which is the order of their UTF-8 bytes. The operator `<` compares
 * UTF-16 units, and has characters beyond U+FFFF before those from U+E000 on.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x !== y) return rank(x) - rank(y)
  }
  return a.length - b.length
}

/** Moves the units of surrogate pairs behind all others. */
const rank = (unit: number): number => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit)
