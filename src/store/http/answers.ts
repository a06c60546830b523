import { HyperslabError } from '../../core/errors.ts'
import { Transient } from '../retry.ts'
import type { HttpAnswer } from './client.ts'
import { Absence, isProved, type RequestContext } from './context.ts'
import { codeInHeaders, type Headers } from './headers.ts'

/**
 * Interprets an answer without an object. Returns the absence if it means "not found".
 * @throws StoreError if it means anything else
 */
export async function readRefusal(answer: HttpAnswer, place: RequestContext): Promise<Absence> {
  const { status, headers } = answer
  const isProof = isProved(answer) && place.missing.includes(status)
  // Object stores send the reason of a refusal as XML or in a header.
  const mayHaveCode = /xml/i.test(headers.get('content-type') ?? '') || codeInHeaders(headers) !== undefined
  if (!isProof || mayHaveCode) return (await import('./refusals.ts')).readMeaning(answer, place)
  answer.discard()
  return new Absence()
}

/** Whether the body is an HTML page, which servers also send for missing objects. */
export const isHtml = (headers: Headers): boolean =>
  /^\s*(text\/html|application\/xhtml\+xml)\b/i.test(headers.get('content-type') ?? '')

export function short(file: string, actual: number, expected: number): Transient {
  const text = `the answer ended after ${actual} of ${expected} bytes`
  return new Transient(new HyperslabError('StoreError', text, { file, actual, expected }))
}
