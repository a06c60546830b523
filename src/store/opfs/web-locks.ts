import { HyperslabError } from '../../core/errors.ts'

/**
 * The used part of a `LockManager`. A lock ends with its callback, or with the tab or worker that holds it.
 */
interface LockManager {
  request<T>(name: string, options: { ifAvailable?: boolean }, callback: (lock: object | null) => Promise<T>): Promise<T>
}

declare const navigator: { readonly locks?: LockManager } | undefined

/** @throws UnsupportedError on platforms without Web Locks */
function locks(): LockManager {
  const found = typeof navigator === 'undefined' ? undefined : navigator.locks
  if (found === undefined) throw new HyperslabError('UnsupportedError', 'this runtime has no Web Locks, which writing requires')
  return found
}

/** Runs `work` while it holds the lock, exclusively within this origin. */
export const withLock = <T>(name: string, work: () => Promise<T>): Promise<T> => locks().request(`hyperslab:${name}`, {}, work)

/** Runs `work` unless the lock is held. */
export const ifUnlocked = (name: string, work: () => Promise<void>): Promise<void> =>
  locks().request(`hyperslab:${name}`, { ifAvailable: true }, async (lock) => (lock === null ? undefined : work()))

/** Takes a lock. @returns function that releases it */
export function hold(name: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    withLock(name, () => new Promise<void>((release) => resolve(release))).catch(reject)
  })
}
