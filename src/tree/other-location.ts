import { HyperslabError } from '../core/errors.ts'
import { checkValue } from '../core/options.ts'
import { pathsOfFileUrl } from '../core/url-names.ts'
import { fileStore, type Location, type LocationOptions, ofRoot, type Resolved } from './location.ts'

/**
 * Resolves a location that is neither a text nor a store: an object of a bucket, or files that a user picked.
 * @throws InvalidArgumentError for anything that is no location
 */
export async function resolveOther(location: Location): Promise<Resolved> {
  if (typeof location === 'object' && location !== null) {
    if ('bucket' in location) {
      checkValue('the location', 'bucket', location.bucket, 'object')
      checkValue('the location', 'key', location.key, 'string')
      const { R2Store } = await import('../store/r2.ts')
      return { store: new R2Store(location.bucket), path: location.key }
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
 * Resolves a URL that is neither of http nor of https.
 * @throws UnsupportedError for schemes other than `file` and `s3`, and for files where there is no file
 *   system
 */
export async function resolveOtherUrl(scheme: string, url: string, { notFound, allowUrl }: LocationOptions): Promise<Resolved> {
  if (scheme === 'file') return ofRoot({ store: await fileStore(), path: pathsOfFileUrl(url).at(-1)! })
  if (scheme === 's3') {
    const { openBucket } = await import('./bucket.ts')
    return openBucket(url, { ...(notFound && { notFound }), ...(allowUrl && { allowUrl }) })
  }
  const text = `${scheme}: locations cannot be opened; pass { store, path }`
  throw new HyperslabError('UnsupportedError', text, { file: url })
}
