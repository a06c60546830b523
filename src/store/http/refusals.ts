import { joinBytes } from '../../core/bytes.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { HttpAnswer } from './client.ts'
import { Absence, isProved, type RequestContext } from './context.ts'
import { codeInHeaders, contentLength } from './headers.ts'
import { statusError } from './status-error.ts'

/** Maximum number of bytes read from the body of an error. */
const MAX_BODY_BYTES = 64 * 2 ** 10

/** Codes of object stores that mean "not found". */
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
 * Codes that neither prove nor disprove an object: S3 sends them for missing keys to clients that may not
 * list, and for existing keys that may not be read.
 */
const SILENT = new Set(['AccessDenied', 'Forbidden', '403'])

/**
 * Codes about the client or the whole place: credentials, clock, account, bucket. With any status, they mean
 * that no object was looked up.
 */
const OF_CLIENT =
  /token|signature|signed|accesskey|credential|skew|expired|security|account|auth|disabled|suspend|bucket|container|region/i

/**
 * Interprets an answer without an object by its status and the code in its body. A status that proves absence
 * counts, unless the code is about the client. Any other status counts only without a code, or with a code
 * that means "not found" or says nothing.
 * @throws StoreError if it does not mean "not found"
 */
export async function readMeaning(answer: HttpAnswer, place: RequestContext): Promise<Absence> {
  const { status } = answer
  const code = await readErrorCode(answer)
  if (place.missing.includes(status)) {
    const isProof = isProved(answer)
    if (isProof && (code === undefined || ABSENT.has(code) || !OF_CLIENT.test(code))) return new Absence()
    if (!isProof && (code === undefined || ABSENT.has(code) || SILENT.has(code))) {
      const parts = [status, code, answer.redirected ? 'after a redirect' : undefined]
      return new Absence({ file: place.file, answer: parts.filter((part) => part !== undefined).join(' ') })
    }
  }
  if (code === undefined || ABSENT.has(code) || SILENT.has(code)) throw statusError(status, place)
  const advice = OF_CLIENT.test(code)
    ? ': the request itself was refused, which says nothing of the object; check the credentials, their expiry, the clock and the bucket'
    : ''
  throw new HyperslabError('StoreError', `the server answered ${status} ${code}${advice}`, { file: place.file, actual: code })
}

/** Returns the error code of an object store, from a header or the XML body. */
async function readErrorCode(answer: HttpAnswer): Promise<string | undefined> {
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
