import type { UnprovedAbsence } from '../store.ts'

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
export const PROOFS: readonly number[] = [404, 410]
