import { type Check, checkOptions, checkValue } from '../core/options.ts'

/** A check that is yet to be made. */
export type PendingCheck = () => void

/** Returns the check of a required value. */
export const required =
  (call: string, name: string, value: unknown, check: Check): PendingCheck =>
  () =>
    checkValue(call, name, value, check)

/** Returns the check of options by their table. */
export const optional =
  (call: string, options: unknown, checks: Readonly<Record<string, Check>>): PendingCheck =>
  () =>
    checkOptions(call, options, checks)

/**
 * Makes checks in order, and stops at the first failure. A generator of checks may rely on those that it has
 * yielded.
 * @throws InvalidArgumentError
 */
export function checkEach(pending: Iterable<PendingCheck>): void {
  for (const check of pending) check()
}
