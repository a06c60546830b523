import type { Checks } from '../core/options.ts'
import type { Fetch } from '../store/http/fetch.ts'

/** Status codes by which a server reports missing objects. */
export interface NotFoundOptions {
  /**
   * HTTP statuses that mean "not found" for a URL. Default: 404 and 410. If the list has another one, such as
   * 403, and the server sends it, the read also requests an object that is known to exist. The absence counts
   * only if the server returns that object. For a store of your own, pass the option to the store.
   */
  readonly notFound?: readonly number[] | undefined
}

/** Requests to a location that is a URL. For a store of your own, pass them to the store. */
export interface UrlOptions extends NotFoundOptions {
  /** Headers of every request to a URL, such as `authorization`. Other origins do not receive them. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Replaces the platform's `fetch` for a URL. */
  readonly fetch?: Fetch | undefined
}

export const URL_CHECKS: Checks<UrlOptions> = { notFound: 'list of integers', headers: 'plain object', fetch: 'function' }
