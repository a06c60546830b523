import { HyperslabError } from '../core/errors.ts'
import { checkValue } from '../core/options.ts'
import { pathsOfFileUrl } from '../core/url-names.ts'
import type { R2BucketLike } from '../store/r2.ts'
import type { StoredAt } from '../store/store.ts'
import type { BucketOptions } from './bucket.ts'

/**
 * Resolves a location that is neither a text nor a store: an object of a bucket, or files that a user picked.
 * @throws InvalidArgumentError for anything that is no location
 */
export async function resolveOther(location: unknown): Promise<StoredAt> {
  if (typeof location === 'object' && location !== null) {
    if ('bucket' in location) {
      const { bucket, key } = location as { bucket: R2BucketLike; key: string }
      checkValue('the location', 'bucket', bucket, 'object')
      checkValue('the location', 'key', key, 'string')
      const { R2Store } = await import('../store/r2.ts')
      return { store: new R2Store(bucket), path: key }
    }
    const { storeOfFiles } = await import('../store/picked-files.ts')
    const store = storeOfFiles(location)
    if (store !== undefined) return { store, path: store.key }
  }
  const text =
    'a location is a path, a URL, a Blob or File, a file handle, a list of files, an AsyncBuffer, { bucket, key } or { store, path }'
  throw new HyperslabError('InvalidArgumentError', text, { actual: location })
}

/**
 * Resolves a URL that is not of http.
 * @throws UnsupportedError for schemes other than `s3` and `file`; InvalidArgumentError for a URL of a server
 *   without both slashes
 */
export async function resolveOtherUrl(scheme: string, url: string, options: BucketOptions): Promise<StoredAt> {
  if (scheme === 'file') {
    const { FileStore } = await import('../store/fs/file.ts')
    return { store: new FileStore(), path: pathOfFileUrl(url) }
  }
  if (!url.startsWith('://', scheme.length))
    throw new HyperslabError('InvalidArgumentError', `a URL of ${scheme} begins with ${scheme}://`, { actual: url })
  if (scheme === 's3') {
    const { openBucket } = await import('./bucket.ts')
    return openBucket(url, options)
  }
  const text = `${scheme}: locations cannot be opened; pass { store, path }`
  throw new HyperslabError('UnsupportedError', text, { file: url })
}

/**
 * Returns the path of a `file:` URL as the URL standard defines it, from `file:/path` or `file:///path`.
 * @throws InvalidArgumentError for a relative path, and for a host
 */
export function pathOfFileUrl(url: string): string {
  if (/^file:(\/\/(localhost)?\/|\/(?!\/))/i.test(url)) return pathsOfFileUrl(url).at(-1)!
  const text = 'a file: URL has no host and an absolute path, as in file:///folder/x.af; give a relative path without file:'
  throw new HyperslabError('InvalidArgumentError', text, { actual: url })
}
