import { HyperslabError } from '../core/errors.ts'
import { parseS3Url } from '../store/s3/address.ts'
import { S3Store, type S3StoreOptions } from '../store/s3/s3.ts'
import type { S3Credentials } from '../store/s3/sign.ts'

declare const process: { readonly env?: Readonly<Record<string, string | undefined>> } | undefined

/** Options of a bucket that belong to a location. */
export interface BucketOptions {
  readonly notFound?: S3StoreOptions['notFound'] | undefined
  readonly allowUrl?: S3StoreOptions['allowUrl'] | undefined
  readonly headers?: S3StoreOptions['headers'] | undefined
  readonly fetch?: S3StoreOptions['fetch'] | undefined
}

/**
 * Opens the store of `s3://bucket/key`. Credentials, region and endpoint come from the environment variables
 * of Amazon's own tools, if the runtime has an environment: AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY and
 * AWS_SESSION_TOKEN, AWS_REGION or AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL. Without keys,
 * requests are anonymous. For other settings, create an `S3Store`.
 * @throws InvalidArgumentError for another form of URL, and if only one of the two keys is set
 */
export function openBucket(
  url: string,
  { notFound, allowUrl, headers, fetch }: BucketOptions = {},
): { store: S3Store; path: string } {
  const { bucket, key } = parseS3Url(url)
  const region = variable('AWS_REGION') ?? variable('AWS_DEFAULT_REGION')
  const endpoint = variable('AWS_ENDPOINT_URL_S3') ?? variable('AWS_ENDPOINT_URL')
  const credentials = credentialsFor(url)
  const store = new S3Store({
    bucket,
    ...(region && { region }),
    ...(endpoint && { endpoint }),
    ...(credentials && { credentials }),
    notFound,
    allowUrl,
    headers,
    fetch,
  })
  return { store, path: key }
}

function credentialsFor(file: string): S3Credentials | undefined {
  const accessKeyId = variable('AWS_ACCESS_KEY_ID')
  const secretAccessKey = variable('AWS_SECRET_ACCESS_KEY')
  const sessionToken = variable('AWS_SESSION_TOKEN')
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
  const missing = accessKeyId === undefined ? 'AWS_ACCESS_KEY_ID' : 'AWS_SECRET_ACCESS_KEY'
  throw new HyperslabError('InvalidArgumentError', `of the two variables with keys for S3, ${missing} is not set`, { file })
}

/** Returns a variable of the environment. Empty ones count as unset, as in other tools. */
function variable(name: string): string | undefined {
  if (typeof process === 'undefined') return undefined
  try {
    return process.env?.[name] || undefined
  } catch {
    // Deno may deny access, which counts as unset.
    return undefined
  }
}
