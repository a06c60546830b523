import { type ErrorDetails, type ErrorTag, HyperslabError, isHyperslabError, messageOf } from '../../core/errors.ts'
import type { StoredFailure } from './engine.ts'

/** Kinds of errors that may not occur again when the task is repeated. */
const TRANSIENT: readonly ErrorTag[] = ['StoreError', 'IntegrityError', 'OutOfMemoryError', 'ClosedError']

/** Whether repeating a task is useless. Errors of other packages (a lost connection) may be temporary. */
export const isFinal = (error: unknown): boolean => isHyperslabError(error) && !TRANSIENT.includes(error.tag)

/** Converts an error to its stored form. Omits details that are not JSON. */
export function storedFailure(error: unknown): StoredFailure {
  if (!isHyperslabError(error)) return { text: messageOf(error), details: {} }
  const { cause, ...facts } = error.details
  const details = Object.entries(facts).filter(([, value]) => /^(string|number|boolean)$/.test(typeof value))
  return { tag: error.tag, text: error.text, details: Object.fromEntries(details) }
}

/** Restores an error for the callers that wait for the run. */
export function errorOfFailure({ tag, text, details }: StoredFailure): Error {
  return tag === undefined ? new Error(text) : new HyperslabError(tag as ErrorTag, text, details as ErrorDetails)
}
