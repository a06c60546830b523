import { AwsV4Signer } from 'aws4fetch'
import type { Sign } from '../http/redirects.ts'

/** Credentials that sign requests, with `accessKeyId` and `secretAccessKey`. */
export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Token of temporary credentials. */
  readonly sessionToken?: string
}

/** Credentials, or a function that returns them. */
export type S3CredentialsSource = S3Credentials | (() => Promise<S3Credentials>)

/**
 * Signs requests. Each retry gets a new signature, because signatures expire after some minutes. Bodies are
 * not signed: that would take a second pass over them, and TLS protects them.
 */
export function signing(credentials: S3CredentialsSource, region: string): Sign {
  const cache = new Map<string, ArrayBuffer>()
  return async (url, init) => {
    const { accessKeyId, secretAccessKey, sessionToken } = typeof credentials === 'function' ? await credentials() : credentials
    const signer = new AwsV4Signer({
      method: init.method,
      url,
      // Other headers need no signature, and proxies change some of them.
      headers: Object.fromEntries(Object.entries(init.headers).filter(([name]) => /^x-amz-/i.test(name))),
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: 's3',
      region,
      cache,
    })
    const { headers } = await signer.sign()
    return { ...init.headers, ...Object.fromEntries(headers) }
  }
}
