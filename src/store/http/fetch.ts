import { HyperslabError } from '../../core/errors.ts'

/** The used part of a `Response`, as any platform provides it. */
export interface FetchResponse {
  readonly status: number
  /** `opaqueredirect` for a redirect that the browser hides. */
  readonly type?: string
  /** Whether another URL than the requested one answered. */
  readonly redirected?: boolean
  readonly headers: { get(name: string): string | null }
  /** Absent on platforms that only return whole bodies. */
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

/** Options passed to `fetch` with a URL. */
export interface FetchInit {
  readonly method: string
  readonly headers: Record<string, string>
  /** Bytes to write; absent for reads. */
  readonly body?: Uint8Array<ArrayBuffer>
  /**
   * An `AbortSignal`. The type fits the `RequestInit` of any platform, because the public types do not depend
   * on the DOM library.
   */
  readonly signal?: never
  readonly cache?: 'no-store'
  /** Set to return redirects as answers. */
  readonly redirect?: 'manual'
}

/** The platform's `fetch`, or a custom one for changing credentials, other transports or tests. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

// The declared globals exist on some platforms only, which `typeof` checks.
declare const fetch: Fetch | undefined
declare const navigator: { readonly userAgent?: string } | undefined
declare const document: { readonly baseURI?: string } | undefined
declare const location: { readonly href: string } | undefined
declare const WorkerGlobalScope: unknown
declare const origin: string | undefined

/**
 * The platform's `fetch`, looked up at each call.
 * @throws UnsupportedError if the platform has none
 */
export const platformFetch: Fetch = async (url, init) => {
  if (typeof fetch === 'undefined') throw new HyperslabError('UnsupportedError', 'there is no fetch here; pass one as `fetch`')
  return fetch(url, init)
}

const userAgent = (): string => (typeof navigator === 'undefined' ? undefined : navigator.userAgent) ?? ''

/**
 * Whether this is workerd, which opens at most 6 connections and lets further requests wait without limit.
 */
export const isWorkerd = (): boolean => userAgent() === 'Cloudflare-Workers'

/**
 * Whether this is a page or its worker. Server runtimes define some globals of a worker, too, but have their
 * own user agent.
 */
export function isBrowser(): boolean {
  const named = typeof document !== 'undefined' || typeof WorkerGlobalScope !== 'undefined'
  return named && !/^(Cloudflare-Workers|Deno|Bun|Node)\b/.test(userAgent())
}

/**
 * Whether a browser applies CORS to `url`. Then most request headers cost a preflight request, which many
 * servers refuse, and most headers of the answer are hidden.
 */
export function isCrossOrigin(url: string): boolean {
  return isBrowser() && (typeof origin === 'undefined' || new URL(url).origin !== origin)
}

/** Returns the address that relative URLs of a page or its worker refer to; undefined elsewhere. */
export function pageAddress(): string | undefined {
  // Tests in Node may imitate a page, and still read files.
  if (!isBrowser() || globalThis.process?.versions?.node) return undefined
  const address = typeof document === 'undefined' ? location?.href : document?.baseURI
  return /^https?:/.test(address ?? '') ? address : undefined
}
