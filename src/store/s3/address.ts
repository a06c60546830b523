import { HyperslabError } from '../../core/errors.ts'
import { type Checks, checkValue } from '../../core/options.ts'
import { encodeNames } from '../../core/url-names.ts'

export interface S3AddressOptions {
  readonly bucket: string
  /** `us-east-1` by default; signatures name it. */
  readonly region?: string
  /** URL of a server other than Amazon's: `https://s3.example.org:9000`. */
  readonly endpoint?: string
  /**
   * Where the bucket's name goes: into the path, or in front of the host. In front of Amazon's by default,
   * where certificates cover that (names with a dot they do not); into the path of all others.
   */
  readonly addressing?: 'path' | 'virtual'
}

export const ADDRESS_CHECKS: Checks<S3AddressOptions> = {
  bucket: 'string',
  region: 'string',
  endpoint: 'string',
  addressing: ['path', 'virtual'],
}

/** An object by its location, as `s3://` URLs name it: `bucket` and `key`. */
export interface S3Location {
  readonly bucket: string
  readonly key: string
}

/**
 * The parts of `s3://bucket/key`. The key is taken as it stands, as by other S3 tools: nothing in it is
 * percent-decoded.
 * @throws InvalidArgumentError for anything else
 */
export function parseS3Url(url: string): S3Location {
  checkValue('parseS3Url', 'url', url, 'string')
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/is.exec(url) ?? []
  if (bucket !== undefined && key !== undefined) return { bucket, key }
  throw new HyperslabError('InvalidArgumentError', 'not of the form s3://bucket/key', { file: url, actual: url })
}

/** The URLs of a bucket and of what is in it. */
export class S3Address {
  readonly bucket: string
  readonly region: string
  /** The server is Amazon's own. */
  readonly amazon: boolean
  /** Of the bucket, with a slash at the end. */
  readonly #url: string

  /** @throws InvalidArgumentError for a bucket or an endpoint that cannot be */
  constructor({ bucket, region = 'us-east-1', endpoint, addressing }: S3AddressOptions) {
    if (!/^[a-z0-9][\w.:-]*$/i.test(bucket))
      throw new HyperslabError('InvalidArgumentError', `not the name of a bucket: '${bucket}'`, { actual: bucket })
    const url = serverUrl(endpoint ?? `https://s3.${region}.amazonaws.com`)
    this.bucket = bucket
    this.region = region
    this.amazon = endpoint === undefined
    const path = url.pathname.replace(/\/$/, '')
    const inHost = (addressing ?? (this.amazon && !bucket.includes('.') ? 'virtual' : 'path')) === 'virtual'
    this.#url = inHost ? `${url.protocol}//${bucket}.${url.host}${path}/` : `${url.origin}${path}/${encode(bucket)}/`
  }

  /** How messages name an object. */
  describe(key: string): string {
    return `s3://${this.bucket}/${key}`
  }

  /**
   * @param query parameters; without a key, of the bucket
   * @throws InvalidArgumentError for a key that no URL can name
   */
  url(key: string, query: Readonly<Record<string, string>> = {}): string {
    const segments = key.split('/')
    if (/\p{Surrogate}/u.test(key)) {
      const text = 'a key with half of a surrogate pair has no URL'
      throw new HyperslabError('InvalidArgumentError', text, { file: this.describe(key), actual: key })
    }
    if (segments.some((segment) => segment === '.' || segment === '..')) {
      const text = "keys with '.' or '..' between slashes have no URL: everything on the way would resolve them"
      throw new HyperslabError('InvalidArgumentError', text, { file: this.describe(key), actual: key })
    }
    const search = Object.entries(query).map(([name, value]) => `${encode(name)}=${encode(value)}`)
    return this.#url + segments.map(encode).join('/') + (search.length > 0 ? `?${search.join('&')}` : '')
  }

  /** The header that names an object to copy. */
  copySource(key: string): string {
    return `/${[this.bucket, ...key.split('/')].map(encode).join('/')}`
  }
}

/**
 * Everything but what RFC 3986 leaves alone, as signatures want it: a `+` that is not encoded is a space to
 * some.
 */
const encode = (text: string): string => encodeNames(text).replaceAll('/', '%2F')

function serverUrl(endpoint: string): URL {
  const url = /^https?:\/\//i.test(endpoint) && URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url !== undefined && url.username === '' && url.search === '' && url.hash === '') return url
  const text = `an endpoint is an http: or https: URL without a name, query or fragment, got '${endpoint}'`
  throw new HyperslabError('InvalidArgumentError', text, { actual: endpoint })
}
