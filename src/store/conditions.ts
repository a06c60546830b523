import { HyperslabError } from '../core/errors.ts'
import type { PublishCondition } from './store.ts'

export const exists = (file: string): HyperslabError =>
  new HyperslabError('ConflictError', 'another writer has created this file first', { file })

/**
 * Checks that an object may be published, given its present version.
 * @throws ConflictError if it exists despite `ifAbsent`, or is not the version `ifMatch`
 */
export function checkCondition(file: string, { ifAbsent, ifMatch }: PublishCondition, found: { etag: string } | undefined): void {
  if (ifAbsent && found !== undefined) throw exists(file)
  checkMatch(file, ifMatch, found)
}

/**
 * Checks that an object has the version `ifMatch`, if one is given.
 * @throws ConflictError
 */
export function checkMatch(file: string, ifMatch: string | undefined, found: { etag: string } | undefined): void {
  if (ifMatch !== undefined && found?.etag !== ifMatch) throw unmatched(file, ifMatch, found?.etag)
}

/** Returns the error for an object that is not the version to be replaced or removed. */
export function unmatched(file: string, expected: string, actual: string | undefined): HyperslabError {
  const text =
    actual === undefined
      ? 'another writer has removed this file: the version that was to be replaced is gone'
      : 'another writer has replaced this file: it is not the version any more that was to be replaced or removed'
  return new HyperslabError('ConflictError', text, { file, expected, actual })
}

/** Returns 24 random hexadecimal digits, a name that no other process draws. */
export const randomName = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('')
