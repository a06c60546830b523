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
