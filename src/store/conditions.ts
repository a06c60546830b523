import { HyperslabError } from '../core/errors.ts'
import type { PublishCondition } from './store.ts'

export const exists = (file: string): HyperslabError =>
  new HyperslabError('ConflictError', 'another writer has created this file first', { file })

/**
 * Whether an object may be published or removed, being what it is now.
 * @throws ConflictError
 */
export function checkCondition(file: string, { ifAbsent, ifMatch }: PublishCondition, found: { etag: string } | undefined): void {
  if (ifAbsent && found !== undefined) throw exists(file)
  checkMatch(file, ifMatch, found)
}

/** @throws ConflictError */
export function checkMatch(file: string, ifMatch: string | undefined, found: { etag: string } | undefined): void {
  if (ifMatch !== undefined && found?.etag !== ifMatch) throw unmatched(file, ifMatch, found?.etag)
}

/** What is there is not the version that was to be replaced or removed. */
export function unmatched(file: string, expected: string, actual: string | undefined): HyperslabError {
  const text =
    actual === undefined
      ? 'another writer has removed this file: the version that was to be replaced is gone'
      : 'another writer has replaced this file: it is not the version any more that was to be replaced or removed'
  return new HyperslabError('ConflictError', text, { file, expected, actual })
}

/** 24 characters that nobody else draws. */
export const randomName = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, '0')).join('')
