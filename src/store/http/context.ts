import type { UnprovedAbsence } from '../store.ts'
import type { HttpAnswer } from './client.ts'

/** Target of a request, and how its answers are interpreted. */
export interface RequestContext {
  readonly url: string
  /** Name of the object in errors. */
  readonly file: string
  /** Statuses that mean "not found". */
  readonly missing: readonly number[]
  /** Other causes of a 403, and what to do about them. Default: those of any server. */
  readonly forbidden?: string
  /** Whether the browser hides headers of the answer. */
  readonly crossOrigin: boolean
  /** Whether the server is known to answer HEAD as it answers GET. */
  readonly knowsHead?: boolean
}

/** Result of a request for a missing object. Thrown if it cannot be returned. */
export class Absence {
  /** Undefined if the answer proves the absence. */
  readonly unproved: UnprovedAbsence | undefined

  constructor(unproved?: UnprovedAbsence) {
    this.unproved = unproved
  }
}

/**
 * Statuses that prove that there is no object. Other statuses that callers treat as "not found" prove
 * nothing.
 */
const PROOFS: readonly number[] = [404, 410]

/**
 * Whether the status of an answer proves that there is no object. After a redirect it does not: it may tell
 * of another page, such as one for signing in.
 */
export const isProved = ({ status, redirected }: Pick<HttpAnswer, 'status' | 'redirected'>): boolean =>
  PROOFS.includes(status) && !redirected
