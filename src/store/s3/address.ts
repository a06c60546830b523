import { HyperslabError } from '../../core/errors.ts'
import { type Checks, checkValue } from '../../core/options.ts'
import { encodeNames } from '../../core/url-names.ts'

export interface S3AddressOptions {
  readonly bucket: string
  /** Region, as named in signatures. Default: `us-east-1`. */
  readonly region?: string
  /** URL of a server other than Amazon's, such as `https://s3.example.org:9000`. */
  readonly endpoint?: string
  /**
   * Position of the bucket name in URLs: in the path, or in front of the host. Amazon's default is the host,
   * except for names with a dot, which its certificates do not cover. The default for other servers is the
   * path.
   */
  readonly addressing?: 'path' | 'virtual'
}

export const ADDRESS_CHECKS: Checks<S3AddressOptions> = {
  bucket: 'string',
  region: 'string',
  endpoint: 'string',
  addressing: ['path', 'virtual'],
}

/** Location of an object by `bucket` and `key`, as in `s3://` URLs. */
export interface S3Location {
  readonly bucket: string
  readonly key: string
}

/**
 * Parses `s3://bucket/key`. As in other S3 tools, the key is not percent-decoded.
 * @throws InvalidArgumentError for any other text
 */
export function parseS3Url(url: string): S3Location {
  checkValue('parseS3Url', 'url', url, 'string')
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/is.exec(url) ?? []
  if (bucket !== undefined && key !== undefined) return { bucket, key }
  throw new HyperslabError('InvalidArgumentError', 'not of the form s3://bucket/key', { file: url, actual: url })
}

/** Builds the URLs of a bucket and its objects. */
export class S3Address {
  readonly bucket: string
  readonly region: string
  /** Whether the server is Amazon's. */
  readonly amazon: boolean
  /** URL of the bucket, with a slash at the end. */
  readonly #url: string

  /** @throws InvalidArgumentError for an invalid bucket or endpoint */
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

  /** Returns the name of an object in messages. */
  describe(key: string): string {
    return `s3://${this.bucket}/${key}`
  }

  /**
   * Returns the URL of an object, or of the bucket for an empty key.
   * @param query parameters
   * @throws InvalidArgumentError for a key that has no URL
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

  /** Returns the header that names an object to copy. */
  copySource(key: string): string {
    return `/${[this.bucket, ...key.split('/')].map(encode).join('/')}`
  }
}

/**
 * Percent-encodes all characters except the unreserved ones of RFC 3986, as signatures require. Some servers
 * read a bare `+` as a space.
 */
const encode = (text: string): string => encodeNames(text).replaceAll('/', '%2F')

function serverUrl(endpoint: string): URL {
  const url = /^https?:\/\//i.test(endpoint) && URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (url !== undefined && url.username === '' && url.search === '' && url.hash === '') return url
  const text = `an endpoint is an http: or https: URL without a name, query or fragment, got '${endpoint}'`
  throw new HyperslabError('InvalidArgumentError', text, { actual: endpoint })
}
