import type { AsyncBuffer } from '../core/async-buffer.ts'
import { checkValue } from '../core/options.ts'
import { findScheme } from '../core/scheme.ts'
import type { BlockCache } from '../engine/block-cache.ts'
import type { BlobLike, FileHandleLike } from '../store/handles.ts'
import { pageAddress } from '../store/http/fetch.ts'
import { HttpStore } from '../store/http/http.ts'
import type { R2BucketLike } from '../store/r2.ts'
import type { Store, StoredAt } from '../store/store.ts'
import type { UrlOptions } from './url-options.ts'

/**
 * Location of a container:
 *
 * - a path, if there is a file system. In a page, a path is a URL relative to the page
 * - a `file:`, `http:` or `https:` URL, as text or as a `URL`. Its query (a signature, a token) is also sent
 *   for the sidecars
 * - `s3://bucket/key`, with the credentials, region and endpoint in the environment variables of Amazon's
 *   tools (`AWS_ACCESS_KEY_ID`, `AWS_REGION`, `AWS_ENDPOINT_URL`, …); anonymous without keys
 * - a `Blob` or `File`, an `ArrayBuffer`, `Uint8Array` or {@link AsyncBuffer}: one file without its sidecars
 * - a `FileSystemFileHandle`: one file without its sidecars, read only; it may change between two calls of
 *   `open`. To write, pass its folder: `{ store: new OpfsStore(directory), path: 'x.af' }`
 * - a list of `File`s or of file handles: the base and the sidecars of one container, read only, as a user
 *   has picked them together
 * - `{ bucket, key }`, an object of a Cloudflare R2 bucket: the binding of a Worker, see {@link R2Store}
 * - an object of a store. To set options, create the store:
 *   `{ store: new HttpStore({ headers }), path: 'https://…/x.af' }`
 */
export type Location =
  | string
  | { readonly href: string }
  | BlobLike
  | AsyncBuffer
  | FileHandleLike
  | readonly (BlobLike | FileHandleLike)[]
  | { readonly bucket: R2BucketLike; readonly key: string }
  | { readonly store: Store; readonly path: string }

/** Options of a location that is a URL. */
export interface LocationOptions extends UrlOptions {
  /**
   * Called with each URL before it is requested, including redirects. The request is refused if it returns
   * false.
   */
  readonly allowUrl?: ((url: string) => boolean) | undefined
  /** Cache that may answer reads of the store. */
  readonly cache?: BlockCache | undefined
}

/**
 * Checks the options of requests that a caller passed.
 * @throws InvalidArgumentError for such options at a place that is not a URL
 */
export async function checkUrlOptions(call: string, location: unknown, options: UrlOptions): Promise<void> {
  const { notFound, headers, fetch } = options
  if ((notFound ?? headers ?? fetch) !== undefined) (await import('./not-found.ts')).refuseUrlOptions(call, location, options)
}

/**
 * @throws UnsupportedError for other URLs, and for paths without a file system; InvalidArgumentError for
 *   other values
 */
export const resolveLocation = (location: Location, options: LocationOptions = {}): Promise<StoredAt> =>
  resolveStored(location, options).then((place) => options.cache?.wrap?.(place) ?? place)

async function resolveStored(location: Location, options: LocationOptions): Promise<StoredAt> {
  if (typeof location === 'string') return resolveText(location, options)
  const given = Object(location) as { readonly store: Store; readonly path: string } | { readonly href: string }
  if ('store' in given) {
    checkValue('the location', 'store', given.store, 'Store')
    checkValue('the location', 'describe', given.store.describe, 'function')
    checkValue('the location', 'path', given.path, 'string')
    return ofRoot(given)
  }
  if ('href' in given) {
    checkValue('the location', 'href', given.href, 'string')
    return resolveText(given.href, options)
  }
  return (await import('./other-location.ts')).resolveOther(location)
}

/** Loads stores lazily that web pages do not need. */
async function resolveText(text: string, options: LocationOptions): Promise<StoredAt> {
  const scheme = findScheme(text)
  if (!scheme) {
    const page = pageAddress()
    if (page) return resolveText(new URL(text, page).href, options)
    const { FileStore } = await import('../store/fs/file.ts')
    return ofRoot({ store: new FileStore(), path: text })
  }
  const [isHttp, path, query] = /^(?=https?:\/\/)([^?#]*)\??([^#]*)/i.exec(text) ?? []
  if (!isHttp) return ofRoot(await (await import('./other-location.ts')).resolveOtherUrl(scheme, text, options))
  const { notFound, allowUrl, headers, fetch } = options
  // Names of sidecars are derived from the path, so the store adds the query.
  return { store: new HttpStore({ query: query!, notFound, allowUrl, headers, fetch }), path: path! }
}

/** Keeps the slash of the root of a disk. Slashes at the end of other folders are removed. */
const ofRoot = ({ store, path }: StoredAt): StoredAt => ({
  store,
  path: store.files?.localPath && /^\/+$/.test(path) ? '/.' : path,
})
