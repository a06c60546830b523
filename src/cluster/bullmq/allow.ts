import { HyperslabError } from '../../core/errors.ts'
import { withoutEndings } from '../../core/text.ts'
import { actsOnLink, guardedStore } from '../../store/confined.ts'
import type { Store, StoredAt } from '../../store/store.ts'
import { absolutePath } from '../../tree/absolute-path.ts'
import { formatOfName, withoutEnding } from '../../tree/formats.ts'
import { resolveLocation } from '../../tree/location.ts'
import type { NotFoundOptions } from '../../tree/url-options.ts'
import { placesIn } from '../job-operation.ts'
import type { JobPlan } from '../job-plan.ts'
import type { Places } from '../places.ts'

/** Folders with everything below them, and files. */
export type Allowed = readonly string[]

/** Maximum number of times that a path may be percent-encoded. */
const MOST_DECODINGS = 8

/**
 * Places that a worker may access. Each location is resolved once, and its store checks each key before a
 * read or write. For files, it checks the path with all links followed; for the web, each requested URL and
 * each redirect. References are refused, because they may name any place.
 */
export class AllowedPlaces implements Places {
  readonly #allow: Allowed
  #roots: Promise<readonly string[]> | undefined

  constructor(allow: Allowed) {
    this.#allow = allow
  }

  /** @throws InvalidArgumentError for a place outside the allowed ones */
  async resolve(location: string, options: NotFoundOptions = {}): Promise<StoredAt> {
    this.#roots ??= Promise.all(this.#allow.map(identityOfRoot))
    const roots = await this.#roots
    const isAllowed = (identity: string): boolean => roots.some((root) => lies(identity, root))
    const isBucket = /^s3:/i.test(location)
    // Requests to a bucket go to its own server. Redirects to other servers are refused.
    let origin: string | undefined
    const allowUrl = (url: string): boolean => {
      if (!isBucket) return isAllowed(identityOfUrl(url))
      origin ??= new URL(url).origin
      return new URL(url).origin === origin
    }
    const { store, path } = await resolveLocation(location, { ...options, allowUrl })
    const check = async (key: string, method: string): Promise<void> => {
      if (isAllowed(await identityOf(store, key, method))) return
      const text = 'this worker may not touch this place'
      throw new HyperslabError('InvalidArgumentError', text, {
        file: store.describe(key),
        actual: location,
        expected: this.#allow,
      })
    }
    const guarded = Object.defineProperty(guardedStore(store, check), 'followsReferences', { value: false })
    await check(path, 'stat')
    return { store: guarded, path }
  }

  /** @throws InvalidArgumentError for a plan that names a place outside the allowed ones */
  async check({ operation, scratch }: JobPlan): Promise<void> {
    const { sources, target } = placesIn(operation)
    for (const location of [...sources, target, scratch])
      if (location !== undefined) await (await this.resolve(location)).store.close?.()
  }
}

/** Returns the unique name of a key: the path with all links followed for files, the URL otherwise. */
async function identityOf(store: Store, key: string, method: string): Promise<string> {
  if (store.files === undefined) {
    const name = store.describe(key)
    return /^https?:/i.test(name) ? identityOfUrl(name) : name
  }
  if (!actsOnLink(method)) return forward(await store.files.realPath(key))
  const path = withoutEndings(key, '/')
  const at = Math.max(path.lastIndexOf('/'), store.files.windowsNames ? path.lastIndexOf('\\') : -1)
  return forward(`${await store.files.realPath(path.slice(0, at + 1) || '.')}/${path.slice(at + 1)}`)
}

const forward = (path: string): string => (/^[a-z]:\\|^\\\\/i.test(path) ? path.replaceAll('\\', '/') : path)

/** Returns the requested URL without user, query and fragment. */
function identityOfUrl(text: string): string {
  const { origin, pathname } = new URL(text)
  return origin + pathname
}

/** Returns the identity of an allowed place, without trailing slashes. */
async function identityOfRoot(allowed: string): Promise<string> {
  const location = absolutePath(allowed)
  if (/^https?:\/\//i.test(location)) return withoutEndings(identityOfUrl(location), '/')
  const [, bucket] = /^s3:\/\/([^/]+.*)$/is.exec(location) ?? []
  if (bucket !== undefined) return `s3://${withoutEndings(bucket, '/')}`
  const { store, path } = await resolveLocation(location)
  const identity = await identityOf(store, path, 'stat')
  await store.close?.()
  return withoutEndings(identity, '/')
}

/**
 * Files of a container after the name without `.af`: layers, statistics and drafts, with their locks and
 * temporary files.
 */
const OF_CONTAINER = /^(hyperslab-import-[0-9a-f]{24}\.)?(([1-9]\d*\.)?af|stats)(\.lock)?(\.\d+-[0-9a-f]{24}\.tmp)?$/

/** Whether an identity is an allowed place, lies below one, or is a file of an allowed container. */
function lies(identity: string, root: string): boolean {
  // Servers may decode characters that URL parsers leave encoded.
  if (/^https?:|^s3:/i.test(identity) && leadsUpwards(identity)) return false
  if (identity === root || identity.startsWith(`${root}/`)) return true
  const stem = formatOfName(root)?.hasSidecars ? `${withoutEnding(root)}.` : undefined
  return stem !== undefined && identity.startsWith(stem) && OF_CONTAINER.test(identity.slice(stem.length))
}

function leadsUpwards(identity: string): boolean {
  let text = identity
  for (let left = MOST_DECODINGS; left > 0; left--) {
    if (/(^|[/\\])\.\.?([/\\]|$)/.test(text)) return true
    // Byte by byte, since servers decode the rest of a text that has an invalid escape or is not UTF-8.
    const decoded = text.replace(/%([0-9a-f]{2})/gi, (_, byte: string) => String.fromCharCode(Number.parseInt(byte, 16)))
    if (decoded === text) return false
    text = decoded
  }
  return true
}
