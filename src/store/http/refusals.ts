import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { HttpAnswer } from './client.ts'
import { Absence, PROOFS, type RequestContext, statusError } from './context.ts'
import { codeInHeaders, contentLength } from './headers.ts'

/** Bodies of errors are read up to so many bytes. */
const MAX_BODY_BYTES = 64 * 2 ** 10

/** Codes by which object stores say that there is no object. */
const ABSENT = new Set([
  'NoSuchKey',
  'NoSuchVersion',
  'NoSuchObject',
  'NotFound',
  'BlobNotFound',
  'ObjectNotFound',
  'ResourceNotFound',
])

/**
 * Codes that say nothing of the object: S3 answers so for missing keys to clients that may not list, and for
 * keys that exist and may not be read.
 */
const SILENT = new Set(['AccessDenied', 'Forbidden', '403'])

/**
 * Codes, of any status, that are about the client or the whole place: credentials, clock, account, bucket.
 * Nothing there was looked up.
 */
const OF_CLIENT =
  /token|signature|signed|accesskey|credential|skew|expired|security|account|auth|disabled|suspend|bucket|container|region/i

/**
 * The meaning of an answer without an object, by its status and the code in its body: that there is none. A
 * status that does not prove it takes a code that says so or says nothing; any other code is an error.
 * @throws StoreError where it means anything else
 */
export async function meaningOf(answer: HttpAnswer, place: RequestContext): Promise<Absence> {
  const { status } = answer
  const code = await codeOf(answer)
  if (place.missing.includes(status)) {
    const isProof = PROOFS.includes(status)
    if (isProof && (code === undefined || ABSENT.has(code) || !OF_CLIENT.test(code))) return new Absence()
    if (!isProof && (code === undefined || ABSENT.has(code) || SILENT.has(code)))
      return new Absence({ file: place.file, answer: [status, code].filter((part) => part !== undefined).join(' ') })
  }
  if (code === undefined || ABSENT.has(code) || SILENT.has(code)) throw statusError(status, place)
  const advice = OF_CLIENT.test(code)
    ? ': the request itself was refused, which says nothing of the object; check the credentials, their expiry, the clock and the bucket'
    : ''
  throw new HyperslabError('StoreError', `the server answered ${status} ${code}${advice}`, { file: place.file, actual: code })
}

/** The code that an object store gives with an error, in a header or the XML of its body. */
async function codeOf(answer: HttpAnswer): Promise<string | undefined> {
  const told = codeInHeaders(answer.headers)
  if (told !== undefined || answer.method === 'HEAD' || (contentLength(answer.headers) ?? 0) > MAX_BODY_BYTES) {
    answer.discard()
    return told
  }
  const parts: Uint8Array[] = []
  await answer.receive(MAX_BODY_BYTES, (bytes) => void parts.push(bytes.slice()))
  const body = new TextDecoder().decode(joinBytes(parts))
  return /<Code>\s*([\w.-]{1,100})\s*<\/Code>/.exec(body)?.[1]
}
