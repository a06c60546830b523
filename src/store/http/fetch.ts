import { HyperslabError } from '../../core/errors.ts'

/** The part of a `Response` that is used; a platform's own fits, and so does one made by hand. */
export interface FetchResponse {
  readonly status: number
  /** `opaqueredirect` for a redirect that a browser hides. */
  readonly type?: string
  readonly headers: { get(name: string): string | null }
  /** Left out by platforms that give bodies as a whole only. */
  readonly body?: ResponseBody | null
  arrayBuffer(): Promise<ArrayBuffer>
}

export interface ResponseBody {
  getReader(): BodyReader
  cancel(): Promise<void>
}

export interface BodyReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

/** The options that are given to `fetch` with a URL. */
export interface FetchInit {
  readonly method: string
  readonly headers: Record<string, string>
  /** What is written; left out for reading. */
  readonly body?: Uint8Array<ArrayBuffer>
  /**
   * An `AbortSignal`. Typed so that it fits into any platform's `RequestInit`: the public types do without
   * the DOM's.
   */
  readonly signal?: never
  readonly cache?: 'no-store'
  /** Redirects are answers, and not followed. */
  readonly redirect?: 'manual'
}

/** A platform's `fetch`, or one's own: for credentials that change, other transports, tests. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

// `declare` in a module names what the platform may have; `typeof` asks whether it does.
declare const fetch: Fetch | undefined
declare const navigator: { readonly userAgent?: string } | undefined
declare const document: unknown
declare const WorkerGlobalScope: unknown
declare const origin: string | undefined

/**
 * The platform's `fetch`, looked up when it is called.
 * @throws UnsupportedError where there is none
 */
export const platformFetch: Fetch = async (url, init) => {
  if (typeof fetch === 'undefined') throw new HyperslabError('UnsupportedError', 'there is no fetch here; pass one as an option')
  return fetch(url, init)
}

const userAgent = (): string => (typeof navigator === 'undefined' ? undefined : navigator.userAgent) ?? ''

/** workerd keeps no more than 6 connections open and lets further ones wait, for ever if need be. */
export const isWorkerd = (): boolean => userAgent() === 'Cloudflare-Workers'

/** A page or a worker of one. Server runtimes have some of a worker's names too, but say who they are. */
export function isBrowser(): boolean {
  const named = typeof document !== 'undefined' || typeof WorkerGlobalScope !== 'undefined'
  return named && !/^(Cloudflare-Workers|Deno|Bun|Node)\b/.test(userAgent())
}

/**
 * True when a browser applies the rules of CORS to `url`: headers other than the simplest cost a preflight
 * request, which many servers refuse, and most headers of the answer are hidden.
 */
export function isCrossOrigin(url: string): boolean {
  return isBrowser() && (typeof origin === 'undefined' || new URL(url).origin !== origin)
}
