import { HyperslabError } from '../../core/errors.ts'
import type { UnprovedAbsence } from '../store.ts'

/** Where a request goes. */
export interface RequestContext {
  readonly url: string
  /** How errors name the object. */
  readonly file: string
  /** Statuses that mean that there is none. */
  readonly missing: readonly number[]
  /** What 403 may mean besides, and what to do about it. */
  readonly forbidden: string
  /** The browser hides headers of the answer. */
  readonly crossOrigin: boolean
}

/** The result of a request for an object that is not there; thrown where a result cannot be one. */
export class Absence {
  /** Undefined where the answer proves it. */
  readonly unproved: UnprovedAbsence | undefined

  constructor(unproved?: UnprovedAbsence) {
    this.unproved = unproved
  }
}

/** Statuses that say that there is no object. All others that callers take for that say nothing of it. */
export const PROOFS: readonly number[] = [404, 410]

export function statusError(status: number, { file, forbidden }: RequestContext): HyperslabError {
  const hint = status === 403 ? `: access is refused; ${forbidden}` : ''
  return new HyperslabError('StoreError', `the server answered ${status}${hint}`, { file, actual: status })
}
