import { type ErrorDetails, type ErrorTag, HyperslabError, isHyperslabError, messageOf } from '../../core/errors.ts'
import type { StoredFailure } from './engine.ts'

/** Kinds of errors that the same task may not end in when it runs again. */
const TRANSIENT: readonly ErrorTag[] = ['StoreError', 'IntegrityError', 'OutOfMemoryError', 'ClosedError']

/** Whether running a task again is of no use. Errors that are none of ours (a lost connection) may pass. */
export const isFinal = (error: unknown): boolean => isHyperslabError(error) && !TRANSIENT.includes(error.tag)

/** An error as the queue keeps it: facts that are no JSON are left out. */
export function storedFailure(error: unknown): StoredFailure {
  if (!isHyperslabError(error)) return { text: messageOf(error), details: {} }
  const { cause, ...facts } = error.details
  const details = Object.entries(facts).filter(([, value]) => /^(string|number|boolean)$/.test(typeof value))
  return { tag: error.tag, text: error.text, details: Object.fromEntries(details) }
}

/** The error again, where the run is waited for. */
export function errorOfFailure({ tag, text, details }: StoredFailure): Error {
  return tag === undefined ? new Error(text) : new HyperslabError(tag as ErrorTag, text, details as ErrorDetails)
}
