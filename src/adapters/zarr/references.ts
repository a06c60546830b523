import { decodeBase64 } from '../../core/base64.ts'
import { ByteCache } from '../../core/byte-cache.ts'
import { HyperslabError, isHyperslabError, within } from '../../core/errors.ts'
import { JsonMembers } from '../../core/json-members.ts'
import { KeyIndex } from '../../core/keys.ts'
import { member } from '../../core/member.ts'
import { joinPath } from '../../core/relative-path.ts'
import type { Signal } from '../../core/signal.ts'
import { pathsOfFileUrl } from '../../core/url-names.ts'
import {
  changed,
  endsBefore,
  type ListOptions,
  type ObjectInfo,
  type ObjectTail,
  type RangeOptions,
  type Store,
  type StoredAt,
  type StoreOptions,
  type WholeOptions,
} from '../../store/store.ts'
import { objectTooLarge, readWhole } from '../../store/whole.ts'
import { asLength, asObject, asText, badMetadata, type JsonObject, showJson, unsupported } from './document.ts'

/** Location of references, and how their targets are opened. */
export interface ReferencePlace {
  /** Name of the references in errors. */
  readonly file: string
  /** Object that contains the references. */
  readonly home: StoredAt
  /** URL that they were opened by; undefined if they were opened in another way. */
  readonly url?: string | undefined
  /** Whether they are a local file. Only then may they refer to local files. */
  readonly isLocal: boolean
  /**
   * Opens an HTTP store whose keys are URLs without a query. It sends this query with each request, and no
   * credentials.
   */
  openHttp(query: string): Promise<Store>
  /** Opens the location to which the user maps a URL; undefined if there is no mapping. */
  resolve?(url: string): Promise<StoredAt | undefined>
}

/** Bytes of another file; the whole file if `length` is undefined. */
interface Target {
  readonly url: string
  readonly offset: number
  readonly length: number | undefined
}

/**
 * A store of the objects in kerchunk references: JSON of version 0, or of version 1 with templates. An object
 * is text or base64 in the JSON itself, a file, or a part of a file. The URL of a file may be relative to the
 * JSON. References are assumed to stay valid while the store is open, because parts of files have no versions
 * of their own.
 */
export class ReferenceStore implements Store {
  readonly #references: JsonMembers
  readonly #templates: JsonObject
  readonly #place: ReferencePlace
  /** Decoded inline objects. They take at most as many bytes as the JSON. */
  readonly #inline: ByteCache<string, Uint8Array>
  #keys: KeyIndex | undefined
  readonly #targets = new Map<string, Promise<StoredAt>>()
  readonly #http = new Map<string, Promise<Store>>()

  private constructor(references: JsonMembers, templates: JsonObject, place: ReferencePlace, jsonBytes: number) {
    this.#inline = new ByteCache(jsonBytes)
    this.#references = references
    this.#templates = templates
    this.#place = place
  }

  /**
   * Reads the names of references. Each reference is parsed on first use.
   * @throws FormatError if the bytes are not JSON of references; UnsupportedError for `gen` and for other
   *   versions; TooLargeError for more than 2^23 references
   */
  static async open(json: Uint8Array, place: ReferencePlace, signal?: Signal): Promise<ReferenceStore> {
    const members = await JsonMembers.read(json, 'the list of references', { most: MOST_REFERENCES, inner: 'refs', signal })
    if (!members.has('version')) return new ReferenceStore(members, {}, place, json.length)
    const version = members.get('version')
    if (version !== 1) unsupported(`references of version ${showJson(version)} cannot be read`, version)
    const generated = members.get('gen') ?? []
    if (!Array.isArray(generated) || generated.length > 0)
      unsupported("references that are generated ('gen') cannot be read; write them out")
    const references = members.inner('refs') ?? badMetadata(`refs must be an object, got ${showJson(members.get('refs'))}`)
    return new ReferenceStore(references, asObject(members.get('templates') ?? {}, 'templates'), place, json.length)
  }

  describe(key: string): string {
    return key === '' ? this.#place.file : `${this.#place.file}: ${key}`
  }

