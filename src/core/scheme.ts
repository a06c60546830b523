/**
 * Returns the scheme of a URL in lower case; undefined for a path. One letter is a drive. The schemes that
 * locations have need no two slashes, because `file:/x` is a URL, too.
 */
export function findScheme(text: string): string | undefined {
  return /^([a-z][\w+.-]+(?=:\/\/)|(file|https?|s3)(?=:))/i.exec(text)?.[0].toLowerCase()
}
