/** Characters that encodeURIComponent leaves alone, but signatures of S3 and some servers encode. */
const LEFT_ALONE = /[!'()*]/g

const percentCode = (sign: string): string => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`

/**
 * Encodes names between slashes for the path of a URL: all characters except the unreserved ones of RFC 3986.
 * The names must not contain lone surrogates, which `wrongKey` refuses.
 */
export const encodeNames = (names: string): string =>
  names
    .split('/')
    .map((name) => encodeURIComponent(name).replace(LEFT_ALONE, percentCode))
    .join('/')

/** Decodes names of a URL or a listing; returns undefined if its percent signs do not encode a text. */
export function decodeNames(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * Returns the paths that a `file:` URL may mean, the more likely one first: the literal path, which fsspec
 * uses, and the decoded path, which the URL standard defines.
 */
export function pathsOfFileUrl(url: string): string[] {
  const written = url.replace(/^file:(\/\/[^/]*)?(?=\/)/i, '')
  const cut = /^[^?#]*/.exec(written)![0]
  const decoded = decodeNames(cut)
  const paths = decoded === undefined ? [written] : [written, decoded]
  return [...new Set(paths)].map((path) => path.replace(/^\/(?=[a-z]:\/)/i, ''))
}