  async stat(key: string, options: StoreOptions = {}): Promise<ObjectInfo | undefined> {
    return this.#open(key, {
      inline: async (bytes) => ({ size: bytes.length, etag: INLINE }),
      part: async (length) => ({ size: length, etag: PART }),
      whole: ({ store, path }) => store.stat(path, options),
    })
  }

  async get(key: string, options: WholeOptions = {}): Promise<ObjectTail | undefined> {
    const most = options.maxBytes ?? Number.POSITIVE_INFINITY
    const checkSize = (size: number): void => {
      if (size > most) throw objectTooLarge(this.describe(key), `${size}`, size, most)
    }
    return this.#open(key, {
      inline: async (bytes) => {
        checkSize(bytes.length)
        return { size: bytes.length, etag: INLINE, bytes: bytes.slice() }
      },
      part: async (length, read) => {
        checkSize(length)
        const bytes = await read(0, length, { signal: options.signal })
        return bytes && { size: length, etag: PART, bytes }
      },
      whole: ({ store, path }) => readWhole(store, path, options),
    })
  }

  async getRange(key: string, offset: number, length: number, options: RangeOptions = {}): Promise<Uint8Array | undefined> {
    const { ifMatch, signal } = options
    const checkPart = (size: number, etag: string): void => {
      if (ifMatch !== undefined && ifMatch !== etag) throw changed(this.describe(key))
      if (offset + length > size) throw endsBefore(this.describe(key), size, offset + length)
    }
    return this.#open(key, {
      inline: async (bytes) => {
        checkPart(bytes.length, INLINE)
        return bytes.slice(offset, offset + length)
      },
      part: async (size, read) => {
        checkPart(size, PART)
        return read(offset, length, { signal })
      },
      whole: ({ store, path }) => store.getRange(path, offset, length, options),
    })
  }

  async list(prefix: string, { shallow }: ListOptions = {}): Promise<string[]> {
    this.#keys ??= new KeyIndex(this.#references.names)
    return this.#keys.below(prefix, shallow)
  }

  /** Returns the URLs of all targets, with templates filled in. */
  targets(): Set<string> {
    const urls = new Set<string>()
    for (const key of this.#references.names) {
      if (!isInline(this.#references.bytesOf(key)!)) urls.add(this.#targetOf(this.#references.get(key)).url)
    }
    return urls
  }

  /**
   * Returns the places that are read and that this process may replace: that of the references, and their
   * targets in the same store or on this machine.
   */
  async places(): Promise<StoredAt[]> {
    const { home } = this.#place
    const places = [home]
    for (const url of this.targets()) {
      const place = await this.#locate(url)
      if (place.store === home.store || place.store.files?.localPath !== undefined) places.push(place)
    }
    return places
  }

  async close(): Promise<void> {
    const opened = await Promise.allSettled([...this.#targets.values(), ...this.#http.values()])
    const stores = opened.flatMap((one) =>
      one.status === 'rejected' ? [] : ['store' in one.value ? one.value.store : one.value],
    )
    for (const store of new Set([...stores, this.#place.home.store])) await store.close?.()
  }

  /** @throws NotFoundError if the target does not exist, because the reference claims that it does */
  async #open<T>(key: string, to: Opened<T>): Promise<T | undefined> {
    return within({ file: this.describe(key) }, async () => {
      if (!this.#references.has(key)) return undefined
      const inline = this.#inlineBytes(key)
      if (inline !== undefined) return to.inline(inline)
      const target = this.#targetOf(this.#references.get(key))
      const { store, path } = await this.#locate(target.url)
      const { offset, length } = target
      const result = await readingTarget(store.describe(path), () =>
        length === undefined
          ? to.whole({ store, path })
          : to.part(length, (from, count, options) => store.getRange(path, offset + from, count, options)),
      )
      if (result !== undefined) return result
      throw new HyperslabError('NotFoundError', `the reference points to ${store.describe(path)}, which does not exist`)
    })
  }

  /**
   * Returns the object that the JSON itself contains: text, base64 or, for metadata, JSON. Recently used
   * objects stay decoded, because a shard is read once for each of its chunks. Callers must not change the
   * bytes.
   */
  #inlineBytes(key: string): Uint8Array | undefined {
    const known = this.#inline.get(key)
    if (known !== undefined) return known
    const bytes = this.#references.bytesOf(key)!
    if (!isInline(bytes)) return undefined
    const decoded = bytes[0] === OPEN_OBJECT ? bytes.slice() : this.#textBytes(key)
    this.#inline.set(key, decoded)
    return decoded
  }

  #textBytes(key: string): Uint8Array {
    const text = asText(this.#references.get(key), 'a reference')
    if (!text.startsWith('base64:')) return new TextEncoder().encode(text)
    return decodeBase64(text.slice('base64:'.length)) ?? badMetadata('a reference is not the base64 that it says it is')
  }

  #targetOf(reference: unknown): Target {
    if (!Array.isArray(reference) || (reference.length !== 1 && reference.length !== 3))
      return badMetadata(`a reference must be a text, [url] or [url, offset, length], got ${showJson(reference)}`, reference)
    const url = this.#fillIn(asText(reference[0], 'the URL of a reference'))
    const [, offset, length] = reference
    if ((offset ?? null) === null && (length ?? null) === null) return { url, offset: 0, length: undefined }
    return { url, offset: asLength(offset, 'the offset of a reference'), length: asLength(length, 'the length of a reference') }
  }

  /** Replaces templates with their texts. Without templates, URLs are literal, as for fsspec. */
  #fillIn(url: string): string {
    if (Object.keys(this.#templates).length === 0) return url
    let length = url.length
    const filled = url.replace(/\{\{\s*(\w+)\s*\}\}/g, (all, name: string) => {
      const given = member(this.#templates, name)
      const text = given === undefined ? all : asText(given, `the template '${name}'`)
      length += text.length - all.length
      if (length > MOST_URL) badMetadata(`a reference has a URL of more than ${MOST_URL} characters with its templates`)
      return text
    })
    return /\{[{%]/.test(filled)
      ? unsupported(`expressions of Jinja in references cannot be read: ${showJson(filled)}`, filled)
      : filled
  }

  #locate(url: string): Promise<StoredAt> {
    const known = this.#targets.get(url) ?? this.#locateAnew(url)
    this.#targets.set(url, known)
    // A failure is not cached, so that the next call tries again.
    known.catch(() => this.#targets.delete(url))
    return known
  }

  /**
   * Finds the location of a URL. References from the web never lead to local files. The user's credentials
   * are sent only to the place where the references were read from.
   */
  async #locateAnew(given: string): Promise<StoredAt> {
    const { home, url: base, isLocal, resolve } = this.#place
    const mapped = await resolve?.(given)
    if (mapped !== undefined) return mapped
    const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(given)?.[1]?.toLowerCase()
    if (scheme === undefined && (base === undefined || !isHttp(base))) {
      if (/^[/\\]/.test(given) && !isLocal)
        unsupported(`references from elsewhere must not name a file of this machine: ${given}`, given)
      return { store: home.store, path: /^[/\\]/.test(given) ? given : joinPath(home.path, given) }
    }
    if (scheme === 'file') {
      if (!isLocal) unsupported(`references from elsewhere must not name a file of this machine: ${given}`, given)
      const [written, decoded = written] = pathsOfFileUrl(given)
      // fsspec uses the path as it is written, if such a file exists.
      const isWritten = written === decoded || (await home.store.stat(written!)) !== undefined
      return { store: home.store, path: isWritten ? written! : decoded! }
    }
    if (scheme === 's3' && base !== undefined && given.startsWith(bucketPrefix(base))) {
      return { store: home.store, path: given.slice(bucketPrefix(base).length) }
    }
    // A relative name is not a URL: it has no fragment, and a percent sign in it may encode nothing.
    const name = scheme === undefined ? given.replaceAll('#', '%23').replace(/%(?![0-9a-f]{2})/gi, '%25') : given
    const { href, origin, protocol, search } = parseUrl(name, base)
    if (!isHttp(protocol))
      unsupported(`${protocol} references are read where the option \`resolve\` maps them to a location: ${given}`, given)
    const path = href.replace(/[?#].*/, '')
    if (search === '' && base !== undefined && isHttp(base) && new URL(base).origin === origin) return { store: home.store, path }
    const server = origin + search
    const store = this.#http.get(server) ?? this.#place.openHttp(search.slice(1))
    this.#http.set(server, store)
    store.catch(() => this.#http.delete(server))
    return { store: await store, path }
  }
}

/**
 * Reads the target of a reference. Statuses that mean "not found" do not help there, because a missing target
 * is an error, too.
 */
async function readingTarget<T>(file: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (!isHyperslabError(cause, 'StoreError') || cause.details.actual !== 403) throw cause
    const text = `the server answered 403 for the target of a reference, ${file}: access is refused, or there is no such file; \
pass \`resolve\` to openZarr or openTree, so that it maps the URL to a store with credentials, or copy the file and write its references anew`
    throw new HyperslabError('StoreError', text, { actual: 403, cause })
  }
}

/** Handlers for an object, by the way it is stored. */
interface Opened<T> {
  inline(bytes: Uint8Array): Promise<T>
  part(
    length: number,
    read: (offset: number, length: number, options: StoreOptions) => Promise<Uint8Array | undefined>,
  ): Promise<T | undefined>
  whole(object: StoredAt): Promise<T | undefined>
}

const [QUOTE, OPEN_OBJECT] = [34, 123]
/** Maximum length of a URL whose templates are filled in. */
const MOST_URL = 65_536
/**
 * Maximum number of references in one list. The name of each and its position in the JSON are kept in memory.
 */
const MOST_REFERENCES = 2 ** 23

const INLINE = 'inline'
const PART = 'part'

/** Whether the value of a reference is an object in the JSON itself. */
const isInline = ([first]: Uint8Array): boolean => first === OPEN_OBJECT || first === QUOTE

const isHttp = (url: string): boolean => /^https?:/i.test(url)

/** Returns a URL of S3 up to the key; for other URLs, a text that no URL contains. */
const bucketPrefix = (url: string): string => /^s3:\/\/[^/]+\//.exec(url)?.[0] ?? '\0'

function parseUrl(given: string, base: string | undefined): URL {
  try {
    return new URL(given, base)
  } catch {
    return badMetadata(`${showJson(given)} is not a URL`, given)
  }
}
