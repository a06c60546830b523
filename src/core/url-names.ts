/** Signs that encodeURIComponent leaves alone, and signatures of S3 and some servers do not. */
const LEFT_ALONE = /[!'()*]/g

const percentOf = (sign: string): string => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`

/**
 * Encodes names between slashes for the path of a URL: everything but what RFC 3986 leaves alone. The names
 * have no half of a surrogate pair; `wrongKey` refuses these.
 */
export const encodeNames = (names: string): string =>
  names
    .split('/')
    .map((name) => encodeURIComponent(name).replace(LEFT_ALONE, percentOf))
    .join('/')

/** Decodes names of a URL or a listing; undefined where percent signs in them encode no text. */
export function decodeNames(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * The paths that a `file:` URL may mean, the likelier first: what follows the slashes as it is written, as
 * fsspec takes it, and decoded, as URLs are meant.
 */
export function pathsOfFileUrl(url: string): string[] {
  const written = url.replace(/^file:\/\/[^/]*/i, '')
  const cut = /^[^?#]*/.exec(written)![0]
  const decoded = decodeNames(cut)
  const paths = decoded === undefined ? [written] : [written, decoded]
  return [...new Set(paths)].map((path) => path.replace(/^\/(?=[a-z]:\/)/i, ''))
}
