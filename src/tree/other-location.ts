import { HyperslabError } from '../core/errors.ts'
import { checkValue } from '../core/options.ts'
import type { R2BucketLike } from '../store/r2.ts'
import type { S3StoreOptions } from '../store/s3/s3.ts'
import type { StoredAt } from '../store/store.ts'

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
 * Resolves a URL that is neither of http nor of a file.
 * @throws UnsupportedError for schemes other than `s3`
 */
export async function resolveOtherUrl(
  scheme: string,
  url: string,
  options: Pick<S3StoreOptions, 'notFound' | 'allowUrl'>,
): Promise<StoredAt> {
  if (scheme === 's3') {
    const { openBucket } = await import('./bucket.ts')
    return openBucket(url, options)
  }
  const text = `${scheme}: locations cannot be opened; pass { store, path }`
  throw new HyperslabError('UnsupportedError', text, { file: url })
}
