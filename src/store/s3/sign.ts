import { AwsV4Signer } from 'aws4fetch'
import type { Sign } from '../http/redirects.ts'

/** Keys to sign requests with: `accessKeyId` and `secretAccessKey`. */
export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** The token of credentials that were issued for a while. */
  readonly sessionToken?: string
}

/** Keys, or a function that gets them. */
export type S3CredentialsSource = S3Credentials | (() => Promise<S3Credentials>)

/**
 * Signs requests, anew for every repetition: a signature is good for some minutes. Bodies are not signed:
 * they are not read a second time, and TLS keeps them whole.
 */
export function signing(credentials: S3CredentialsSource, region: string): Sign {
  const cache = new Map<string, ArrayBuffer>()
  return async (url, init) => {
    const { accessKeyId, secretAccessKey, sessionToken } = typeof credentials === 'function' ? await credentials() : credentials
    const signer = new AwsV4Signer({
      method: init.method,
      url,
      // The others need not be signed, and some are changed on the way.
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
