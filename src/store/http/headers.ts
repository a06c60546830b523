import type { ObjectInfo } from '../store.ts'

export interface Headers {
  get(name: string): string | null
}

/** Range `[start, end)` of an object of `total` bytes. */
export interface ContentRange {
  readonly start: number
  readonly end: number
  /** Absent if the server does not know the size. */
  readonly total?: number
}

/** Parses `Content-Range` of a partial answer; `undefined` if it names no range. */
export function contentRange(headers: Headers): ContentRange | undefined {
  const [, first, last, total] = /^\s*bytes\s+(\d+)-(\d+)\/(\d+|\*)\s*$/i.exec(headers.get('content-range') ?? '') ?? []
  if (first === undefined || Number(last) < Number(first)) return undefined
  const range = { start: Number(first), end: Number(last) + 1 }
  return total === '*' ? range : { ...range, total: Number(total) }
}

/** Returns the transfer compression of the body; `undefined` if it has none. */
export function contentEncoding(headers: Headers): string | undefined {
  const encoding = headers.get('content-encoding')?.trim()
  return encoding === undefined || encoding === '' || /^identity$/i.test(encoding) ? undefined : encoding
}

/** Returns `Content-Length`, unless it counts compressed bytes. */
export function contentLength(headers: Headers): number | undefined {
  const length = headers.get('content-length')?.trim() ?? ''
  return /^\d+$/.test(length) && contentEncoding(headers) === undefined ? Number(length) : undefined
}

/** Headers with the error code of an object store. Answers to HEAD have no body for it. */
const CODE_HEADERS = ['x-amz-error-code', 'x-minio-error-code', 'x-ms-error-code', 'x-goog-error-code']

/** Returns the error code that object stores send in headers. */
export function codeInHeaders(headers: Headers): string | undefined {
  for (const name of CODE_HEADERS) {
    const code = headers.get(name)
    if (code !== null && code !== '') return code
  }
  return undefined
}

const MODIFIED = 'modified:'
const SIZE_ONLY = 'size-only:'

/** Returns size and version of an object from the headers of any answer about it. */
export function headerInfo(headers: Headers, size: number): ObjectInfo {
  const modified = headers.get('last-modified')
  const etag = headers.get('etag') ?? (modified === null ? `${SIZE_ONLY}${size}` : `${MODIFIED}${size} ${modified}`)
  return { size, etag }
}

/** Whether `If-Match` can name this version. A weak one never matches. */
export const isStrong = (etag: string): boolean => /^"[^"]*"$/.test(etag)

/**
 * Whether an answer may be about the version `etag`. Missing headers count as a match: servers omit `ETag`
 * and `Last-Modified` from some answers, and browsers hide them.
 */
export function isVersion(etag: string, headers: Headers, size: number | undefined): boolean {
  if (etag.startsWith(SIZE_ONLY)) return size === undefined || etag === `${SIZE_ONLY}${size}`
  if (etag.startsWith(MODIFIED)) {
    const [, oldSize, oldDate] = /^modified:(\d+) (.*)$/.exec(etag) ?? []
    const date = headers.get('last-modified')
    return (size === undefined || size === Number(oldSize)) && (date === null || date === oldDate)
  }
  const current = headers.get('etag')
  if (current === null) return /^(W\/)?"/.test(etag)
  // Proxies change tags between weak and strong; the quoted part is the version.
  return current.replace(/^W\//, '') === etag.replace(/^W\//, '')
}
