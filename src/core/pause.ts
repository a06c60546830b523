import { onAbort, type Signal } from './signal.ts'

declare function setTimeout(callback: () => void, ms: number): unknown
declare function clearTimeout(timer: unknown): void

/** Waits for `ms` milliseconds; an abort ends the wait with its reason. */
export function pause(ms: number, signal?: Signal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      forget?.()
      resolve()
    }, ms)
    const forget =
      signal &&
      onAbort(signal, () => {
        clearTimeout(timer)
        reject(signal.reason)
      })
  })
}
