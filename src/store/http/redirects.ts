import { HyperslabError } from '../../core/errors.ts'
import { type Fetch, type FetchInit, type FetchResponse, platformFetch } from './fetch.ts'

/** Returns the headers of a request to a URL, signed for this URL. */
export type Sign = (url: string, init: FetchInit) => Promise<Record<string, string>>

const REDIRECTS = [301, 302, 303, 307, 308]
/** Redirects after which a write is repeated unchanged; after the others it would become a GET. */
const KEEPING_METHOD = [307, 308]
/** Most redirects followed, as on platforms. */
const MAX_REDIRECTS = 20

/** Headers that a read needs and that do not identify the client. */
const HARMLESS = ['accept-encoding', 'range', 'if-match']

/**
 * Sends a request that carries data for one server only: headers of the caller, or a signature. Redirects
 * within its origin are followed with all of them. Redirects to another origin are followed only for reads,
 * by the platform's own `fetch` and with no headers except `Range`, `If-Match` and `Accept-Encoding`. The
 * reason: platforms themselves remove only `Authorization` there.
 * @param onRedirect called before each redirect is followed
 * @param allowUrl called with each URL before it is requested
 * @throws StoreError if a redirect cannot be followed this way; InvalidArgumentError for a URL that is not
 *   allowed
 */
export async function fetchGuarded(
  fetch: Fetch,
  sign: Sign | undefined,
  url: string,
  init: FetchInit,
  file: string,
  onRedirect: () => void,
  allowUrl?: (url: string) => boolean,
): Promise<FetchResponse> {
  const { origin } = new URL(url)
  const harmless = Object.fromEntries(Object.entries(init.headers).filter(([name]) => HARMLESS.includes(name.toLowerCase())))
  let at = url
  let foreign: string | undefined
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    if (allowUrl?.(at) === false) {
      const text = `${redirects === 0 ? 'this URL' : `the URL that the server redirects to, ${new URL(at).origin},`} may not be requested`
      throw new HyperslabError('InvalidArgumentError', text, { file })
    }
    const guarded = { ...init, redirect: 'manual' } as const
    const response =
      foreign === undefined
        ? await fetch(at, { ...guarded, headers: sign ? await sign(at, guarded) : init.headers })
        : await platformFetch(at, { ...guarded, headers: harmless })
    const { status } = response
    if (response.type === 'opaqueredirect') {
      const text =
        'the server redirects, and browsers do not tell where to: a request with headers, credentials or a fetch of yours is not sent on; pass the URL that it leads to'
      throw new HyperslabError('StoreError', text, { file, actual: 'opaqueredirect' })
    }
    if (foreign !== undefined && (status === 401 || status === 403)) {
      response.body?.cancel().catch(() => undefined)
      const text = `the server redirects to ${foreign}, where neither credentials nor headers of yours are sent, and that answered ${status}; pass the URL (or \`endpoint\` and \`region\`) that it leads to`
      throw new HyperslabError('StoreError', text, { file, actual: status })
    }
    const location = REDIRECTS.includes(status) ? response.headers.get('location') : null
    if (location === null) return response
    onRedirect()
    response.body?.cancel().catch(() => undefined)
    const next = target(location, at, file)
    if (foreign !== undefined || next.origin !== origin) foreign = next.origin
    const reads = init.method === 'GET' || init.method === 'HEAD'
    if (!reads && (foreign !== undefined || !KEEPING_METHOD.includes(status))) {
      const text = `the server redirects a ${init.method} to ${next.origin} (${status}), where nothing is written; pass the URL (or \`endpoint\` and \`region\`) that it leads to`
      throw new HyperslabError('StoreError', text, { file, actual: status })
    }
    at = next.href
  }
  throw new HyperslabError('StoreError', `the server redirects more than ${MAX_REDIRECTS} times`, { file, actual: MAX_REDIRECTS })
}

function target(location: string, base: string, file: string): URL {
  const url = URL.canParse(location, base) ? new URL(location, base) : undefined
  if (url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') {
    url.hash = ''
    return url
  }
  throw new HyperslabError('StoreError', 'the server redirects to a URL that is neither http: nor https:', { file })
}
